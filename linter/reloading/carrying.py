"""Parameters that are made with what loading needs: their loader, and whatever comes with it."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from loaderlint.linter.reloading.nodes import Definition, attributes_set, bindings, own_nodes


def carrying(methods: list[Definition], loaders: frozenset[str]) -> set[str]:
    """The attributes that `methods` of a class set to parameters with one of the attributes in `loaders`.

    Only what is given on every path counts: where a test decides, there may be nothing to lose.
    """
    found: set[str] = set()
    for method in methods:
        given = [node for statement in _certain(method) for node in _given(statement, method, loaders)]
        names = {ast.unparse(node) for node in given}
        for node in own_nodes(*method.body):
            for target, value in attributes_set(node):
                if ast.unparse(value) in names or target in names:
                    found.add(target.rpartition(".")[2])
    return found


def _certain(method: Definition) -> Iterator[ast.stmt]:
    """The simple statements that no test stands before."""
    todo: list[ast.stmt] = list(reversed(method.body))
    while todo:
        node = todo.pop()
        if isinstance(node, (ast.With, ast.AsyncWith)) or _is_always_taken(node):
            todo += reversed(node.body)
        elif isinstance(node, ast.Try):
            todo += reversed([*node.body, *node.finalbody])
        elif isinstance(node, (ast.Assign, ast.AnnAssign, ast.Expr)):
            yield node


def _is_always_taken(node: ast.stmt) -> bool:
    return isinstance(node, ast.If) and isinstance(node.test, ast.Constant) and bool(node.test.value)


def _given(statement: ast.stmt, method: Definition, loaders: frozenset[str]) -> Iterator[ast.expr]:
    """What the statement gives a loader: by name what is set up so, and the calls that make it so."""
    for node in own_nodes(statement):
        if isinstance(node, ast.Call):
            if any(item.arg in loaders for item in node.keywords):
                yield node
            elif any(_has_loader(item, method, loaders) for item in node.args[1:]):
                yield node.args[0]
    for target, value in bindings(statement):
        if isinstance(target, ast.Attribute) and target.attr in loaders:
            yield target.value
        elif isinstance(value, ast.Call) and any(item.arg in loaders for item in value.keywords):
            yield target


def _has_loader(argument: ast.expr, method: Definition, loaders: frozenset[str]) -> bool:
    """Whether an argument names the attribute, is a dict with it, or all that the method was given by name."""
    if isinstance(argument, ast.Dict):
        return any(_has_loader(key, method, loaders) for key in argument.keys if key is not None)
    if isinstance(argument, ast.Constant):
        return argument.value in loaders
    rest = method.args.kwarg
    return rest is not None and isinstance(argument, ast.Name) and argument.id == rest.arg
