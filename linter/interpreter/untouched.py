"""Streams that are not touched: a loader that gets its weights from somewhere else."""

from __future__ import annotations

from abc import ABC
from collections.abc import Sequence
from functools import cached_property

import libcst as cst
from loaderlint.linter.interpreter.events import Fact, Note, Observation, Site
from loaderlint.linter.interpreter.frames import Context, Returned
from loaderlint.linter.interpreter.heap import Kind
from loaderlint.linter.interpreter.sides import Sides
from loaderlint.linter.interpreter.state import State
from loaderlint.linter.interpreter.usage import way_to
from loaderlint.linter.interpreter.values import Atom, Instance, Method, Named, Ref, Value
from loaderlint.linter.reading.index import Function
from loaderlint.linter.reading.nodes import names_in

# `part.load_weights(iter([]))` loads nothing, and says so.
_EMPTY = frozenset({"iter", "list", "tuple", "dict", "set"})


class Untouched(Sides, ABC):
    """Knows which of the entry's streams have been mentioned, and what has been loaded without them."""

    def __init__(self) -> None:
        super().__init__()
        # The streams that the analysed function is given, by their parameters' names.
        self.given: dict[str, Ref] = {}
        # Whether the analysed function names none of them anywhere.
        self.names_none = False
        # What is loaded on the way to some use of the stream, too: beside it, not instead.
        self._beside: set[tuple[Ref, Site]] = set()

    def may_load_instead(self, function: Function, state: State) -> bool:
        """Whether `function`, called before all streams are touched, may be what loads instead.

        Where the analysed function has some use for its streams, only files that name what reads files are looked into:
        others cost more than they show.
        """
        if not self.given or state.touched.issuperset(self.given.values()):
            return False
        return self.names_none or any(map(function.index.mentions, self._calls_that_load))

    @cached_property
    def _calls_that_load(self) -> tuple[str, ...]:
        """How calls of what reads weights from files look, by any name that an import may give it."""
        names = (*self.contracts.named("functions", "load"), *self.contracts.producer_by_call)
        last = sorted({name.rpartition(".")[2] for name in names})
        return tuple(text for name in last for text in (f"{name}(", f"{name} as "))

    def touch(self, state: State, value: Value) -> None:
        """An expression that names `value` is evaluated."""
        if not value.isdisjoint(self.given.values()):
            self._mention(state, value.intersection(self.given.values()))

    def touch_named(self, state: State, node: cst.CSTNode) -> None:
        """A function is given away, or a name deleted, that mentions some of the streams."""
        if self.given:
            self._mention(state, frozenset(self.given[name] for name in self.given.keys() & names_in(node)))

    def _mention(self, state: State, streams: frozenset[Atom]) -> None:
        if streams and not (streams <= state.touched and not state.loads):
            state.touched |= streams  # type: ignore[arg-type]
            self._beside.update(load for load in state.loads if load[0] in streams)

    def note_loading(
        self, callee: Value, values: Sequence[Value], node: cst.Call, state: State, context: Context
    ) -> None:
        """A call is made: noted if it loads weights, before the stream is touched on any way."""
        if not self.given or state.touched.issuperset(self.given.values()):
            return
        for _, obj in state.objects(frozenset().union(*values)):
            if obj.kind is Kind.FUNCTION:
                # Whoever gets it may call it.
                self.touch_named(state, obj.code[0])  # type: ignore[index]
        contracts = self.contracts
        reads = any(
            contracts.functions.get(called) == "load" or called in contracts.producer_by_call
            for called in (_qualified(atom) for atom in callee)
        )
        if reads or self._passes_on_something_else(node, context):
            way = [site for _, site in way_to(node, context)]
            place = next(site for site in way if site.unit is way[-1].unit)
            state.loads |= {(ref, place) for ref in self.given.values() if ref not in state.touched}

    def _passes_on_something_else(self, node: cst.Call, context: Context) -> bool:
        """`self.decoder.load_weights(folder)` in a method of that name: loading goes on, without the stream."""
        return (
            isinstance(node.func, cst.Attribute)
            and node.func.attr.value == context.unit.function.name.value
            and any(names_in(argument.value) - _EMPTY for argument in node.args)
        )

    def leave_untouched(self, way: Returned) -> None:
        """The analysed function is left: reported if, on some way here, it has loaded something else instead."""
        for name, stream in self.given.items():
            places = [site for ref, site in way.state.loads - self._beside if ref == stream]
            if not places:
                continue
            first = min(places, key=lambda site: site.unit.range(site.node))
            end = Site(first.unit, way.node)
            does = "comes to its end" if isinstance(way.node, cst.FunctionDef) else "returned"
            notes = (
                Note("loads", first, "loads from somewhere else"),
                Note("left", end, f"{does} without a look at `{name}`"),
            )
            text = first.unit.text(first.node)
            self.observe(Observation(Fact.STREAM_IGNORED, first, name, notes, text))


def _qualified(callee: Atom) -> str:
    """The qualified name of a function of a library, or of a method of a library's object; "" for any other."""
    if isinstance(callee, Method):
        owner = next((atom for atom in callee.receiver if isinstance(atom, Instance)), None)
        return f"{owner.cls}.{callee.name}" if owner is not None else ""
    return callee.name if isinstance(callee, Named) else ""
