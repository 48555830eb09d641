"""The paths through a function's own body: which truth values hold on each, and what its loaders answered."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from loaderlint.linter.reloading.conditions import drop, refined, truth
from loaderlint.linter.reloading.nodes import bindings, bound_names
from loaderlint.linter.reloading.states import Asks, State, States

# More of them are no evidence any more, and would take long.
_MOST_STATES = 256


class TooManyPaths(Exception):
    """The function has more paths than are looked at."""


@dataclass(frozen=True, slots=True)
class Left:
    """States that leave a loop's body early."""

    breaks: set[State] = field(default_factory=set)
    continues: set[State] = field(default_factory=set)


class Paths:
    """Runs statements on sets of states. Subclasses look at returns and expressions; `asks` finds questions."""

    def __init__(self, asks: Asks) -> None:
        self.asks = asks
        self._loops: list[Left] = []
        self._names: dict[ast.expr, set[str]] = {}

    def returned(self, node: ast.Return, states: States) -> None:
        """Called for each return statement that is reached, with the states it is reached in."""

    def evaluated(self, node: ast.expr, states: States) -> None:
        """Called for each expression statement that is reached."""

    def block(self, statements: Iterable[ast.stmt], states: States) -> States:
        """The states behind the statements; none where all paths end before. Raises `TooManyPaths`."""
        for statement in statements:
            if not states:
                break
            states = self._step(statement, states)
            if len(states) > _MOST_STATES:
                raise TooManyPaths
        return states

    def _step(self, node: ast.stmt, states: States) -> States:
        if isinstance(node, ast.If):
            yes, no = self._branches(node.test, states)
            return self.block(node.body, yes) | self.block(node.orelse, no)
        if isinstance(node, (ast.For, ast.AsyncFor, ast.While)):
            return self._loop(node, states)
        if isinstance(node, (ast.With, ast.AsyncWith)):
            names = bound_names(*(item.optional_vars for item in node.items if item.optional_vars))
            return self.block(node.body, drop(states, names))
        if isinstance(node, (ast.Try, getattr(ast, "TryStar", ast.Try))):
            return self._try(node, states)
        if isinstance(node, ast.Match):
            return self._match(node, states)
        return self._simple(node, states)

    def _simple(self, node: ast.stmt, states: States) -> States:
        if isinstance(node, ast.Return):
            self.returned(node, states)
            return frozenset()
        if isinstance(node, ast.Raise):
            return frozenset()
        if isinstance(node, (ast.Break, ast.Continue)) and self._loops:
            left = self._loops[-1]
            (left.breaks if isinstance(node, ast.Break) else left.continues).update(states)
            return frozenset()
        if isinstance(node, ast.Assert):
            return self._branches(node.test, states)[0]
        if isinstance(node, ast.Expr):
            self.evaluated(node.value, states)
            return states
        for target, value in bindings(node):
            names = self._bound(target) & self.asks.matter
            if names:
                augmented = node if isinstance(node, ast.AugAssign) else None
                states = frozenset(
                    after
                    for state in states
                    for after in self._assigned(target, value, augmented, names, state)
                )
        if isinstance(node, ast.Delete):
            return drop(states, bound_names(*node.targets))
        return states

    def _bound(self, target: ast.expr) -> set[str]:
        """The names that the target binds; loops ask for the same ones in every round."""
        if target not in self._names:
            self._names[target] = bound_names(target)
        return self._names[target]

    def _assigned(
        self,
        target: ast.expr,
        value: ast.expr,
        augmented: ast.AugAssign | None,
        names: set[str],
        state: State,
    ) -> Iterator[State]:
        after = state.without(names)
        if not isinstance(target, ast.Name):
            yield after
            return
        asked = self.asks.find(value) if augmented is None else None
        if asked is not None:
            for answer in (True, False):
                yield self.asks.answered(asked, answer, after).knowing(target.id, answer)
            return
        known = truth(value if augmented is None else _joined(augmented), state)
        yield after if known is None else after.knowing(target.id, known)

    def _branches(self, test: ast.expr, states: States) -> tuple[States, States]:
        yes, no = set(), set()
        for state in states:
            known = truth(test, state)
            if known is not False:
                yes.add(refined(test, True, state, self.asks))
            if known is not True:
                no.add(refined(test, False, state, self.asks))
        return frozenset(yes), frozenset(no)

    def _loop(self, node: ast.For | ast.AsyncFor | ast.While, states: States) -> States:
        left = Left()
        entered: States = frozenset()
        ended: States = frozenset()
        todo = states
        while todo:
            entered |= todo
            if isinstance(node, ast.While):
                inside, outside = self._branches(node.test, todo)
            else:
                inside, outside = drop(todo, self._bound(node.target)), todo
            ended |= outside
            self._loops.append(left)
            try:
                after = self.block(node.body, inside)
            finally:
                self._loops.pop()
            todo = (after | frozenset(left.continues)) - entered
            if len(entered) > _MOST_STATES:
                raise TooManyPaths
        return self.block(node.orelse, ended) | frozenset(left.breaks)

    def _try(self, node: ast.Try, states: States) -> States:
        tried = self.block(node.body, states)
        after = self.block(node.orelse, tried)
        for handler in node.handlers:
            after |= self.block(handler.body, drop(states | tried, {handler.name} if handler.name else set()))
        if node.finalbody:
            finished = self.block(node.finalbody, after or states)
            return finished if after else frozenset()
        return after

    def _match(self, node: ast.Match, states: States) -> States:
        after: States = frozenset()
        exhausted = False
        for case in node.cases:
            named = {getattr(item, "name", None) for item in ast.walk(case.pattern)} - {None}
            after |= self.block(case.body, drop(states, named))
            exhausted = exhausted or (
                case.guard is None and isinstance(case.pattern, ast.MatchAs) and case.pattern.pattern is None
            )
        return after if exhausted else after | states


def _joined(node: ast.AugAssign) -> ast.AST:
    """What `done |= part` and `done &= part` come to; for other operators nothing that is known."""
    operators: dict[type[ast.operator], ast.boolop] = {ast.BitOr: ast.Or(), ast.BitAnd: ast.And()}
    operator = operators.get(type(node.op))
    if operator is None or not isinstance(node.target, ast.Name):
        return node
    return ast.BoolOp(operator, [ast.Name(node.target.id, ast.Load()), node.value])
