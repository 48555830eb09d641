"""Conditions that a function asks twice: between the two, both outcomes are followed apart.

`if late: weight = weight.clone()` and, further down, `if late: kept.append(weight)` keep owned memory only.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import NamedTuple

import libcst as cst
from loaderlint.linter.reading.nodes import walk

_NEGATED = {cst.IsNot: cst.Is, cst.NotIn: cst.In, cst.NotEqual: cst.Equal}
_PLAIN = (
    cst.Name, cst.Attribute, cst.SimpleString, cst.Integer, cst.Comparison, cst.ComparisonTarget, cst.Tuple,
    cst.Element, cst.BaseCompOp,
)  # fmt: skip


class Asked(NamedTuple):
    """A condition that gives the same answer until one of its variables or attributes is set.

    `positive` says whether it is asked as it is written in `text`, or the other way round.
    """

    text: str
    positive: bool
    names: frozenset[str]


@cache
def asked(test: cst.BaseExpression) -> Asked | None:
    """The condition that `test` asks, if it is a plain one."""
    if isinstance(test, cst.UnaryOperation) and isinstance(test.operator, cst.Not):
        inner = asked(test.expression)
        return None if inner is None else inner._replace(positive=not inner.positive)
    if not all(_is_plain(node) for node in walk(test)):
        return None
    positive = True
    if isinstance(test, cst.Comparison) and len(test.comparisons) == 1:
        target = test.comparisons[0]
        straight = _NEGATED.get(type(target.operator))
        if straight is not None:
            positive = False
            test = test.with_changes(comparisons=[target.with_changes(operator=straight())])
    names = {node.value for node in walk(test) if isinstance(node, cst.Name)}
    return Asked(cst.Module([]).code_for_node(test), positive, frozenset(names))


def _is_plain(node: cst.CSTNode) -> bool:
    """Names, literals, comparisons, and what a text is asked: `name.endswith("scale")`."""
    if isinstance(node, cst.Call):
        on_name = isinstance(node.func, cst.Attribute) and isinstance(node.func.value, cst.Name)
        return on_name and all(isinstance(item.value, (cst.SimpleString, cst.Tuple)) for item in node.args)
    return isinstance(node, (*_PLAIN, cst.Arg))


def conditions(test: cst.BaseExpression) -> Iterator[Asked]:
    """The plain conditions that a test is made of."""
    if isinstance(test, cst.UnaryOperation) and isinstance(test.operator, cst.Not):
        yield from conditions(test.expression)
    elif isinstance(test, cst.BooleanOperation):
        yield from conditions(test.left)
        yield from conditions(test.right)
    elif (found := asked(test)) is not None:
        yield found


@cache
def asked_again(body: tuple[cst.CSTNode, ...]) -> dict[int, tuple[Asked, ...]]:
    """For the statements of a block: the conditions by which they set variables, and that a later one asks again."""
    again: dict[int, tuple[Asked, ...]] = {}
    for place, node in enumerate(body):
        # Cheap looks first: most blocks ask nothing twice.
        if not may_decide(node) or not any(map(_tests, body[place + 1 :])) or not (found := _decides(node)):
            continue
        written = _written(node)
        later = [other for other in body[place + 1 :] if written & names_of(other)]
        texts = {one.text for other in later for test in _tests(other) for one in conditions(test)}
        wanted = tuple(one for one in found if one.text in texts)
        if wanted:
            again[place] = wanted
    return again


def may_decide(statement: cst.CSTNode) -> bool:
    """Whether a statement is an `if`, or assigns an `a if c else b`."""
    if type(statement) is not cst.SimpleStatementLine:
        return type(statement) is cst.If
    return any(type(getattr(part, "value", None)) is cst.IfExp for part in statement.body)


def _decides(statement: cst.CSTNode) -> tuple[Asked, ...]:
    """The conditions of an `if` statement, or of the `a if c else b` that is assigned."""
    return tuple(dict.fromkeys(_asked_by(statement)))


def _asked_by(statement: cst.CSTNode) -> Iterator[Asked]:
    branch = statement
    while isinstance(branch, cst.If):
        yield from conditions(branch.test)
        branch = branch.orelse
    for part in statement.body if isinstance(statement, cst.SimpleStatementLine) else ():
        if isinstance(part, (cst.Assign, cst.AnnAssign)) and isinstance(part.value, cst.IfExp):
            yield from conditions(part.value.test)


# By exact type: LibCST's classes are abstract base classes, for which isinstance is slow.
_TESTS = {cst.If, cst.IfExp}
_ASSIGNMENTS = {cst.Assign, cst.AnnAssign, cst.AugAssign, cst.NamedExpr, cst.For}


@cache
def _tests(statement: cst.CSTNode) -> tuple[cst.BaseExpression, ...]:
    return tuple(node.test for node in walk(statement) if type(node) in _TESTS)


@cache
def names_of(statement: cst.CSTNode) -> frozenset[str]:
    """All plain names in a statement."""
    return frozenset(node.value for node in walk(statement) if type(node) is cst.Name)


def _written(statement: cst.CSTNode) -> frozenset[str]:
    """The variables that a statement sets."""
    return frozenset().union(
        *(names_of(target) for node in _assignments(statement) for target in _targets(node))
    )


@cache
def assigned_names(statement: cst.CSTNode) -> frozenset[str]:
    """The variables that a statement sets, and those that it sets them from."""
    sources = (names_of(node.value) for node in _assignments(statement) if getattr(node, "value", None))
    return _written(statement).union(*sources)


@cache
def _assignments(statement: cst.CSTNode) -> tuple[cst.CSTNode, ...]:
    return tuple(node for node in walk(statement) if type(node) in _ASSIGNMENTS)


def _targets(node: cst.CSTNode) -> list[cst.CSTNode]:
    return [target.target for target in node.targets] if isinstance(node, cst.Assign) else [node.target]
