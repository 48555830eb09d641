"""What library calls do with lent memory, as the contracts say."""

from __future__ import annotations

from abc import ABC
from collections.abc import Sequence

import libcst as cst

from loaderlint.linter.interpreter.core import CONTAINER_KINDS, Argument, Context, Core
from loaderlint.linter.interpreter.events import Holder, Site
from loaderlint.linter.interpreter.heap import Kind, Obj
from loaderlint.linter.interpreter.state import State
from loaderlint.linter.interpreter.values import (
    NOTHING,
    TEXT,
    Instance,
    Kept,
    Loan,
    Ref,
    Value,
    loans,
    made_conditional,
    tuple_of,
)
from loaderlint.linter.reading.streams import PAIR


class Libraries(Core, ABC):
    """Applies contracts: tensor methods, functions by qualified name, iteration, submission, producers."""

    def tensor_method(
        self,
        loan: Loan,
        name: str,
        arguments: Sequence[Argument],
        node: cst.CSTNode,
        state: State,
        context: Context,
    ) -> Value:
        """Call a method of a borrowed tensor."""
        receiver: Value = frozenset({loan})
        effect = self.contracts.tensor_methods.get(name, "copy")
        for item in arguments:
            self.read(state, frozenset(loans(item.value)), node, context)
        if effect == "view":
            return receiver
        if effect == "metadata":
            return NOTHING
        self.read(state, receiver, node, context)
        copies = self.contracts.copy_if_true.get(name)
        if effect == "copy" or (copies is not None and literal_argument(arguments, copies) is True):
            return NOTHING
        return made_conditional(receiver)

    def library_call(
        self, name: str, arguments: Sequence[Argument], node: cst.CSTNode, state: State, context: Context
    ) -> Value | None:
        """Call a function that a contract names; None for any other."""
        contracts = self.contracts
        if name == "builtins.next" and arguments:
            default = arguments[1].value if len(arguments) > 1 else NOTHING
            return self.next_item(state, arguments[0].value, node, context) | default
        if name in contracts.producers:
            return self._produce(name, arguments, node, state, context)
        if name in contracts.lazy:
            return self._lazy(contracts.lazy[name], arguments, node, state, context)
        if name in contracts.tee and arguments:
            return self._tee(arguments, node, state, context)
        if name in contracts.eager and arguments and not arguments[0].keyword:
            return self._materialize(contracts.eager[name], arguments, node, state, context)
        if name in contracts.containers:
            return self._empty_container(contracts.containers[name], arguments, node, state, context)
        if name in contracts.consume:
            for item in arguments:
                self.iterate(
                    state, item.value, node, context, lambda now, one: self.read(now, one, node, context), False
                )
            return NOTHING
        if name in contracts.functions:
            return self._function(contracts.functions[name], name, arguments, node, state, context)
        if contracts.constructs_producer(name) or name in contracts.executors:
            return frozenset({Instance(name)})
        return None

    def _function(
        self,
        effect: str,
        name: str,
        arguments: Sequence[Argument],
        node: cst.CSTNode,
        state: State,
        context: Context,
    ) -> Value:
        given = frozenset().union(*(item.value for item in arguments))
        if effect == "view":
            return frozenset(loans(given))
        if effect == "conditional_copy":
            self.read(state, given, node, context)
            return made_conditional(given)
        if effect == "capture":
            kept = Kept(Site(context.unit, node), Holder.CAPTURED, node, node)
            return self.keep(tuple_of(*(item.value for item in arguments)), kept)
        if effect == "shallow_copy":
            copies = [
                self.new(state, node, context, obj)
                for _, obj in state.objects(given)
                if obj.kind in CONTAINER_KINDS
            ]
            return frozenset(loans(given)).union(*copies)
        if effect == "await":
            return self.await_futures(given, state)
        if effect == "submit":
            return self.submit(arguments, node, state, context)
        if effect == "text":
            self.read(state, given, node, context)
            return TEXT
        return NOTHING

    # Iteration

    def _lazy(
        self, operation: str, arguments: Sequence[Argument], node: cst.CSTNode, state: State, context: Context
    ) -> Value:
        positional = [item for item in arguments if not item.keyword] or list(arguments[:1])
        fields = {str(place): item.value for place, item in enumerate(positional)}
        if any(item.star for item in positional):
            operation = "flatten" if operation == "chain" else operation
        return self.new(state, node, context, Obj(Kind.LAZY, operation=operation, fields=fields))

    def _materialize(
        self, kind: str, arguments: Sequence[Argument], node: cst.CSTNode, state: State, context: Context
    ) -> Value:
        source = arguments[0]
        if literal_argument(arguments, "maxlen") == 0:
            self.iterate(state, source.value, node, context, lambda now, item: None)
            return NOTHING
        made = self.new(state, node, context, Obj(Kind[kind.upper()]))
        (loc,) = state.refs(made)
        self.extend(loc, source.value, state, context, node, node, source.node)
        return made

    def _tee(
        self, arguments: Sequence[Argument], node: cst.CSTNode, state: State, context: Context
    ) -> Value:
        """Several iterators over one stream: all but the first are served from a hidden buffer."""
        made = self.new(state, node, context, Obj(Kind.LIST))
        (loc,) = state.refs(made)
        kept = Kept(Site(context.unit, node), Holder.TEED, node, arguments[0].node)
        self.iterate(
            state, arguments[0].value, node, context, lambda now, item: self.put(loc, item, now, kept)
        )
        return tuple_of(made, made)

    def _empty_container(
        self, kind: str, arguments: Sequence[Argument], node: cst.CSTNode, state: State, context: Context
    ) -> Value:
        """`dict()`, `dict(a=t)`, `defaultdict(list)`: the factory makes what a missing key gives."""
        items = NOTHING
        for item in arguments:
            if item.keyword:
                items |= item.value
            elif not item.keyword:
                items |= self.call(item.value, (), item.node, state, context)
        return self.new(state, node, context, Obj(Kind[kind.upper()], items))

    def _produce(
        self, name: str, arguments: Sequence[Argument], node: cst.CSTNode, state: State, context: Context
    ) -> Value:
        owned = self.contracts.producers[name].owned_if_true
        if owned and literal_argument(arguments, owned) is True:
            return NOTHING
        return self.new(state, node, context, Obj(Kind.STREAM, code=PAIR))

    # Other threads

    def submit(self, arguments: Sequence[Argument], node: cst.CSTNode, state: State, context: Context) -> Value:
        """Hand arguments to another thread: it may read them at any time until it is awaited."""
        held: Value = NOTHING
        for item in arguments:
            kept = Kept(Site(context.unit, node), Holder.SUBMITTED, node, item.node)
            lent = frozenset(loans(item.value))
            self.read(state, lent, node, context)
            held |= self.keep(lent, kept)
        future = self.new(state, node, context, Obj(Kind.FUTURE, held))
        state.pending |= frozenset(state.refs(future))
        return future

    def joins_at_exit(self, value: Value) -> bool:
        """Whether leaving a `with` over `value` waits for what was submitted."""
        return any(isinstance(atom, Instance) and atom.cls in self.contracts.executors for atom in value)

    def await_futures(self, value: Value, state: State) -> Value:
        """Wait: the futures that can be reached are done with what they were given."""
        done = {atom.loc for atom in state.reachable([value]) if isinstance(atom, Ref)}
        state.pending -= done
        return value


def literal_argument(arguments: Sequence[Argument], keyword: str) -> object:
    """The literal value of a keyword argument, None if it has none."""
    for item in arguments:
        if item.keyword == keyword:
            if isinstance(item.node, cst.Name):
                return {"True": True, "False": False}.get(item.node.value)
            if isinstance(item.node, cst.Integer):
                return item.node.evaluated_value
    return None
