"""How streams are used: once, by one loop at a time, and while their producer is open."""

from __future__ import annotations

from abc import ABC

import libcst as cst
from loaderlint.linter.contracts import Contracts
from loaderlint.linter.interpreter.events import Fact, Note, Observation, Site
from loaderlint.linter.interpreter.frames import Context
from loaderlint.linter.interpreter.heap import Kind
from loaderlint.linter.interpreter.leases import Leases, iterated
from loaderlint.linter.interpreter.state import State
from loaderlint.linter.interpreter.values import Ended, Instance, Loc, Ref, Value


class Usage(Leases, ABC):
    """Keeps the books of what has been taken from each stream."""

    contracts: Contracts

    def __init__(self) -> None:
        super().__init__()
        # The unknown callee that is assumed to iterate what is being iterated.
        self.driver = ""

    def end(
        self, state: State, stream: Loc, node: cst.CSTNode, context: Context, closed: bool = False
    ) -> None:
        """From here on the stream has nothing more to give."""
        if not state.dead and not state.heap[stream].measured:
            state.ended[stream] = Ended(_way(node, context), self.driver, closed)

    def end_all(self, state: State, value: Value, node: cst.CSTNode, context: Context) -> None:
        """The same for every stream that `value` is made from."""
        for stream in self._streams(state, value):
            self.end(state, stream, node, context)

    def reopen(self, state: State, value: Value) -> None:
        """Forget that the streams in `value` were exhausted: who asks them now does not expect anything."""
        for stream in self._streams(state, value) if state.ended else ():
            if stream in state.ended and not state.ended[stream].closed:
                del state.ended[stream]

    def close(self, state: State, value: Value, node: cst.CSTNode, context: Context) -> None:
        """What `value` is, is closed: it lends no longer, and its streams give nothing more."""
        site, closed = Site(context.unit, node), set[Loc]()
        for atom in value:
            if isinstance(atom, Instance):
                self.advance(state, atom.made, site, closed=True)
                closed.add(atom.made)
        for loc, obj in state.objects(value):
            if obj.kind is Kind.STREAM:
                self.advance(state, obj.lender or loc, site, closed=True)
                closed.add(loc)
        for loc, obj in list(state.heap.items()) if closed else ():
            if obj.kind is Kind.STREAM and (loc in closed or obj.maker in closed):
                self.advance(state, loc, site, closed=True)
                self.end(state, loc, node, context, closed=True)

    def ask(self, state: State, stream: Loc, node: cst.CSTNode, context: Context) -> None:
        """The stream is about to be iterated: reported if it has nothing left, whatever happened before."""
        ended = state.ended.get(stream)
        if ended is None or state.dead:
            return
        way = _way(node, context)
        if ended.again and ended.way[0] != way[0]:
            return
        before, now = _meeting(ended.way, way)
        notes = [Note("ended", before, "closed here" if ended.closed else "read to its end here")]
        if ended.again:
            notes = [Note("ended", now, "read to its end here, each time that this runs")]
        if ended.closed:
            self._observe_end(Fact.USED_AFTER_CLOSE, now, [*notes, Note("read", now, "read here")])
        elif self._surely_takes_all(ended.callee) and self._surely_takes_all(self.driver):
            self._observe_end(Fact.CONSUMED_TWICE, now, [*notes, Note("read", now, "nothing is left here")])

    def _observe_end(self, fact: Fact, site: Site, notes: list[Note]) -> None:
        place = Site(site.unit, iterated(site.node))
        self.observe(Observation(fact, place, site.unit.text(place.node), tuple(notes)))

    def _surely_takes_all(self, callee: str) -> bool:
        """Whether a callee that nothing is known of takes all that it is given, as its name says; "" is a known one."""
        return not callee or self.contracts.methods.get(callee) == "drain"

    def _streams(self, state: State, value: Value) -> list[Loc]:
        return [
            atom.loc
            for atom in list(state.reachable([value]))
            if isinstance(atom, Ref) and atom.loc in state.heap and state.heap[atom.loc].kind is Kind.STREAM
        ]


def _way(node: cst.CSTNode, context: Context) -> tuple[tuple[int, Site], ...]:
    """Where something happens in each of the running calls, innermost first."""
    steps: list[tuple[int, Site]] = []
    here: Context | None = context
    while here is not None:
        frame = here.frame if here.around is None else here.around
        steps.append((frame, Site(here.unit, node)))
        node, here = here.call or node, here.caller
    return tuple(steps)


def _meeting(first: tuple[tuple[int, Site], ...], second: tuple[tuple[int, Site], ...]) -> tuple[Site, Site]:
    """The two places as the innermost call sees them that both are part of."""
    known = dict(first)
    for frame, site in second:
        if frame in known:
            return known[frame], site
    return first[-1][1], second[-1][1]
