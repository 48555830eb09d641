"""Calls that change nothing are not made again: most helpers of a loader only look at what they are given."""

from __future__ import annotations

from abc import ABC
from collections.abc import Hashable, Sequence
from typing import NamedTuple

from loaderlint.linter.interpreter.core import Core
from loaderlint.linter.interpreter.frames import Argument, Context
from loaderlint.linter.interpreter.heap import STREAM_KINDS, Kind, Obj
from loaderlint.linter.interpreter.state import State
from loaderlint.linter.interpreter.values import Loan, Loc, Ref, Value, leaves
from loaderlint.linter.interpreter.watching import Watch
from loaderlint.linter.reading.project import Project
from loaderlint.linter.settings import Settings

# What moves on when it is used, and what sees the variables around it.
_ALIVE = STREAM_KINDS | {Kind.FUNCTION, Kind.FUTURE}


class Call(NamedTuple):
    """All that a call can depend on: the callee, its arguments, and the objects that it gets at, by identity."""

    key: Hashable
    objects: tuple[Obj, ...]
    before: State
    events: int


class Repetitions(Core, ABC):
    """Remembers the results of calls that had no effect."""

    def __init__(self, project: Project, settings: Settings, watch: Watch | None = None) -> None:
        super().__init__(project, settings, watch)
        # Each with the objects that the call was made with: while they are there, no other has one's identity.
        self._results: dict[Hashable, tuple[Value, tuple[Obj, ...]]] = {}

    def known(self, call: Call | None) -> Value | None:
        """The result of a call that was made before, with the same objects, and changed nothing."""
        found = None if call is None else self._results.get(call.key)
        return None if found is None else found[0]

    def remember(self, call: Call | None, result: Value, state: State) -> None:
        """Note the result of a call that has been made, if it changed and made nothing, and nothing was found in it."""
        if call is None or call.events != self._events():
            return
        made = {loc: obj for loc, obj in state.heap.items() if loc not in call.before.heap}
        if any(obj.escapes for obj in made.values()):
            return
        heap = {loc: obj for loc, obj in state.heap.items() if loc not in made}
        old = set(map(id, call.objects))
        if not all(id(heap.get(atom.loc)) in old for atom in leaves(result) if isinstance(atom, Ref)):
            return
        # Nothing leads to what was made on the way, if nothing else was changed.
        kept, state.heap = state.heap, heap
        if not state.same_as(call.before):
            state.heap = kept
        else:
            self._results[call.key] = (result, call.objects)

    def repeatable(
        self, loc: Loc, made_in: Context, arguments: Sequence[Argument], state: State
    ) -> Call | None:
        """The call of a function; None where its result may depend on something else, or a read may be stale."""
        if self.watch is not None or made_in.frame in state.frames:
            return None
        shared = state.heap.get(self.global_place(made_in.index))
        objects: list[Obj] = [] if shared is None else [shared]
        for atom in state.reachable([item.value for item in arguments]):
            if isinstance(atom, Loan) and atom.stale:
                return None
            if isinstance(atom, Ref) and atom.loc in state.heap:
                obj = state.heap[atom.loc]
                if obj.kind in _ALIVE:
                    return None
                objects.append(obj)
        given = tuple((item.keyword, item.star, item.value) for item in arguments)
        return Call((loc, given, tuple(map(id, objects))), tuple(objects), state.copy(), self._events())

    def _events(self) -> int:
        return len(self.retentions) + len(self.observations)
