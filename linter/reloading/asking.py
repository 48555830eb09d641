"""Callers that ask a weight loader whether it loaded: answers that are dropped, names that are recorded anyway."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from loaderlint.linter.reloading.nodes import Definition, assigned, body_nodes
from loaderlint.linter.reloading.paths import Paths, TooManyPaths
from loaderlint.linter.reloading.states import Asks, State, States, given_names

# Methods that put a name into what a caller takes for the list of loaded parameters.
_RECORDS = ("add", "append")


def ignored(function: Definition, asks: Asks) -> Iterator[ast.Call]:
    """The asking calls whose answer is dropped, or put into a name that is never read."""
    read = names_read(function)
    unused = {id(node.value) for node in body_nodes(function) if drops_value(node, read)}
    calls = [node for node in body_nodes(function) if isinstance(node, ast.Call)]
    for call in calls:
        if id(call) in unused and asks.find(call) is call:
            loader = ast.unparse(call.func)
            # Of several calls for one expert, a weight and its scale, the answer of one is enough.
            if not any(id(other) not in unused and ast.unparse(other.func) == loader for other in calls):
                yield call


def names_read(function: Definition) -> set[str]:
    """The names that are read anywhere in a function."""
    names = (node for node in ast.walk(function) if isinstance(node, ast.Name))
    return {node.id for node in names if isinstance(node.ctx, ast.Load)}


def drops_value(node: ast.AST, read: set[str]) -> bool:
    """Whether the statement has a value that nothing reads."""
    if isinstance(node, ast.Expr):
        return True
    targets = assigned(node)
    return bool(targets) and all(isinstance(target, ast.Name) and target.id not in read for target in targets)


def recorded(function: Definition, asks: Asks) -> list[tuple[ast.expr, str, ast.Call]]:
    """Where a name is recorded as loaded though its loader said no: the recording call, the name, the question."""
    calls = [node for node in body_nodes(function) if isinstance(node, ast.Call) and asks.find(node) is node]
    given = {name for call in calls for name in given_names(call)}
    if not any(isinstance(node, ast.expr) and _recorded_name(node) in given for node in body_nodes(function)):
        return []
    run = _Recording(asks.about(function))
    try:
        run.block(function.body, frozenset({State()}))
    except TooManyPaths:
        return []
    return [(node, name, by) for node, (name, by) in run.found.items()]


class _Recording(Paths):
    def __init__(self, asks: Asks) -> None:
        super().__init__(asks)
        self.found: dict[ast.expr, tuple[str, ast.Call]] = {}

    def evaluated(self, node: ast.expr, states: States) -> None:
        name = _recorded_name(node)
        for state in states:
            if state.by is not None and name in state.refused:
                self.found.setdefault(node, (name, state.by))


def _recorded_name(node: ast.expr) -> str:
    """The name that `loaded.add(name)` or `yield name` records."""
    value: ast.expr | None = None
    if isinstance(node, ast.Yield):
        value = node.value
    elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in _RECORDS:
        value = node.args[0] if len(node.args) == 1 else None
    return value.id if isinstance(value, ast.Name) else ""
