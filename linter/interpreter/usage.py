"""How streams are used: once, by one loop at a time, and while their producer is open."""

from __future__ import annotations

from abc import ABC
from collections.abc import Iterable

import libcst as cst
from loaderlint.linter.contracts import Contracts
from loaderlint.linter.interpreter.events import Fact, Holder, Note, Observation, Site
from loaderlint.linter.interpreter.frames import Context
from loaderlint.linter.interpreter.heap import Kind
from loaderlint.linter.interpreter.leases import Leases, iterated
from loaderlint.linter.interpreter.state import State
from loaderlint.linter.interpreter.values import (
    Atom,
    Ended,
    Instance,
    Kept,
    Loan,
    Loc,
    Ref,
    Value,
    Way,
    loans,
)


class Usage(Leases, ABC):
    """Keeps the books of what has been taken from each stream."""

    contracts: Contracts

    def __init__(self) -> None:
        super().__init__()
        # The unknown callee that is assumed to iterate what is being iterated.
        self.driver = ""
        # The loops that are in the middle of a stream: who lends its items, and where.
        self.loops: list[tuple[Loc, Site]] = []
        self._taken: dict[cst.CSTNode, Observation] = {}
        self._used: set[cst.CSTNode] = set()

    def end(
        self, state: State, stream: Loc, node: cst.CSTNode, context: Context, closed: bool = False
    ) -> None:
        """From here on the stream has nothing more to give."""
        if not state.dead and not state.heap[stream].measured:
            state.ended[stream] = Ended(way_to(node, context), self.driver, closed)

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

    def open_streams(self, state: State, value: Value) -> list[Loc]:
        """The streams that `value` is made from and whose producers are open."""
        return [loc for loc in self._streams(state, value) if loc not in state.ended]

    def leave_closed(self, state: State, streams: Iterable[Loc], node: cst.CSTNode, context: Context) -> None:
        """`node` returns some streams: reported if they were closed on the way, once and for all who ask for them."""
        for stream in streams:
            ended = state.ended.get(stream)
            if ended is not None and ended.closed:
                self._observe_closed(ended, way_to(node, context))
                del state.ended[stream]

    def ask(self, state: State, stream: Loc, node: cst.CSTNode, context: Context) -> None:
        """The stream is about to be iterated: reported if it has nothing left, whatever happened before."""
        ended = state.ended.get(stream)
        if ended is None or state.dead:
            return
        way = way_to(node, context)
        if ended.again and ended.way[0] != way[0]:
            return
        if ended.closed:
            self._observe_closed(ended, way)
        elif self.surely_takes_all(ended.callee) and self.surely_takes_all(self.driver):
            before, now = meeting(ended.way, way)
            each = ", each time that this runs" if ended.again else ""
            notes = [Note("ended", before, f"read to its end here{each}")]
            self._observe_end(Fact.CONSUMED_TWICE, now, [*notes, Note("read", now, "nothing is left here")])

    def _observe_closed(self, ended: Ended, way: Way) -> None:
        before, now = meeting(ended.way, way)
        notes = [Note("ended", before, "closed here"), Note("read", now, "read here, or by who gets it")]
        self._observe_end(Fact.USED_AFTER_CLOSE, now, notes)

    def take(self, item: Value, node: cst.CSTNode, context: Context) -> None:
        """`next(...)` has given `item`: of interest where a loop over the same stream is in the middle of it."""
        for loan in loans(item):
            around = [site for lender, site in self.loops if lender == loan.stream]
            if around and loan.borrowed.node is node:
                at = Site(context.unit, node)
                loop = Site(around[-1].unit, iterated(around[-1].node))
                notes = (
                    Note("loop", loop, "a loop over the same stream"),
                    Note("advanced", at, "takes the next item, which nobody reads"),
                )
                taken = Observation(
                    Fact.ITEM_DROPPED, at, at.unit.text(node), notes, loop.unit.text(loop.node)
                )
                self._taken.setdefault(node, taken)

    def looked_at(self, state: State, value: Value, node: cst.CSTNode, context: Context) -> None:
        """The data of everything in `value` is about to be read."""
        if self._taken and value and not state.dead:
            self._use(state.reachable([value]))

    def keep(self, value: Value, kept: Kept) -> Value:
        """A tensor is put into a holder: one that is more than a name may hand it to anyone."""
        if self._taken and kept.kind is not Holder.VARIABLE:
            self._use(loans(value))
        return super().keep(value, kept)

    def _use(self, atoms: Iterable[Atom]) -> None:
        self._used.update(atom.borrowed.node for atom in atoms if isinstance(atom, Loan))

    def observe_dropped(self) -> None:
        """At the end of the analysis: the items that were taken out of the middle of a loop, and never used."""
        for node, taken in self._taken.items():
            if node not in self._used:
                self.observe(taken)

    def _observe_end(self, fact: Fact, site: Site, notes: list[Note]) -> None:
        place = Site(site.unit, iterated(site.node))
        self.observe(Observation(fact, place, site.unit.text(place.node), tuple(notes)))

    def surely_takes_all(self, callee: str) -> bool:
        """Whether a callee that nothing is known of takes all that it is given, as its name says; "" is a known one."""
        return not callee or self.contracts.methods.get(callee) == "drain"

    def _streams(self, state: State, value: Value) -> list[Loc]:
        return [
            atom.loc
            for atom in list(state.reachable([value]))
            if isinstance(atom, Ref) and atom.loc in state.heap and state.heap[atom.loc].kind is Kind.STREAM
        ]


def way_to(node: cst.CSTNode, context: Context) -> Way:
    """Where something happens in each of the running calls, innermost first."""
    steps: list[tuple[int, Site]] = []
    here: Context | None = context
    while here is not None:
        frame = here.frame if here.around is None else here.around
        steps.append((frame, Site(here.unit, node)))
        node, here = here.call or node, here.caller
    return tuple(steps)


def meeting(first: Way, second: Way) -> tuple[Site, Site]:
    """The two places as the innermost call sees them that both are part of."""
    known = dict(first)
    for frame, site in second:
        if frame in known:
            return known[frame], site
    return first[-1][1], second[-1][1]
