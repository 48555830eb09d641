"""What tests say about a path, and what a path says about tests."""

from __future__ import annotations

import ast
from collections.abc import Set

from loaderlint.linter.reloading.states import Asks, State, States


def drop(states: States, names: Set[str]) -> States:
    """The states after `names` were bound to something that nothing is known of."""
    return frozenset(state.without(names) for state in states)


def truth(test: ast.AST, state: State) -> bool | None:
    """Whether an expression counts as true on this path; None where that is not known."""
    if isinstance(test, ast.Constant):
        return bool(test.value)
    if isinstance(test, ast.Name):
        return state.truth(test.id)
    if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        known = truth(test.operand, state)
        return None if known is None else not known
    if isinstance(test, ast.BoolOp):
        return _several(test, state)
    if isinstance(test, ast.Compare) and len(test.ops) == 1:
        return _compared(test, state)
    return None


def _several(test: ast.BoolOp, state: State) -> bool | None:
    values = [truth(value, state) for value in test.values]
    decides = isinstance(test.op, ast.Or)
    if decides in values:
        return decides
    return None if None in values else not decides


def _compared(test: ast.Compare, state: State) -> bool | None:
    """`ok is True`, `ok == False`."""
    operator, right = test.ops[0], test.comparators[0]
    if not isinstance(right, ast.Constant) or not isinstance(right.value, bool):
        return None
    known = truth(test.left, state)
    if known is None or not isinstance(operator, (ast.Is, ast.Eq, ast.IsNot, ast.NotEq)):
        return None
    return (known is right.value) is isinstance(operator, (ast.Is, ast.Eq))


def refined(test: ast.expr, outcome: bool, state: State, asks: Asks) -> State:
    """The path on which `test` came out as `outcome`."""
    if isinstance(test, ast.Name):
        return state.knowing(test.id, outcome) if test.id in asks.matter else state
    if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        return refined(test.operand, not outcome, state, asks)
    if isinstance(test, ast.BoolOp) and isinstance(test.op, ast.And if outcome else ast.Or):
        for value in test.values:
            state = refined(value, outcome, state, asks)
        return state
    if isinstance(test, ast.NamedExpr):
        inner = refined(test.value, outcome, state.without({test.target.id}), asks)
        return inner.knowing(test.target.id, outcome)
    asked = asks.find(test)
    return state if asked is None else asks.answered(asked, outcome, state)
