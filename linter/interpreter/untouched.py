"""Streams that are not touched: a loader that gets its weights from somewhere else."""

from __future__ import annotations

from abc import ABC
from collections.abc import Sequence

import libcst as cst
from loaderlint.linter.interpreter.events import Fact, Note, Observation, Site
from loaderlint.linter.interpreter.frames import Context, Returned
from loaderlint.linter.interpreter.heap import Kind
from loaderlint.linter.interpreter.sides import Sides
from loaderlint.linter.interpreter.state import State
from loaderlint.linter.interpreter.usage import way_to
from loaderlint.linter.interpreter.values import Atom, Instance, Method, Named, Ref, Value
from loaderlint.linter.reading.nodes import names_in

# `part.load_weights(iter([]))` loads nothing, and says so.
_EMPTY = frozenset({"iter", "list", "tuple", "dict", "set"})


class Untouched(Sides, ABC):
    """Knows which of the entry's streams have been mentioned, and what has been loaded without them."""

    def __init__(self) -> None:
        super().__init__()
        # The streams that the analysed function is given, by their parameters' names.
        self.given: dict[str, Ref] = {}

    def touch(self, state: State, value: Value) -> None:
        """An expression that names `value` is evaluated."""
        if self.given and value:
            mentioned = value & frozenset(self.given.values())
            if not mentioned <= state.touched:
                state.touched |= mentioned

    def touch_named(self, state: State, node: cst.CSTNode) -> None:
        """A function is given away, or a name deleted, that mentions some of the streams."""
        if self.given:
            state.touched |= {self.given[name] for name in self.given.keys() & names_in(node)}

    def note_loading(
        self, callee: Value, values: Sequence[Value], node: cst.Call, state: State, context: Context
    ) -> None:
        """A call is made: noted if it loads weights without the stream, before that is touched."""
        if not self.given or state.touched.issuperset(self.given.values()):
            return
        for _, obj in state.objects(frozenset().union(*values)):
            if obj.kind is Kind.FUNCTION:
                # Whoever gets it may call it.
                self.touch_named(state, obj.code[0])  # type: ignore[index]
        contracts, name = self.contracts, _last_name(node.func)
        reads = contracts.methods.get(name) == "load" or any(
            contracts.functions.get(called) == "load" or called in contracts.producer_by_call
            for called in (_qualified(atom) for atom in callee)
        )
        if reads or self._passes_on_something_else(node, context):
            way = [site for _, site in way_to(node, context)]
            state.touched |= {next(site for site in way if site.unit is way[-1].unit)}

    def _passes_on_something_else(self, node: cst.Call, context: Context) -> bool:
        """`self.decoder.load_weights(folder)` in a method of that name: loading goes on, without the stream."""
        function = context.function
        return (
            context.caller is None
            and isinstance(function, cst.FunctionDef)
            and isinstance(node.func, cst.Attribute)
            and node.func.attr.value == function.name.value
            and any(names_in(argument.value) - _EMPTY for argument in node.args)
        )

    def leave_untouched(self, way: Returned) -> None:
        """The analysed function is left: reported if it has loaded something, and never touched its stream."""
        loading = [site for site in way.state.touched if isinstance(site, Site)]
        if not loading:
            return
        first = min(loading, key=lambda site: site.unit.range(site.node))
        for name, stream in self.given.items():
            if stream not in way.state.touched:
                end = Site(first.unit, way.node)
                notes = [Note("loads", first, "loads from somewhere else")]
                if isinstance(way.node, cst.FunctionDef):
                    notes.append(Note("left", end, f"comes to its end without a look at `{name}`"))
                else:
                    notes.append(Note("left", end, f"returned without a look at `{name}`"))
                text = first.unit.text(first.node)
                self.observe(Observation(Fact.STREAM_IGNORED, first, name, tuple(notes), text))


def _qualified(callee: Atom) -> str:
    """The qualified name of a function of a library, or of a method of a library's object; "" for any other."""
    if isinstance(callee, Method):
        owner = next((atom for atom in callee.receiver if isinstance(atom, Instance)), None)
        return f"{owner.cls}.{callee.name}" if owner is not None else ""
    return callee.name if isinstance(callee, Named) else ""


def _last_name(node: cst.CSTNode) -> str:
    if isinstance(node, cst.Attribute):
        return node.attr.value
    return node.value if isinstance(node, cst.Name) else ""
