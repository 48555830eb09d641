"""Questions about `ast` trees that every analysis of this room asks."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import cache

FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)
Definition = ast.FunctionDef | ast.AsyncFunctionDef


def own_nodes(*roots: ast.AST) -> Iterator[ast.AST]:
    """`roots` and all below them, in order of the source, without what functions inside them hold."""
    todo = list(reversed(roots))
    while todo:
        node = todo.pop()
        yield node
        if not isinstance(node, (*FUNCTIONS, ast.ClassDef)):
            todo.extend(reversed(list(ast.iter_child_nodes(node))))


@cache
def body_nodes(function: Definition) -> tuple[ast.AST, ...]:
    """Everything in the function's own body, in order of the source."""
    return tuple(own_nodes(*function.body))


def parameters(function: Definition) -> list[str]:
    """The names of all parameters but `*args` and `**kwargs`."""
    arguments = function.args
    return [item.arg for item in (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs)]


def names_in(*roots: ast.AST) -> set[str]:
    """All names that the trees mention."""
    return {node.id for root in roots for node in ast.walk(root) if isinstance(node, ast.Name)}


def bound_names(*targets: ast.AST) -> set[str]:
    """The names that assignment to `targets` binds; `x[0] = ...` and `x.y = ...` bind none."""
    return {
        node.id
        for target in targets
        for node in ast.walk(target)
        if isinstance(node, ast.Name) and isinstance(node.ctx, (ast.Store, ast.Del))
    }


def last_name(node: ast.expr) -> str:
    """`c` of `a.b.c` and of `c`; "" for anything else."""
    return node.attr if isinstance(node, ast.Attribute) else node.id if isinstance(node, ast.Name) else ""


def assigned(node: ast.AST) -> list[ast.expr]:
    """The targets of a plain or annotated assignment; none of any other node."""
    if isinstance(node, ast.Assign):
        return node.targets
    return [node.target] if isinstance(node, ast.AnnAssign) else []


def bindings(node: ast.AST) -> Iterator[tuple[ast.expr, ast.expr]]:
    """Each target that a statement or a comprehension binds, with what it is taken from."""
    if isinstance(node, ast.Assign):
        for target in node.targets:
            yield from _unpacked(target, node.value)
    elif isinstance(node, (ast.AnnAssign, ast.NamedExpr, ast.AugAssign)) and node.value is not None:
        yield node.target, node.value
    elif isinstance(node, (ast.For, ast.AsyncFor, ast.comprehension)):
        yield node.target, node.iter
    elif isinstance(node, ast.withitem) and node.optional_vars is not None:
        yield node.optional_vars, node.context_expr


def attributes_set(node: ast.AST) -> Iterator[tuple[str, ast.expr]]:
    """`layer.weight = value`, `setattr(layer, "weight", value)`, `layer.register_parameter("weight", value)`."""
    for target, value in bindings(node) if isinstance(node, ast.Assign) else ():
        if isinstance(target, ast.Attribute):
            yield ast.unparse(target), value
    if isinstance(node, ast.Call):
        arguments = list(node.args)
        if last_name(node.func) == "register_parameter" and isinstance(node.func, ast.Attribute):
            arguments.insert(0, node.func.value)
        elif last_name(node.func) != "setattr":
            return
        if len(arguments) == 3 and isinstance(arguments[1], ast.Constant):
            yield f"{ast.unparse(arguments[0])}.{arguments[1].value}", arguments[2]


def _unpacked(target: ast.expr, value: ast.expr) -> Iterator[tuple[ast.expr, ast.expr]]:
    if isinstance(target, ast.Tuple) and isinstance(value, ast.Tuple) and len(target.elts) == len(value.elts):
        yield from zip(target.elts, value.elts, strict=True)
    else:
        yield target, value
