"""The facts that everything rests on: a tensor is kept, its stream advances, its data is read."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable, Iterable
from functools import cache

import libcst as cst
from loaderlint.linter.interpreter.events import Holder, Observation, Retention, Site
from loaderlint.linter.interpreter.frames import Context
from loaderlint.linter.interpreter.heap import CONTAINER_KINDS, Kind
from loaderlint.linter.interpreter.state import State
from loaderlint.linter.interpreter.values import (
    Atom,
    Copy,
    Guard,
    Kept,
    Loan,
    Loc,
    Owned,
    Ref,
    Tuple,
    Value,
    if_kept_by_none,
    rewrite,
)
from loaderlint.linter.reading.nodes import walk

# Holders that take one tensor after the other.
COLLECTING = frozenset({Holder.MATERIALIZED, Holder.LIST, Holder.DICT})


class Leases(ABC):
    """Keeps the books of one analysis: leases, and the retentions that were found."""

    def __init__(self) -> None:
        self.retentions: dict[Hashable, Retention] = {}
        self.observations: dict[Hashable, Observation] = {}
        self._numbers: dict[Hashable, int] = {}
        self._advanced: dict[Loan, tuple[Site, bool]] = {}

    def number(self, key: Hashable) -> int:
        """A small number for `key`, the same for each asking, in the order of first asking."""
        return self._numbers.setdefault(key, len(self._numbers))

    def loc(self, node: cst.CSTNode, context: Context, role: str = "") -> Loc:
        """The allocation site of what `node` makes in this frame; `role` tells several of one node apart."""
        return Loc(self.number((node, context.frame, role)))

    def keep(self, value: Value, kept: Kept) -> Value:
        """`value` after it was put into a holder: its fresh loans are now held by it.

        Of a kept pair `(name, tensor)`, each part's loans remember the part that they came from.
        """
        display = kept.tensor
        if isinstance(display, cst.Tuple) and len(value) == 1:
            (atom,) = value
            if isinstance(atom, Tuple) and len(atom.items) == len(display.elements):
                parts = zip(atom.items, display.elements, strict=True)
                items = (self.keep(item, kept._replace(tensor=part.value)) for item, part in parts)
                return frozenset({Tuple(tuple(items))})

        def held(atom: Atom) -> Atom:
            if isinstance(atom, Copy):
                return atom._replace(held=kept) if kept.kind in COLLECTING and atom.held is None else atom
            if not isinstance(atom, Loan) or atom.stale:
                return atom
            # What a `partial` has captured, or a parameter is made of, stays so wherever that is put.
            settled = atom.kept is not None and atom.kept.kind in (Holder.CAPTURED, Holder.PARAMETER)
            return atom if settled else atom._replace(kept=kept)

        return rewrite(value, held)

    def keep_inside(self, state: State, value: Value, kept: Kept) -> None:
        """A container was put into a holder: what it holds that nothing else has kept is held by that holder."""
        self._rewrite_contents(state, value, if_kept_by_none(kept))

    def yielded(self, state: State, item: Value, context: Context) -> Value:
        """`item` as a generator hands it on: of what is stale by now, and was kept in its own body, that is noted."""

        def marked(atom: Atom) -> Atom:
            late = isinstance(atom, Loan) and atom.stale and atom.kept is not None
            own = late and atom.kept.site.node in nodes_of(context.function)
            return atom._replace(kept=atom.kept._replace(yielded=True)) if own else atom

        self._rewrite_contents(state, item, marked)
        return rewrite(item, marked)

    @staticmethod
    def _rewrite_contents(state: State, value: Value, change: Callable[[Atom], Atom]) -> None:
        """Replace the atoms in the containers that can be reached from `value`."""
        for atom in list(state.reachable([value], within_call=True)):
            obj = state.heap.get(atom.loc) if isinstance(atom, Ref) else None
            if obj is not None and obj.kind in CONTAINER_KINDS:
                state.heap[atom.loc] = obj.mapped(lambda inner: rewrite(inner, change))

    def advance(self, state: State, stream: Loc, site: Site, closed: bool = False) -> None:
        """The stream moves on, or is `closed`: every loan of it, wherever it is held, is stale from here."""

        def aged(atom: Atom) -> Atom:
            if isinstance(atom, Guard) and atom.stream == stream:
                return Owned()
            if isinstance(atom, Copy):
                return atom._replace(stale=True) if atom.stream == stream else atom
            if not isinstance(atom, Loan) or atom.stale or atom.stream != stream:
                return atom
            stale = atom._replace(stale=True)
            self._advanced.setdefault(_lease(stale), (site, closed))
            return stale

        state.rewrite(aged)
        for loc in sorted(state.pending):
            self._report_all(
                state.reachable([state.heap[loc].items]),
                lambda loan: (
                    loan.kept.site,
                    "the copy may still be running"
                    if loan.kept.kind is Holder.COPYING
                    else "a worker may read it only now",
                ),
            )

    def advance_all(self, state: State, value: Value, site: Site) -> None:
        """Every stream that `value` is, or is made from, moves on."""
        for atom in list(state.reachable([value])):
            if isinstance(atom, Ref) and atom.loc in state.heap and state.heap[atom.loc].kind is Kind.STREAM:
                self.advance(state, atom.loc, site)

    @abstractmethod
    def looked_at(self, state: State, value: Value, node: cst.CSTNode, context: Context) -> None:
        """The data of everything in `value` is about to be read: those who keep other books note it."""

    def read(
        self,
        state: State,
        value: Value,
        node: cst.CSTNode,
        context: Context,
        note: str = "read here",
        assumptions: tuple[str, ...] = (),
    ) -> None:
        """The data of everything in `value` is read at `node`; stale loans become retentions."""
        self.looked_at(state, value, node, context)
        if value and not state.dead:
            self._report_all(
                state.reachable([value], within_call=True),
                lambda loan: self._visible(node, context, loan, note),
                assumptions,
            )

    def observe(self, observation: Observation) -> None:
        """A fact other than a retention, each place once."""
        self.observations.setdefault((observation.fact, observation.at.node), observation)

    def outlive(self, value: Value, state: State) -> None:
        """What `value` refers to stays after the call: a function that is called later has captured it."""
        for loc, obj in state.objects(value):
            if obj.kind in CONTAINER_KINDS:
                state.update(loc, escapes=True)

    def escape(self, state: State) -> None:
        """The analysed call ended: what outlives it is read later."""
        outliving = [value for obj in state.heap.values() if obj.escapes for value in obj.values()]
        self._report_all(
            state.reachable(outliving),
            lambda loan: (loan.kept.site, "outlives this call, so it is read later"),
        )

    def _report_all(
        self,
        atoms: Iterable[Atom],
        read: Callable[[Loan], tuple[Site, str]],
        assumptions: tuple[str, ...] = (),
    ) -> None:
        """Report the stale loans among `atoms` that some holder kept, each holder's place once."""
        stale = {
            atom
            for atom in atoms
            if isinstance(atom, Loan)
            and atom.stale
            and atom.kept is not None
            and _key(atom) not in self.retentions
        }
        for loan in sorted(stale, key=_order) if len(stale) > 1 else stale:
            self._report(loan, *read(loan), assumptions)

    def _visible(self, node: cst.CSTNode, context: Context, loan: Loan, note: str) -> tuple[Site, str]:
        """The read as seen from the function that kept the tensor: its own statement, or the call made there."""
        here, seen = context, node
        while here is not None:
            if here.unit is loan.kept.site.unit:
                return Site(here.unit, seen), note if here is context else "read here, inside this call"
            seen, here = here.call or seen, here.caller
        return Site(context.unit, node), note

    def _report(self, loan: Loan, read: Site, note: str, assumptions: tuple[str, ...]) -> None:
        kept = loan.kept
        key = _key(loan)
        if key in self.retentions:
            return
        unit = kept.site.unit
        advanced, closed = self._advanced[_lease(loan)]
        self.retentions[key] = Retention(
            holder_kind=kept.kind,
            holder=unit.text(kept.holder),
            tensor=unit.text(kept.tensor),
            stream=unit.text(iterated(loan.borrowed.node)) if loan.borrowed.unit is unit else "",
            borrowed=loan.borrowed,
            kept=kept.site,
            advanced=advanced,
            read=read,
            read_note=note,
            conditional=loan.conditional,
            yielded=kept.yielded,
            call=kept.call,
            closed=closed,
            producer=self.producers.get(loan.stream.key),
            assumptions=assumptions,
        )


def _order(loan: Loan) -> tuple[object, ...]:
    """The order of the places that keep, so that reports do not depend on hashing."""
    kept = loan.kept
    parts = (kept.site.unit.range(node) for node in (kept.holder, kept.tensor))
    return (_place(kept.site), _place(loan.borrowed), *parts)


def _key(loan: Loan) -> Hashable:
    """What is reported once."""
    return (loan.kept.site.node, loan.kept.call and loan.kept.call.node, loan.conditional)


def _lease(loan: Loan) -> Loan:
    """The stale loan itself, whatever has been noted of it since."""
    kept = None if loan.kept is None else loan.kept._replace(yielded=False)
    return loan._replace(conditional=False, view=None, kept=kept)


@cache
def nodes_of(function: cst.CSTNode) -> frozenset[cst.CSTNode]:
    """All nodes of a function."""
    return frozenset(walk(function))


def _place(site: Site) -> tuple[object, ...]:
    return (site.unit.path, *site.unit.range(site.node))


def iterated(node: cst.CSTNode) -> cst.CSTNode:
    """What is iterated at a place that borrows: the loop's iterable, or the call itself."""
    return node.iter if isinstance(node, (cst.For, cst.CompFor)) else node
