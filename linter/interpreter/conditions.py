"""Conditions: their value, and what they say about an ownership marker."""

from __future__ import annotations

from abc import ABC
from collections.abc import Sequence
from functools import cache

import libcst as cst
from loaderlint.linter.interpreter.core import Core
from loaderlint.linter.interpreter.correlation import asked
from loaderlint.linter.interpreter.events import Site
from loaderlint.linter.interpreter.frames import Context
from loaderlint.linter.interpreter.state import State
from loaderlint.linter.interpreter.values import (
    NOTHING,
    Atom,
    Flag,
    Guard,
    Loan,
    Loc,
    Owned,
    Value,
    loans,
    made_conditional,
)
from loaderlint.linter.reading.nodes import walk

_COLLECTIONS = frozenset({"list", "tuple", "dict", "set", "Mapping", "Sequence", "OrderedDict"})

# Comparisons that do not look into a tensor.
_IDENTITY = {cst.Is, cst.IsNot, cst.In, cst.NotIn}


class Conditions(Core, ABC):
    """Evaluates operators that decide, and narrows states by what they decided."""

    def _eval_BooleanOperation(self, node: cst.BooleanOperation, state: State, context: Context) -> Value:
        rights: list[cst.BaseExpression] = []
        left: cst.BaseExpression = node
        sure = True
        while isinstance(left, cst.BooleanOperation):
            sure = sure and isinstance(left.operator, cst.And)
            rights.append(left.right)
            left = left.left
        value = self.evaluate(left, state, context)
        for right in reversed(rights):
            if binds_a_name(right):
                # Only one of the outcomes evaluates it.
                skipped = state.copy()
                value |= self.evaluate(right, state, context)
                state.join(skipped)
            else:
                value |= self.evaluate(right, state, context)
        return value if sure else _without_guards(value)

    def _eval_UnaryOperation(self, node: cst.UnaryOperation, state: State, context: Context) -> Value:
        value = self.evaluate(node.expression, state, context)
        if not isinstance(node.operator, cst.Not):
            self.read(state, value, node, context)
        return NOTHING

    def _eval_Comparison(self, node: cst.Comparison, state: State, context: Context) -> Value:
        values = [self.evaluate(node.left, state, context)]
        values += [self.evaluate(item.comparator, state, context) for item in node.comparisons]
        if not all(type(item.operator) in _IDENTITY for item in node.comparisons):
            self.read(state, frozenset(loan for value in values for loan in loans(value)), node, context)
        return NOTHING

    def _eval_IfExp(self, node: cst.IfExp, state: State, context: Context) -> Value:
        self.evaluate(node.test, state, context)
        outcome = self.outcome(node.test, state, context)
        if outcome is not None:
            return self.evaluate(node.body if outcome else node.orelse, state, context)
        other = state.copy()
        self.narrow(node.test, state, other, context)
        choices = [self.evaluate(node.body, state, context), self.evaluate(node.orelse, other, context)]
        state.join(other)
        value = _without_guards(choices[0] | choices[1])
        copies = any(isinstance(choice, cst.Call) for choice in (node.body, node.orelse))
        if copies and all_or_none(choices) and self.looks_at_loans(node.test, state, context):
            return made_conditional(value)
        return value

    def outcome(self, test: cst.BaseExpression, state: State, context: Context) -> bool | None:
        """The outcome of what was asked before, or of a literal, also as a parameter; None for other conditions."""
        known = self._answered(test, state, context) if state.facts else None
        if known is not None:
            return known
        name = test.expression if isinstance(test, cst.UnaryOperation) else test
        if isinstance(test, cst.Name) and test.value in ("True", "False"):
            return test.value == "True"
        if not isinstance(name, cst.Name):
            return None
        (atom,) = (
            value if len(value := state.frames[context.frame].get(name.value, NOTHING)) == 1 else (None,)
        )
        if not isinstance(atom, Flag) or name.value not in _constant_parameters(context.function):
            return None
        return atom.value if name is test else not atom.value

    def _answered(self, test: cst.BaseExpression, state: State, context: Context) -> bool | None:
        """The outcome of a condition on this path, if it has been asked on it."""
        if isinstance(test, cst.BooleanOperation):
            sides = [self._answered(side, state, context) for side in (test.left, test.right)]
            decisive = not isinstance(test.operator, cst.And)
            return decisive if decisive in sides else None if None in sides else not decisive
        question = asked(test)
        fact = None if question is None else state.facts.get((context.frame, question.text))
        return None if fact is None else fact[0] is question.positive

    def looks_at_loans(self, test: cst.BaseExpression, state: State, context: Context) -> bool:
        """Whether a condition asks a borrowed tensor whose memory it is."""
        asked = self.contracts.named("tensor_attributes", "memory")
        return any(
            isinstance(node, cst.Attribute)
            and node.attr.value in asked
            and any(loans(self.evaluate(node.value, state, context)))
            for node in walk(test)
        )

    def narrow(self, test: cst.BaseExpression, passed: State, failed: State, context: Context) -> None:
        """What a test says about variables: one that is None holds nothing, an unmarked tensor need not be lent."""
        for state, outcome in ((passed, True), (failed, False)):
            for name in _names_of_none(test, outcome):
                if name in state.frames[context.frame]:
                    state.frames[context.frame][name] = NOTHING
        self._narrow_by_markers(test, passed, failed, context)

    def _narrow_by_markers(
        self, test: cst.BaseExpression, passed: State, failed: State, context: Context
    ) -> None:
        todo: list[tuple[cst.BaseExpression, bool, bool]] = [(test, True, True)]
        while todo:
            node, positive, certain = todo.pop()
            if isinstance(node, cst.UnaryOperation) and isinstance(node.operator, cst.Not):
                todo.append((node.expression, not positive, certain))
            elif isinstance(node, cst.BooleanOperation):
                both = certain and isinstance(node.operator, cst.And)
                todo += [(node.left, positive, both), (node.right, positive, both)]
            elif _asks_for_a_collection(node):
                collection, name = passed if positive else failed, node.args[0].value
                known = self.evaluate(name, collection, context)
                streams = (atom for atom in known if not self.is_stream(collection, frozenset({atom})))
                collection.frames[context.frame][name.value] = frozenset(streams)
            elif _asks_for_a_marker(node):
                unmarked = failed if positive else passed
                for loan in loans(self.evaluate(node.args[0].value, unmarked, context)):
                    _own(unmarked, loan.stream, loan.borrowed)
            elif certain:
                unmarked = passed if positive else failed
                for atom in self._verdict(node, unmarked, context):
                    if isinstance(atom, Guard):
                        _own(unmarked, atom.stream, atom.borrowed)

    def _verdict(self, node: cst.BaseExpression, state: State, context: Context) -> Value:
        """The value of a part of a condition; calls are not made twice."""
        if isinstance(node, cst.Name):
            return self.evaluate(node, state, context)
        return self._verdicts.get(node, NOTHING)


@cache
def binds_a_name(node: cst.CSTNode) -> bool:
    """Whether an expression contains a walrus."""
    return any(type(inner) is cst.NamedExpr for inner in walk(node))


def all_or_none(choices: Sequence[Value]) -> bool:
    """Whether some of the alternatives hold loans and others none."""
    lent = [any(loans(choice)) for choice in choices]
    return any(lent) and not all(lent)


def _without_guards(value: Value) -> Value:
    return frozenset(atom for atom in value if not isinstance(atom, Guard))


# By exact type: LibCST's classes are abstract base classes, for which isinstance is slow.
_WRITES = {
    cst.AssignTarget, cst.AnnAssign, cst.AugAssign, cst.NamedExpr, cst.For, cst.CompFor, cst.AsName,
}  # fmt: skip


@cache
def _constant_parameters(function: cst.CSTNode) -> frozenset[str]:
    """The parameters that the function sets nowhere."""
    if not isinstance(function, cst.FunctionDef):
        return frozenset()
    params = function.params
    names = {item.name.value for item in (*params.posonly_params, *params.params, *params.kwonly_params)}
    for node in walk(function.body):
        if type(node) in _WRITES:
            written = node.name if isinstance(node, cst.AsName) else node.target
            names -= {inner.value for inner in walk(written) if isinstance(inner, cst.Name)}
    return frozenset(names)


@cache
def _names_of_none(test: cst.BaseExpression, outcome: bool) -> tuple[str, ...]:
    """The variables that are None wherever `test` has that outcome."""
    names, todo = [], [(test, outcome)]
    while todo:
        match todo.pop():
            case cst.UnaryOperation(operator=cst.Not(), expression=inner), outcome:
                todo.append((inner, not outcome))
            case cst.BooleanOperation(left=left, operator=operator, right=right), outcome:
                if isinstance(operator, cst.And) is outcome:
                    todo += [(left, outcome), (right, outcome)]
            case cst.Comparison(
                left=cst.Name(name),
                comparisons=[
                    cst.ComparisonTarget(
                        operator=cst.Is() | cst.IsNot() as asked, comparator=cst.Name("None")
                    )
                ],
            ), outcome:
                if isinstance(asked, cst.Is) is outcome:
                    names.append(name)
    return tuple(names)


def _asks_for_a_collection(node: cst.BaseExpression) -> bool:
    """`isinstance(weights, list)`: not the one-shot stream that it may be otherwise."""
    if not (
        isinstance(node, cst.Call) and isinstance(node.func, cst.Name) and node.func.value == "isinstance"
    ):
        return False
    return (
        len(node.args) == 2
        and isinstance(node.args[0].value, cst.Name)
        and all(name.value in _COLLECTIONS for name in walk(node.args[1].value) if isinstance(name, cst.Name))
    )


def _asks_for_a_marker(node: cst.BaseExpression) -> bool:
    """`getattr(tensor, MARK, False)` and `hasattr(tensor, MARK)`, also of its storage."""
    return (
        isinstance(node, cst.Call)
        and isinstance(node.func, cst.Name)
        and node.func.value in ("getattr", "hasattr")
        and bool(node.args)
        and (isinstance(node.args[0].value, cst.Name) or _is_bare_method(node.args[0].value))
    )


def _is_bare_method(node: cst.BaseExpression) -> bool:
    """`tensor.untyped_storage()`: nothing happens if it is evaluated twice."""
    return (
        isinstance(node, cst.Call)
        and not node.args
        and isinstance(node.func, cst.Attribute)
        and isinstance(node.func.value, cst.Name)
    )


def _own(state: State, stream: Loc, borrowed: Site) -> None:
    """The item that the stream lent last is, here, known not to be lent."""

    def owned(atom: Atom) -> Atom:
        is_it = (
            isinstance(atom, Loan) and not atom.stale and (atom.stream, atom.borrowed) == (stream, borrowed)
        )
        return Owned() if is_it else atom

    state.rewrite(owned)
