"""The interpreter, put together: analyse one function that handles a stream."""

from __future__ import annotations

import libcst as cst
from loaderlint.linter.interpreter.adoption import Adoption
from loaderlint.linter.interpreter.attributes import Attributes
from loaderlint.linter.interpreter.calls import Calls
from loaderlint.linter.interpreter.conditions import Conditions
from loaderlint.linter.interpreter.containers import Containers
from loaderlint.linter.interpreter.displays import Displays
from loaderlint.linter.interpreter.events import Event, Site
from loaderlint.linter.interpreter.expressions import Expressions
from loaderlint.linter.interpreter.frames import Context, Returned
from loaderlint.linter.interpreter.functions import Functions
from loaderlint.linter.interpreter.heap import Kind, Obj
from loaderlint.linter.interpreter.iteration import Iteration
from loaderlint.linter.interpreter.markers import Markers
from loaderlint.linter.interpreter.matching import Matching
from loaderlint.linter.interpreter.protocols import Protocols
from loaderlint.linter.interpreter.state import State
from loaderlint.linter.interpreter.statements import Statements
from loaderlint.linter.interpreter.tensors import Libraries
from loaderlint.linter.interpreter.values import NOTHING, Loan, Loc, Value, ref
from loaderlint.linter.interpreter.writing import Writing
from loaderlint.linter.reading.index import Class, Function
from loaderlint.linter.reading.nodes import names_in
from loaderlint.linter.reading.streams import is_measured
from loaderlint.linter.settings import Assume


class Interpreter(
    Statements,
    Matching,
    Expressions,
    Attributes,
    Protocols,
    Conditions,
    Displays,
    Calls,
    Functions,
    Containers,
    Iteration,
    Libraries,
    Adoption,
    Writing,
    Markers,
):
    """Runs one function abstractly, with everything of its file that it calls."""

    def run(self, function: Function, owner: Class | None = None) -> list[Event]:
        """Analyse `function` as an entry point; its stream parameters lend until they advance.

        `owner` is the class of the object that it is called on, if that is not the class which defines it.
        """
        self.owner = owner or function.owner
        unit = function.index.slice(function)
        code = unit.function
        frame = self.number(("entry", code))
        self.parents[frame] = None
        context = Context(frame, function.index, function.owner, unit, code, function.qualname)
        state = State()
        state.frames[frame] = {}
        for parameter in _all_parameters(code):
            state.frames[frame][parameter.name.value] = self._entry_value(parameter, function, state, context)
        self.names_none = self.given.keys().isdisjoint(names_in(code.body))
        self.executed.add((function.index, function.qualname))
        self.execute(code.body.body, state, context)
        self._leave(state, context)
        self.observe_dropped()
        return [*self.retentions.values(), *self.observations.values()]

    def _entry_value(self, parameter: cst.Param, function: Function, state: State, context: Context) -> Value:
        name = parameter.name.value
        if self.settings.assume is Assume.OWNED and (name in function.streams or name in function.lent):
            return NOTHING
        if name in function.streams:
            measured = is_measured(function.node, name, context.unit.source)
            stream = Obj(Kind.STREAM, code=function.streams[name], measured=measured)
            made = self.new(state, parameter, context, stream)
            (self.given[name],) = made
            return made
        if name in function.lent:
            return frozenset({Loan(self._until_return(context), Site(context.unit, parameter))})
        first = name in ("self", "cls") and function.owner is not None
        return self.new(
            state, parameter, context, Obj(Kind.OBJECT, code=self.owner if first else None, escapes=True)
        )

    def _leave(self, state: State, context: Context) -> None:
        """The caller gets what is returned, and reads it; what outlives the call is read later."""
        for way in [*context.returns, Returned(state, NOTHING, context.function)]:
            if not way.state.dead:
                self._run_loaders(way.state, context)
                self.reopen(way.state, way.value)
                self.consume(way.state, way.value, way.node, context, "returned here, and read by the caller")
                self.leave_untouched(way)
                self.advance(way.state, self._until_return(context), Site(context.unit, context.function))
                self.escape(way.state)

    def _run_loaders(self, state: State, context: Context) -> None:
        """Weight loaders that the function has made, and nobody has called here, are called later."""
        for loc, obj in list(state.heap.items()):
            if obj.kind is not Kind.FUNCTION:
                continue
            code, made_in = obj.code  # type: ignore[misc]
            own = made_in.unit is context.unit and isinstance(code, cst.FunctionDef)
            qualname = f"{made_in.qualname}.{code.name.value}" if own else ""
            function = context.index.functions.get(qualname)
            if function is not None and function.lent and (context.index, qualname) not in self.executed:
                self.run_as_loader(ref(loc), code, state, context)
                for value in self.captured(ref(loc), state):
                    self.outlive(value, state)

    def _until_return(self, context: Context) -> Loc:
        """What lends to this one call, as a stream that moves on when the call returns."""
        return Loc(self.number(("until return", context.function)))


def _all_parameters(code: cst.FunctionDef) -> list[cst.Param]:
    params = code.params
    stars = [item for item in (params.star_arg, params.star_kwarg) if isinstance(item, cst.Param)]
    return [*params.posonly_params, *params.params, *params.kwonly_params, *stars]
