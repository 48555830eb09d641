"""What library calls do with lent memory, as the contracts say."""

from __future__ import annotations

from abc import ABC
from collections.abc import Sequence

import libcst as cst
from loaderlint.linter.interpreter.containers import FACTORY
from loaderlint.linter.interpreter.events import Holder, Site
from loaderlint.linter.interpreter.frames import Argument, Context
from loaderlint.linter.interpreter.heap import CONTAINER_KINDS, Kind, Obj
from loaderlint.linter.interpreter.lending import Lending, flags_of, literal_argument
from loaderlint.linter.interpreter.state import State
from loaderlint.linter.interpreter.values import (
    NOTHING,
    TEXT,
    Instance,
    Loan,
    Value,
    loans,
    made_conditional,
    tuple_of,
)
from loaderlint.linter.interpreter.workers import Workers
from loaderlint.linter.reading.nodes import literal_text, receiver_node


class Libraries(Lending, Workers, ABC):
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
            if self.contracts.tensor_results.get(name) == "other":
                # A storage is one and the same for all views.
                return frozenset({loan._replace(view=None)})
            # What ends in an underscore returns its tensor.
            return receiver if name.endswith("_") else self.view(receiver, node, context)
        if effect == "metadata":
            return NOTHING
        self.read(state, receiver, node, context)
        if effect == "mutate":
            given = NOTHING.union(*(item.value for item in arguments))
            self.written(receiver, receiver_node(node), given, node, context)
            for item in arguments:
                self.copy_in_background(name, item.value, item.node, arguments, node, state, context)
            return receiver
        self.copy_in_background(name, receiver, receiver_node(node), arguments, node, state, context)
        copies = self.contracts.copy_if_true.get(name)
        if effect == "copy" or (copies is not None and literal_argument(arguments, copies) is True):
            return self.copied(loan, name, node, context)
        return made_conditional(receiver)

    def library_call(
        self, name: str, arguments: Sequence[Argument], node: cst.CSTNode, state: State, context: Context
    ) -> Value | None:
        """Call a function that a contract names; None for any other."""
        contracts = self.contracts
        if name in ("builtins.next", "builtins.anext") and arguments:
            return self._next(arguments, node, state, context)
        if name == "builtins.setattr" and len(arguments) == 3:
            return self._set_attribute(arguments, node, state, context)
        if name in ("builtins.getattr", "builtins.hasattr") and len(arguments) > 1:
            self.ask_for_marker(arguments, node, state, context)
        if name in ("builtins.vars", "builtins.globals"):
            return self._attributes(arguments, state, context)
        producer = contracts.producer_by_call.get(name)
        if producer is not None:
            return self.produce(producer, arguments, node, state, context)
        if name in contracts.lazy:
            return self._lazy(contracts.lazy[name], arguments, node, state, context)
        if name in contracts.eager and arguments and not arguments[0].keyword:
            return self._materialize(contracts.eager[name], arguments, node, state, context)
        if contracts.classes.get(name) in ("list", "set", "dict", "callbacks"):
            return self._empty_container(contracts.classes[name], arguments, node, state, context)
        if name in contracts.functions:
            return self._function(contracts.functions[name], name, arguments, node, state, context)
        if name in contracts.owners:
            flags = tuple(sorted(flags_of(arguments).items()))
            return frozenset({Instance(name, self.loc(node, context, "instance"), flags)})
        return None

    def _next(
        self, arguments: Sequence[Argument], node: cst.CSTNode, state: State, context: Context
    ) -> Value:
        """`next(it)`, `next(it, default)`: an advance, also where it raises because there is no item left."""
        source = arguments[0].value
        if context.failing is not None:
            exhausted = state.copy()
            self.advance_all(exhausted, source, Site(context.unit, node))
            context.failing.join(exhausted)
        default = arguments[1].value if len(arguments) > 1 else NOTHING
        item = self.next_item(state, source, node, context)
        self.take(item, node, context)
        self.ask_by_hand(state, source, node, context)
        return item | default

    def _set_attribute(
        self, arguments: Sequence[Argument], node: cst.CSTNode, state: State, context: Context
    ) -> Value:
        """`setattr(thing, name, value)`, where the name may be any."""
        holder, value = arguments[0], arguments[2]
        kept = self.kept_at(node, context, Holder.OBJECT, holder.node, value.node)
        self.mark(holder.value, arguments[1].node, state, context)
        if literal_text(arguments[1].node) in self.contracts.loader_attributes:
            self.run_as_loader(value.value, node, state, context)
        lent = state.holds_loans(value.value)
        named = self.place(holder.node, state, context) if lent else holder.value
        for loc, obj in state.objects(named):
            if obj.kind is Kind.OBJECT:
                known = obj.fields.get("*", NOTHING)
                state.update(loc, fields={**obj.fields, "*": known | self.keep(value.value, kept)})
        self.belong_to_module(named, value.value, node, state, context)
        return NOTHING

    def _attributes(self, arguments: Sequence[Argument], state: State, context: Context) -> Value:
        """`vars(thing)` and `globals()`: all attributes, by their names."""
        if arguments:
            objects = [loc for loc, obj in state.objects(arguments[0].value) if obj.kind is Kind.OBJECT]
        else:
            objects = [self.global_object(state, context.index)]
        return frozenset().union(*(self.member_object(loc, "__dict__", state) for loc in objects))

    def instance_call(
        self,
        instance: Instance,
        name: str,
        arguments: Sequence[Argument],
        node: cst.CSTNode,
        state: State,
        context: Context,
    ) -> Value | None:
        """Call a method of a library's object; flags that it or its constructor is given stay with it."""
        flags = {**dict(instance.arguments), **flags_of(arguments)}
        marked = instance
        if flags != dict(instance.arguments):
            marked = instance._replace(arguments=tuple(sorted(flags.items())))
            state.rewrite(lambda atom: marked if atom == instance else atom)
        producer = self.contracts.producer_by_call.get(f"{instance.cls}.{name}")
        if producer is not None:
            return self.produce(producer, arguments, node, state, context, marked)
        if name == "close":
            self.close(state, frozenset({instance}), node, context)
        return self.library_call(f"{instance.cls}.{name}", arguments, node, state, context)

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
            return frozenset(loans(given)) if name.endswith("_") else self.view(given, node, context)
        if effect == "same":
            return given
        if effect == "mutate" and arguments:
            self.read(state, given, node, context)
            rest = NOTHING.union(*(item.value for item in arguments[1:]))
            self.written(arguments[0].value, arguments[0].node, rest, node, context)
            return frozenset(loans(arguments[0].value))
        if effect == "conditional_copy":
            self.read(state, given, node, context)
            return made_conditional(given)
        if effect == "capture":
            kept = self.kept_at(node, context, Holder.CAPTURED, node, node)
            return self.keep(tuple_of(*(item.value for item in arguments)), kept)
        if effect == "shallow_copy":
            copies = [
                self.new(state, node, context, obj)
                for _, obj in state.objects(given)
                if obj.kind in CONTAINER_KINDS
            ]
            return frozenset(loans(given)).union(*copies)
        if effect == "consume":
            for item in arguments:
                self.iterate(
                    state,
                    item.value,
                    node,
                    context,
                    lambda now, one: self.read(now, one, node, context),
                    False,
                )
            return NOTHING
        if effect == "tee" and arguments:
            return self._tee(arguments, node, state, context)
        if effect == "parameter":
            return self.parameter(arguments, node, state, context)
        if effect == "adopt":
            return self.adopt(arguments, node, state, context)
        if effect == "keep":
            return self.keep_for_good(arguments, node, state, context)
        if effect == "copy":
            self.read(state, given, node, context)
            return NOTHING
        if effect == "await":
            return self.await_futures(given, state)
        if effect == "submit":
            return self.submit(arguments, node, state, context)
        if effect == "spawn":
            return self.spawn(arguments, node, state, context)
        if effect == "submit_items":
            return self.submit_items(arguments, node, state, context)
        if effect == "put" and arguments:
            return self.put_into(arguments, node, state, context)
        if effect == "take" and arguments:
            return self.taken_from(arguments[0].value, state)
        if effect == "reduce" and len(arguments) > 1:
            return self.reduced([item.value for item in arguments], node, state, context)
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
            self.reopen(state, source.value)
            self.iterate(state, source.value, node, context, lambda now, item: None)
            return NOTHING
        made = self.new(state, node, context, Obj(Kind[kind.upper()]))
        (loc,) = state.refs(made)
        self.extend(loc, source.value, state, context, node, node, source.node)
        return made

    def keep_for_good(
        self, arguments: Sequence[Argument], node: cst.CSTNode, state: State, context: Context
    ) -> Value:
        """A callee that a contract calls a keeper: what it is given outlives the call."""
        held: Value = NOTHING
        for item in arguments:
            kept = self.kept_at(node, context, Holder.KEEPER, receiver_node(node), item.node)
            held |= self.keep(item.value, kept)
        self.new(state, node, context, Obj(Kind.OBJECT, held, escapes=True), "keeper")
        return NOTHING

    def _tee(self, arguments: Sequence[Argument], node: cst.CSTNode, state: State, context: Context) -> Value:
        """Several iterators over one stream: all but the first are served from a hidden buffer."""
        made = self.new(state, node, context, Obj(Kind.LIST))
        (loc,) = state.refs(made)
        kept = self.kept_at(node, context, Holder.TEED, node, arguments[0].node)
        self.iterate(
            state, arguments[0].value, node, context, lambda now, item: self.put(loc, item, now, kept)
        )
        return tuple_of(made, made)

    def _empty_container(
        self, kind: str, arguments: Sequence[Argument], node: cst.CSTNode, state: State, context: Context
    ) -> Value:
        """`dict()`, `dict(a=t)`, `ChainMap(first, second)`, `defaultdict(list)`."""
        if kind == "callbacks":
            return self.new(state, node, context, Obj(Kind.LIST, operation="callbacks"))
        items, keys, fields, made_by = NOTHING, NOTHING, {}, None
        for item in arguments:
            mappings = [obj for _, obj in state.objects(item.value) if obj.kind in CONTAINER_KINDS]
            items = items.union(item.value if item.keyword else NOTHING, *(obj.contents for obj in mappings))
            keys = keys.union(*(obj.keys for obj in mappings))
            if item.value and not (item.keyword or mappings):
                fields, made_by = {FACTORY: item.value}, item.node
        made = Obj(Kind[kind.upper()], items, keys, fields, code=made_by)
        return self.new(state, node, context, made)
