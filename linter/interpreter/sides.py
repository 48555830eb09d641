"""Side lists: what a generator puts aside, for others to read when it is drained."""

from __future__ import annotations

from abc import ABC
from collections.abc import Sequence, Set

import libcst as cst
from loaderlint.linter.interpreter.events import Fact, Note, Observation, Site
from loaderlint.linter.interpreter.frames import Context
from loaderlint.linter.interpreter.leases import iterated, nodes_of
from loaderlint.linter.interpreter.state import State
from loaderlint.linter.interpreter.usage import Usage, meeting, way_to
from loaderlint.linter.interpreter.values import Aside, Ended, Kept, Loc, Ref, Value, loans
from loaderlint.linter.reading.nodes import names_in, parameters_of


class Sides(Usage, ABC):
    """Keeps the books of containers that generators fill beside what they yield."""

    def __init__(self) -> None:
        super().__init__()
        # The generators that run here, each in the frame of its own and driven by who asks for its items.
        self.running: list[tuple[Loc, Context]] = []

    def put_aside(self, state: State, container: Loc, kept: Kept) -> None:
        """Something is put into a container: noted if a running generator does so, of what it was lent."""
        if not self.running:
            return
        generator, inside = self.running[-1]
        if kept.site.node not in nodes_of(inside.function):
            return
        names = state.frames.get(inside.frame, {})
        parameters = parameters_of(inside.function)
        own = (value for name, value in names.items() if name not in parameters)
        if any(Ref(container) in value for value in own):
            return
        if any(any(loans(names.get(name, frozenset()))) for name in names_in(kept.tensor)):
            state.aside[container] = Aside(generator, way_to(kept.site.node, inside))

    def looked_at(self, state: State, value: Value, node: cst.CSTNode, context: Context) -> None:
        """The data of everything in `value` is about to be read."""
        super().looked_at(state, value, node, context)
        self.look(state, value, node, context)

    def look(
        self,
        state: State,
        value: Value,
        node: cst.CSTNode,
        context: Context,
        given: Set[Loc] = frozenset(),
    ) -> None:
        """What `value` holds is looked at: reported if a generator that may not be at its end is to fill it.

        Generators that are `given` to who looks are its own business.
        """
        if state.dead or not state.aside:
            return
        for atom in list(state.reachable([value], within_call=True)):
            aside = state.aside.get(atom.loc) if isinstance(atom, Ref) else None
            if (
                aside is not None
                and aside.generator not in given
                and not self._is_drained(state, aside.generator)
            ):
                self._observe_early(aside, state.ended.get(aside.generator), node, context)

    def look_together(
        self, state: State, values: Sequence[Value], node: cst.CSTNode, context: Context
    ) -> None:
        """A callee gets `values`; one that gets the generator too can drain it first."""
        reached = {atom.loc for atom in state.reachable(values, within_call=True) if isinstance(atom, Ref)}
        for value in values:
            self.look(state, value, node, context, reached)

    def ask_by_hand(self, state: State, value: Value, node: cst.CSTNode, context: Context) -> None:
        """`next(...)` is called: whoever does so in a `while` is taken to go on until there is nothing left."""
        loops = (part for part in nodes_of(context.function) if isinstance(part, cst.While))
        if state.aside and any(node in nodes_of(loop) for loop in loops):
            state.aside = {
                container: aside
                for container, aside in state.aside.items()
                if Ref(aside.generator) not in value
            }

    def _is_drained(self, state: State, generator: Loc) -> bool:
        """Whether a generator has run to its end, or hands over to who looks: it is running."""
        ended = state.ended.get(generator)
        return any(generator == running for running, _ in self.running) or (
            ended is not None and self.surely_takes_all(ended.callee)
        )

    def _observe_early(self, aside: Aside, ended: Ended | None, node: cst.CSTNode, context: Context) -> None:
        before, now = meeting(aside.way, way_to(node, context))
        place = Site(now.unit, iterated(now.node))
        notes = (
            Note("aside", aside.way[0][1], "put aside here, while the generator yields"),
            Note("consumed", before, "may stop before the generator is at its end"),
            Note("read", place, "read here"),
        )
        assumptions = (f"`{ended.callee}` may stop early",) if ended is not None else ()
        self.observe(
            Observation(
                Fact.READ_UNDRAINED,
                place,
                place.unit.text(place.node),
                notes,
                assumptions=assumptions,
            )
        )
