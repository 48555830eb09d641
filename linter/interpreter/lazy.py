"""Lazy iterators: what `zip`, `map`, `groupby` and the like do with the items of their inputs, step by step.

Each operation is named in the contracts' table `lazy`, and runs a consumer over what it yields.
"""

from __future__ import annotations

from abc import ABC
from collections.abc import Callable, Sequence

import libcst as cst
from loaderlint.linter.interpreter.core import Core
from loaderlint.linter.interpreter.events import Holder, Site
from loaderlint.linter.interpreter.frames import Argument, Consumer, Context
from loaderlint.linter.interpreter.heap import Kind, Obj
from loaderlint.linter.interpreter.leases import iterated
from loaderlint.linter.interpreter.state import State
from loaderlint.linter.interpreter.values import NOTHING, TEXT, Kept, Tuple, Value, tuple_of


class LazyIterators(Core, ABC):
    """Each `_lazy_` method runs the consumer `to` over what one operation makes of its inputs."""

    def iterate_lazy(self, state: State, lazy: Obj, to: Consumer) -> None:
        """Iterate a lazy iterator to its end. One that was called with too little yields nothing."""
        run: Callable[[State, list[Value], Consumer], None] = getattr(self, f"_lazy_{lazy.operation}")
        inputs = list(lazy.fields.values())
        if len(inputs) >= (2 if lazy.operation in ("map", "starmap", "filter", "takewhile") else 1):
            run(state, inputs, to)

    def _lazy_same(self, state: State, inputs: list[Value], to: Consumer) -> None:
        self.feed(state, inputs[0], to)

    _lazy_reversed = _lazy_same

    def _lazy_part(self, state: State, inputs: list[Value], to: Consumer) -> None:
        """The items of an input that may not be read to its end."""
        stopped: list[State] = []

        def on_item(now: State, item: Value) -> None:
            to.on_item(now, item)
            stopped.append(now.copy())

        self.feed(state, inputs[0], to.of(on_item, to.pairs))
        for left in stopped:
            state.join(left)

    def _lazy_enumerate(self, state: State, inputs: list[Value], to: Consumer) -> None:
        self.feed(state, inputs[0], to.of(lambda now, item: to.on_item(now, tuple_of(NOTHING, item))))

    def _lazy_chain(self, state: State, inputs: list[Value], to: Consumer) -> None:
        for value in inputs:
            self.feed(state, value, to)

    def _lazy_flatten(self, state: State, inputs: list[Value], to: Consumer) -> None:
        self.feed(state, inputs[0], to.of(lambda now, inner: self.feed(now, inner, to)))

    def _lazy_zip(self, state: State, inputs: list[Value], to: Consumer) -> None:
        """Each step takes one item of every input in turn: an input that shares a stream ends earlier leases."""
        slots = [self._slot("zip", to, place) for place in range(len(inputs))]
        kept = self._kept_between(Holder.TEED, to)

        def on_first(now: State, item: Value) -> None:
            now.frames[to.context.frame][slots[0]] = self.keep(item, kept)
            for slot, value in zip(slots[1:], inputs[1:], strict=True):
                taken = self.next_item(now, value, to.node, to.context)
                now.frames[to.context.frame][slot] = self.keep(taken, kept)
            names = now.frames[to.context.frame]
            to.on_item(now, tuple_of(*(names.pop(slot, NOTHING) for slot in slots)))

        over = dict(state.ended)
        self.feed(state, inputs[0], to.of(on_first))
        # Which of the inputs was the shortest, and what is left of the others, is not known.
        state.ended = over
        # The input that ends may be a later one: it was asked for an item that it did not have.
        ended = state.copy()
        for value in inputs[1:]:
            self.advance_all(ended, value, kept.site)
        state.join(ended)

    def _lazy_pairwise(self, state: State, inputs: list[Value], to: Consumer) -> None:
        """Each item comes twice, the second time beside the next one."""
        slot, kept = self._slot("pairwise", to), self._kept_between(Holder.TEED, to)

        def on_second(now: State, item: Value) -> None:
            names = now.frames[to.context.frame]
            before, names[slot] = names.get(slot), self.keep(item, kept)
            if before is not None:
                to.on_item(now, tuple_of(before, item))

        self.feed(state, inputs[0], to.of(on_second))
        state.frames[to.context.frame].pop(slot, None)

    def _lazy_batched(self, state: State, inputs: list[Value], to: Consumer) -> None:
        """Each step takes several items: all but the last of them are stale."""
        kept = self._kept_between(Holder.MATERIALIZED, to)

        def once(now: State) -> None:
            batch = self.new(now, to.node, to.context, Obj(Kind.LIST), "batch")
            (loc,) = now.refs(batch)
            over = dict(now.ended)
            self.feed(now, inputs[0], to.of(lambda then, item: self.put(loc, item, then, kept)))
            now.ended = over
            to.on_item(now, batch)

        self.fixpoint(state, once)
        self.end_all(state, inputs[0], to.node, to.context)

    def reduced(self, inputs: Sequence[Value], node: cst.CSTNode, state: State, context: Context) -> Value:
        """`reduce(function, items, initial)`: the result of one step is an argument of the next."""
        slot = f"%reduce{self.number(('reduce', node))}"
        kept = self.kept_at(node, context, Holder.VARIABLE, node, node)
        if len(inputs) > 2:
            state.frames[context.frame][slot] = inputs[2]

        def fold(now: State, item: Value) -> None:
            before = now.frames[context.frame].get(slot)
            if before is not None:
                item = self._applied(inputs[0], (before, item), now, to)
            now.frames[context.frame][slot] = self.keep(item, kept)

        to = Consumer(node, context, fold)
        self.feed(state, inputs[1], to)
        return state.frames[context.frame].pop(slot, NOTHING)

    def _lazy_map(self, state: State, inputs: list[Value], to: Consumer) -> None:
        def apply(now: State, item: Value) -> None:
            to.on_item(now, self._applied(inputs[0], (item,), now, to))

        self.feed(state, inputs[1], to.of(apply, pairs=False))

    def _lazy_starmap(self, state: State, inputs: list[Value], to: Consumer) -> None:
        def apply(now: State, item: Value) -> None:
            parts = [part for atom in item if isinstance(atom, Tuple) for part in atom.items]
            to.on_item(now, self._applied(inputs[0], parts, now, to))

        self.feed(state, inputs[1], to.of(apply, pairs=False))

    def _lazy_filter(self, state: State, inputs: list[Value], to: Consumer) -> None:
        self.feed(state, inputs[1], self._tested(inputs[0], to))

    def _lazy_takewhile(self, state: State, inputs: list[Value], to: Consumer) -> None:
        self._lazy_part(state, inputs[1:], self._tested(inputs[0], to))

    def _tested(self, predicate: Value, to: Consumer) -> Consumer:
        def test(now: State, item: Value) -> None:
            self._applied(predicate, (item,), now, to)
            to.on_item(now, item)

        return to.of(test, to.pairs)

    def _applied(self, function: Value, values: Sequence[Value], now: State, to: Consumer) -> Value:
        given = [Argument(value, to.node) for value in values]  # type: ignore[arg-type]
        return self.call(function, given, to.node, now, to.context)

    def _lazy_groupby(self, state: State, inputs: list[Value], to: Consumer) -> None:
        """Groups share the stream with `groupby` itself: iterating one moves the stream on."""

        def once(now: State) -> None:
            group = Obj(Kind.LAZY, operation="part", fields={"0": inputs[0]})
            to.on_item(now, tuple_of(TEXT, self.new(now, to.node, to.context, group, "group")))

        self.fixpoint(state, once)
        self.advance_all(state, inputs[0], Site(to.context.unit, to.node))
        self.end_all(state, inputs[0], to.node, to.context)

    def _lazy_items(self, state: State, inputs: list[Value], to: Consumer) -> None:
        self._each_object(state, inputs[0], to, lambda obj: tuple_of(obj.keys, obj.contents))

    def _lazy_values(self, state: State, inputs: list[Value], to: Consumer) -> None:
        self._each_object(state, inputs[0], to, lambda obj: obj.contents)

    def _lazy_keys(self, state: State, inputs: list[Value], to: Consumer) -> None:
        self.fixpoint(state, lambda now: to.on_item(now, TEXT))

    def _each_object(self, state: State, value: Value, to: Consumer, item: Callable[[Obj], Value]) -> None:
        def once(now: State) -> None:
            for _, obj in now.objects(value):
                to.on_item(now, item(obj))

        self.fixpoint(state, once)

    def _kept_between(self, kind: Holder, to: Consumer) -> Kept:
        """The holder inside an iterator that is asked for its items at `to.node`."""
        source = iterated(to.node)
        # A collected stream is reported where it is collected, the parts of a split one where they are used up.
        place = source if kind is Holder.MATERIALIZED else to.node
        return self.kept_at(place, to.context, kind, source, source)

    def _slot(self, role: str, to: Consumer, place: int = 0) -> str:
        """A name, in the consumer's frame, for what an iterator holds between its steps."""
        return f"%{role}{self.number((role, to.node, place))}"
