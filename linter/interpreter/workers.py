"""Other threads and tasks: what is handed to them may be read at any time until they are waited for."""

from __future__ import annotations

from abc import ABC
from collections.abc import Sequence

import libcst as cst
from loaderlint.linter.interpreter.core import Core
from loaderlint.linter.interpreter.events import Holder
from loaderlint.linter.interpreter.frames import Argument, Context
from loaderlint.linter.interpreter.heap import Kind, Obj
from loaderlint.linter.interpreter.state import State
from loaderlint.linter.interpreter.values import NOTHING, Instance, Kept, Loan, Ref, Value
from loaderlint.linter.reading.nodes import names_in

# What can be evaluated a second time, for it does nothing.
_INERT = (cst.Name, cst.Attribute, cst.Subscript)


class Workers(Core, ABC):
    """Hands tensors to executors, threads, queues and tasks, and waits for them."""

    def spawn(
        self, arguments: Sequence[Argument], node: cst.CSTNode, state: State, context: Context
    ) -> Value:
        """`create_task(load(name, weight))`: the coroutine has got its arguments, and runs some time later."""
        given: list[Argument] = []
        for item in arguments:
            made = item.node.args if isinstance(item.node, cst.Call) else ()
            parts = [part.value for part in made if isinstance(part.value, _INERT)]
            given += [Argument(self.evaluate(part, state, context), part) for part in parts]
        running = frozenset().union(*(item.value for item in arguments))
        return running | self.submit(given, node, state, context)

    def submit(
        self, arguments: Sequence[Argument], node: cst.CSTNode, state: State, context: Context
    ) -> Value:
        """Hand arguments to another thread: it may read them at any time until it is awaited."""
        held: Value = NOTHING
        for item in arguments:
            reached = state.reachable([item.value, *self.captured(item.value, state)], within_call=True)
            for loan in frozenset(atom for atom in reached if isinstance(atom, Loan)):
                self.read(state, frozenset({loan}), node, context)
                held |= self.keep(frozenset({loan}), self._submission(loan, item, node, context))
        future = self.new(state, node, context, Obj(Kind.FUTURE, held))
        state.pending |= frozenset(state.refs(future))
        return future

    def _submission(self, loan: Loan, item: Argument, node: cst.CSTNode, context: Context) -> Kept:
        """Where a tensor is handed over: for a helper that submits what it is given, where the helper is called."""
        here: Context | None = context
        site = node
        while here is not None:
            if here.unit is loan.borrowed.unit or _takes_stream(here):
                known = loan.kept is not None and loan.kept.site.unit is here.unit
                tensor = loan.kept.tensor if known else item.node if here is context else site
                return self.kept_at(site, here, Holder.SUBMITTED, site, tensor)
            site, here = here.call or site, here.caller
        return self.kept_at(node, context, Holder.SUBMITTED, node, item.node)

    def submit_items(
        self, arguments: Sequence[Argument], node: cst.CSTNode, state: State, context: Context
    ) -> Value:
        """`executor.map(f, stream)`: takes all items at once, and hands each to a worker."""
        held = []
        for item in arguments[1:]:
            if self.is_stream(state, item.value):
                kept = self.kept_at(node, context, Holder.SUBMITTED, node, item.node)
                made = self.new(state, node, context, Obj(Kind.LIST), "map")
                (loc,) = state.refs(made)
                self.iterate(
                    state,
                    item.value,
                    node,
                    context,
                    lambda now, one, loc=loc, kept=kept: self.put(loc, one, now, kept),
                )
                held.append(Argument(made, item.node))
            else:
                held.append(item)
        return self.submit(held, node, state, context)

    def captured(self, value: Value, state: State) -> list[Value]:
        """What the functions in `value` refer to in the scopes around them."""
        found = []
        for _, obj in state.objects(value):
            if obj.kind is Kind.FUNCTION:
                code, made_in = obj.code  # type: ignore[misc]
                frame: int | None = made_in.frame
                while frame is not None:
                    names = state.frames.get(frame, {})
                    found += [names[name] for name in sorted(names_in(code)) if name in names]
                    frame = self.parents[frame]
        return found

    def joins_at_exit(self, value: Value) -> bool:
        """Whether leaving a `with` over `value` waits for what was submitted."""
        return any(
            isinstance(atom, Instance) and self.contracts.classes.get(atom.cls) == "executor"
            for atom in value
        )

    def await_futures(self, value: Value, state: State) -> Value:
        """Wait: the futures that can be reached are done with what they were given."""
        done = {atom.loc for atom in state.reachable([value]) if isinstance(atom, Ref)}
        state.pending -= done
        return value


def _takes_stream(context: Context) -> bool:
    """Whether a running function is given a stream: what it submits is its own doing, not its caller's."""
    function = context.index.functions.get(context.qualname)
    return function is not None and bool(function.streams)
