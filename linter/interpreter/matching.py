"""`match`: what the names in a pattern stand for."""

from __future__ import annotations

from abc import ABC

import libcst as cst
from loaderlint.linter.interpreter.assignments import Assignments
from loaderlint.linter.interpreter.events import Holder
from loaderlint.linter.interpreter.frames import Assignment, Context
from loaderlint.linter.interpreter.heap import Kind, Obj
from loaderlint.linter.interpreter.state import State
from loaderlint.linter.interpreter.values import NOTHING, Copy, Loan, Text, Tuple, Value

# `str(name)` captures the subject itself.
_OF_THEMSELVES = {
    "bool", "bytearray", "bytes", "dict", "float", "frozenset", "int", "list", "set", "str", "tuple",
}  # fmt: skip

# What is an instance of the class of that name.
_ATOMS_OF = {"str": (Text,), "Tensor": (Loan, Copy)}


class Matching(Assignments, ABC):
    """Runs `match` statements: each case on its own, with what its pattern captures."""

    def _run_Match(self, node: cst.Match, state: State, context: Context) -> None:
        subject = self.evaluate(node.subject, state, context)
        ends = []
        for case in node.cases:
            taken = state.copy()
            self._capture(case.pattern, subject, node.subject, taken, context)
            if case.guard is not None:
                self.evaluate(case.guard, taken, context)
            self.execute(case.body.body, taken, context)
            ends.append(taken)
            if case.guard is None and self._surely_matches(case.pattern, subject, state):
                state.dead = True
                break
        for end in ends:
            state.join(end)

    def _surely_matches(self, pattern: cst.CSTNode, value: Value, state: State) -> bool:
        """Whether the pattern matches all that the subject may be, as far as its value tells."""
        if isinstance(pattern, cst.MatchAs):
            return pattern.pattern is None or self._surely_matches(pattern.pattern, value, state)
        if not value:
            return False
        if isinstance(pattern, cst.MatchSequence):
            count = len(pattern.patterns)
            fits = all(isinstance(atom, Tuple) and len(atom.items) == count for atom in value)
            return fits and all(
                isinstance(item, cst.MatchSequenceElement)
                and self._surely_matches(item.value, self.component(value, at, count, count, state), state)
                for at, item in enumerate(pattern.patterns)
            )
        if isinstance(pattern, cst.MatchClass) and not pattern.kwds:
            name = pattern.cls.attr.value if isinstance(pattern.cls, cst.Attribute) else pattern.cls.value
            inner = all(self._surely_matches(item.value, value, state) for item in pattern.patterns)
            return inner and all(isinstance(atom, _ATOMS_OF.get(name, ())) for atom in value)
        return False

    def _capture(
        self, pattern: cst.CSTNode, value: Value, source: cst.CSTNode, state: State, context: Context
    ) -> None:
        """Bind the names of `pattern` to what they stand for in `value`, which `source` has given."""
        if isinstance(pattern, cst.MatchAs):
            if pattern.pattern is not None:
                self._capture(pattern.pattern, value, source, state, context)
            if pattern.name is not None:
                self.assign(pattern.name, value, state, context, Assignment(pattern.name, source))
        elif isinstance(pattern, cst.MatchOr):
            ways = [state.copy() for _ in pattern.patterns]
            for way, choice in zip(ways, pattern.patterns, strict=True):
                self._capture(choice.pattern, value, source, way, context)
            state.become(ways[0])
            for way in ways[1:]:
                state.join(way)
        elif isinstance(pattern, cst.MatchSequence):
            self._capture_items(pattern, value, source, state, context)
        elif isinstance(pattern, cst.MatchMapping):
            self._capture_entries(pattern, value, source, state, context)
        elif isinstance(pattern, cst.MatchClass):
            self._capture_attributes(pattern, value, source, state, context)

    def _capture_items(
        self, pattern: cst.MatchSequence, value: Value, source: cst.CSTNode, state: State, context: Context
    ) -> None:
        count = len(pattern.patterns)
        starred = next(
            (i for i, item in enumerate(pattern.patterns) if isinstance(item, cst.MatchStar)), count
        )
        for place, item in enumerate(pattern.patterns):
            part = self.component(value, place, starred, count, state)
            if isinstance(item, cst.MatchStar):
                self._capture_rest(item.name, Obj(Kind.LIST, part), source, state, context)
            else:
                self._capture(item.value, part, source, state, context)

    def _capture_entries(
        self, pattern: cst.MatchMapping, value: Value, source: cst.CSTNode, state: State, context: Context
    ) -> None:
        for element in pattern.elements:
            slot = self.slot_of(element.key, state, context)
            found = [obj.at(slot) for _, obj in state.objects(value)]
            self._capture(element.pattern, NOTHING.union(*found), source, state, context)
        everything = [obj.contents for _, obj in state.objects(value)]
        self._capture_rest(pattern.rest, Obj(Kind.DICT, NOTHING.union(*everything)), source, state, context)

    def _capture_rest(
        self, name: cst.Name | None, rest: Obj, source: cst.CSTNode, state: State, context: Context
    ) -> None:
        """What a star collects, in a new container."""
        if name is not None:
            kept = self.kept_at(name, context, Holder.LIST, name, source)
            made = self.new(state, name, context, Obj(rest.kind, self.keep(rest.items, kept)))
            self.assign(name, made, state, context, Assignment(name, source))

    def _capture_attributes(
        self, pattern: cst.MatchClass, value: Value, source: cst.CSTNode, state: State, context: Context
    ) -> None:
        of_itself = isinstance(pattern.cls, cst.Name) and pattern.cls.value in _OF_THEMSELVES
        # Which attributes the class lists is not looked up: it may be any.
        attributes = [obj.fields for _, obj in state.objects(value)]
        anything = NOTHING.union(*(held for fields in attributes for held in fields.values()))
        for item in pattern.patterns:
            self._capture(item.value, value if of_itself else anything, source, state, context)
        for named in pattern.kwds:
            held = NOTHING.union(*(fields.get(named.key.value, NOTHING) for fields in attributes))
            self._capture(named.pattern, held, source, state, context)
