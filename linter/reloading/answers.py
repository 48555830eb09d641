"""Weight loaders that are asked whether they loaded, and do not answer on some path."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from loaderlint.linter.reloading.conditions import truth
from loaderlint.linter.reloading.nodes import Definition, body_nodes, last_name, names_in
from loaderlint.linter.reloading.paths import Paths, TooManyPaths
from loaderlint.linter.reloading.states import Asks, State, States


def unanswered(function: Definition, question: str, loaders: frozenset[str]) -> list[ast.AST]:
    """Where `function`, asked by its parameter `question`, ends without an answer.

    Return statements, and the parameter itself for the end of the body. `loaders` are the names of functions that
    answer only if they are asked in turn.
    """
    if any(_binds(node, question) for node in body_nodes(function)):
        return []
    returns, ended = silent_ends(function, function.body, question, loaders)
    return [*returns, *(_parameter(function, question) if ended else ())]


def silent_ends(
    function: Definition,
    body: list[ast.stmt],
    question: str = "",
    loaders: frozenset[str] = frozenset(),
) -> tuple[list[ast.Return], bool]:
    """The return statements of `body` that may give None, and whether its end is reached.

    `body` is what is left of the function to run. Nothing is found in a generator, or where there is no code.
    """
    if _is_stub(function) or any(
        isinstance(node, (ast.Yield, ast.YieldFrom)) for node in body_nodes(function)
    ):
        return [], False
    run = _Answers(Asks(frozenset()).about(function, question), question, loaders)
    try:
        ended = run.block(body, frozenset({State().knowing(question, True)}))
    except TooManyPaths:
        return [], False
    return list(run.found), bool(ended)


class _Answers(Paths):
    def __init__(self, asks: Asks, question: str, loaders: frozenset[str]) -> None:
        super().__init__(asks)
        self._question, self._loaders = question, loaders
        self.found: dict[ast.Return, None] = {}

    def returned(self, node: ast.Return, states: States) -> None:
        if any(self._is_none(node.value, state) for state in states):
            self.found.setdefault(node)

    def _is_none(self, value: ast.expr | None, state: State) -> bool:
        """Whether the value may be None although the question was asked."""
        if value is None or (isinstance(value, ast.Constant) and value.value is None):
            return True
        if isinstance(value, ast.IfExp):
            known = truth(value.test, state)
            chosen = [value.body, value.orelse] if known is None else [value.body if known else value.orelse]
            return any(self._is_none(one, state) for one in chosen)
        return isinstance(value, ast.Call) and self._asks_nothing(value)

    def _asks_nothing(self, call: ast.Call) -> bool:
        """`return weight_loader(param, loaded_weight)`: the inner loader was not asked, so it returns None."""
        if not last_name(call.func).endswith(tuple(self._loaders)):
            return False
        given = [*call.args, *(item.value for item in call.keywords)]
        return not (
            any(item.arg in (None, self._question) for item in call.keywords)
            or any(isinstance(item, ast.Starred) for item in call.args)
            or any(isinstance(item, ast.Constant) and item.value is True for item in given)
            or self._question in names_in(*given)
        )


def _binds(node: ast.AST, name: str) -> bool:
    return isinstance(node, ast.Name) and node.id == name and isinstance(node.ctx, ast.Store)


def _is_stub(function: Definition) -> bool:
    """A body that only documents, passes or raises; also what is declared abstract."""
    if any(last_name(item) in ("abstractmethod", "overload") for item in function.decorator_list):
        return True
    return all(
        isinstance(item, (ast.Pass, ast.Raise))
        or (isinstance(item, ast.Expr) and isinstance(item.value, ast.Constant))
        for item in function.body
    )


def _parameter(function: Definition, name: str) -> Iterator[ast.arg]:
    arguments = function.args
    every = (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs)
    return (item for item in every if item.arg == name)
