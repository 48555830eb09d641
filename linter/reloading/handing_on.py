"""Loaders that hand on what they are given, and not the answer back."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from loaderlint.linter.reading.blocks import statements
from loaderlint.linter.reloading.answers import silent_ends
from loaderlint.linter.reloading.asking import drops_value, names_read
from loaderlint.linter.reloading.nodes import Definition, body_nodes, names_in, parameters

# An annotation of one of these, of names, says that a loader answers with what it loaded.
_COLLECTIONS = ("set", "frozenset", "list", "Iterable", "Collection", "Sequence")


def question_handed_on(function: Definition) -> Iterator[ast.Call]:
    """The calls in a weight loader that hand all its keywords on, and whose answer the function does not give back.

    The question may be among the keywords. Who is annotated with None says that nobody asks.
    """
    rest = function.args.kwarg
    if rest is None or is_none(function.returns):
        return
    given = set(parameters(function))
    for call in dropped(function):
        values = [*call.args, *(item.value for item in call.keywords if item.arg)]
        hands_on = any(item.arg is None and names_in(item.value) == {rest.arg} for item in call.keywords)
        if hands_on and names_in(*values) & given:
            yield call


def dropped(function: Definition) -> Iterator[ast.Call]:
    """The calls whose answer nothing reads, and behind which the function ends without one."""
    read = names_read(function)
    for node in body_nodes(function):
        call = node.value if drops_value(node, read) else None
        call = call.value if isinstance(call, ast.Await) else call
        if isinstance(call, ast.Call):
            returns, ended = silent_ends(function, _behind(function, node) or [])
            if returns or ended:
                yield call


def _behind(block: ast.AST, statement: ast.AST) -> list[ast.stmt] | None:
    """What may run after the statement, one after the other; None where it is not inside `block`."""
    around = statements(block)
    for place, node in enumerate(around):
        inside = [] if node is statement else _behind(node, statement)
        if inside is not None:
            return [*inside, *(_same_branch(block, node, around[place + 1 :]))]
    return None


def _same_branch(block: ast.AST, node: ast.AST, later: list[ast.AST]) -> list[ast.stmt]:
    """Those of the statements of `block` that run after `node`, and not instead of it."""
    if isinstance(node, (ast.ExceptHandler, ast.match_case)) or not isinstance(block, ast.If):
        return [one for one in later if isinstance(one, ast.stmt)]
    return [one for one in later if (one in block.body) is (node in block.body)]  # type: ignore[misc]


def answers_with_names(function: Definition) -> bool:
    """Whether a loader's annotation says that it returns the names of what it loaded."""
    annotation = function.returns
    if isinstance(annotation, ast.Constant) and isinstance(annotation.value, str):
        try:
            annotation = ast.parse(annotation.value.strip(), mode="eval").body
        except (SyntaxError, ValueError):
            return False
    text = "" if annotation is None else ast.unparse(annotation)
    name, _, items = text.partition("[")
    last = name.rpartition(".")[2]
    return items == "str]" and last.lower() in map(str.lower, _COLLECTIONS)


def is_none(node: ast.expr | None) -> bool:
    """Whether it is `None`, as a value or as an annotation."""
    return isinstance(node, ast.Constant) and node.value in (None, "None")
