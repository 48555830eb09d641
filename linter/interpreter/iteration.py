"""Iteration: what yields items, and which streams each step moves on."""

from __future__ import annotations

from abc import ABC
from dataclasses import replace

import libcst as cst
from loaderlint.linter.interpreter.core import MAX_DEPTH, Core
from loaderlint.linter.interpreter.events import Holder, Site
from loaderlint.linter.interpreter.frames import Argument, Context, OnItem
from loaderlint.linter.interpreter.heap import Kind, Obj
from loaderlint.linter.interpreter.leases import iterated
from loaderlint.linter.interpreter.state import State
from loaderlint.linter.interpreter.values import (
    NOTHING,
    TEXT,
    Kept,
    Loan,
    Loc,
    Ref,
    Text,
    Tuple,
    Value,
    tuple_of,
)


class Iteration(Core, ABC):
    """Runs a consumer over streams, containers, lazy iterators and generators."""

    def iterate(
        self,
        state: State,
        value: Value,
        node: cst.CSTNode,
        context: Context,
        on_item: OnItem,
        pairs: bool = True,
    ) -> None:
        """Iterate `value` to its end. Alternatives are run on copies and joined."""
        choices = sorted((atom for atom in value if isinstance(atom, Ref)), key=lambda atom: atom.loc)
        items = _direct_items(value)
        ends: list[State] = []
        for atom in choices:
            end = state.copy()
            self._iterate_object(end, atom.loc, node, context, on_item, pairs)
            ends.append(end)
        if items or not choices:
            end = state.copy()
            self.fixpoint(end, lambda now: on_item(now, items))
            ends.append(end)
        state.become(ends[0])
        for end in ends[1:]:
            state.join(end)

    def _iterate_object(
        self, state: State, loc: Loc, node: cst.CSTNode, context: Context, on_item: OnItem, pairs: bool
    ) -> None:
        obj = state.heap.get(loc)
        if obj is None:
            return
        if obj.kind is Kind.STREAM:
            self._iterate_stream(state, loc, node, context, on_item)
        elif obj.kind is Kind.MAYBE_STREAM:
            self._iterate_result(state, obj, node, context, on_item, pairs)
        elif obj.kind is Kind.GENERATOR:
            self.run_generator(state, loc, node, context, on_item)
        elif obj.kind is Kind.LAZY:
            run = getattr(self, f"_lazy_{obj.operation}")
            run(state, list(obj.fields.values()), node, context, on_item, pairs)
        elif obj.kind is Kind.FUTURE:
            # The results of `executor.map`, taken one by one: at the end all work is done.
            self.fixpoint(state, lambda now: on_item(now, NOTHING))
            state.pending -= {loc}
        else:
            self._iterate_container(state, loc, on_item)

    def _iterate_container(self, state: State, loc: Loc, on_item: OnItem) -> None:
        def once(now: State) -> None:
            # The container may grow while it is iterated: its items are looked up at every pass.
            on_item(now, _items(now.heap[loc]))

        jobs = state.pending & set(state.refs(_items(state.heap[loc])))
        if jobs:
            # A loop that awaits the job of its item has, at its end, awaited them all.
            tried = state.copy()
            once(tried)
            jobs -= tried.pending
        self.fixpoint(state, once)
        state.pending -= jobs

    def _iterate_stream(
        self, state: State, loc: Loc, node: cst.CSTNode, context: Context, on_item: OnItem
    ) -> None:
        site = Site(context.unit, node)
        element = state.heap[loc].code

        def once(now: State) -> None:
            self.advance(now, loc, site)
            on_item(now, fresh_item(element, loc, site))

        self.fixpoint(state, once)
        # Asking for the item after the last one ends the last lease.
        if not state.dead:
            self.advance(state, loc, site)

    def _iterate_result(
        self, state: State, obj: Obj, node: cst.CSTNode, context: Context, on_item: OnItem, pairs: bool
    ) -> None:
        if pairs:
            self.iterate(state, obj.fields["0"], node, context, on_item)
        else:
            self.fixpoint(state, lambda now: on_item(now, NOTHING))

    # Lazy iterators: `inputs` are what they iterate

    def _lazy_same(
        self,
        state: State,
        inputs: list[Value],
        node: cst.CSTNode,
        context: Context,
        on_item: OnItem,
        pairs: bool,
    ) -> None:
        if inputs:
            self.iterate(state, inputs[0], node, context, on_item, pairs)

    _lazy_reversed = _lazy_same

    def _lazy_enumerate(
        self,
        state: State,
        inputs: list[Value],
        node: cst.CSTNode,
        context: Context,
        on_item: OnItem,
        pairs: bool,
    ) -> None:
        self.iterate(state, inputs[0], node, context, lambda now, item: on_item(now, tuple_of(NOTHING, item)))

    def _lazy_chain(
        self,
        state: State,
        inputs: list[Value],
        node: cst.CSTNode,
        context: Context,
        on_item: OnItem,
        pairs: bool,
    ) -> None:
        for value in inputs:
            self.iterate(state, value, node, context, on_item, pairs)

    def _lazy_flatten(
        self,
        state: State,
        inputs: list[Value],
        node: cst.CSTNode,
        context: Context,
        on_item: OnItem,
        pairs: bool,
    ) -> None:
        self.iterate(
            state,
            inputs[0],
            node,
            context,
            lambda now, inner: self.iterate(now, inner, node, context, on_item, pairs),
        )

    def _lazy_zip(
        self,
        state: State,
        inputs: list[Value],
        node: cst.CSTNode,
        context: Context,
        on_item: OnItem,
        pairs: bool,
    ) -> None:
        """Each step takes one item of every input in turn: an input that shares a stream ends earlier leases."""
        slots = [f"%zip{self.number(('zip', node, place))}" for place in range(len(inputs))]

        kept = Kept(Site(context.unit, node), Holder.TEED, iterated(node), iterated(node))

        def on_first(now: State, item: Value) -> None:
            names = now.frames[context.frame]
            names[slots[0]] = self.keep(item, kept)
            for slot, value in zip(slots[1:], inputs[1:], strict=True):
                taken = self.next_item(now, value, node, context)
                now.frames[context.frame][slot] = self.keep(taken, kept)
            names = now.frames[context.frame]
            on_item(now, tuple_of(*(names.pop(slot, NOTHING) for slot in slots)))

        if inputs:
            self.iterate(state, inputs[0], node, context, on_first)
            # The input that ends may be a later one: it was asked for an item that it did not have.
            ended = state.copy()
            for value in inputs[1:]:
                self.advance_all(ended, value, kept.site)
            state.join(ended)

    def _lazy_map(
        self,
        state: State,
        inputs: list[Value],
        node: cst.CSTNode,
        context: Context,
        on_item: OnItem,
        pairs: bool,
    ) -> None:
        def apply(now: State, item: Value) -> None:
            on_item(now, self.call(inputs[0], [Argument(item, node)], node, now, context))

        if len(inputs) > 1:
            self.iterate(state, inputs[1], node, context, apply, pairs=False)

    def _lazy_starmap(
        self,
        state: State,
        inputs: list[Value],
        node: cst.CSTNode,
        context: Context,
        on_item: OnItem,
        pairs: bool,
    ) -> None:
        def apply(now: State, item: Value) -> None:
            spread = [Argument(part, node) for atom in item if isinstance(atom, Tuple) for part in atom.items]
            on_item(now, self.call(inputs[0], spread, node, now, context))

        if len(inputs) > 1:
            self.iterate(state, inputs[1], node, context, apply, pairs=False)

    def _lazy_filter(
        self,
        state: State,
        inputs: list[Value],
        node: cst.CSTNode,
        context: Context,
        on_item: OnItem,
        pairs: bool,
    ) -> None:
        def test(now: State, item: Value) -> None:
            self.call(inputs[0], [Argument(item, node)], node, now, context)
            on_item(now, item)

        if len(inputs) > 1:
            self.iterate(state, inputs[1], node, context, test, pairs)

    def _lazy_groupby(
        self,
        state: State,
        inputs: list[Value],
        node: cst.CSTNode,
        context: Context,
        on_item: OnItem,
        pairs: bool,
    ) -> None:
        """Groups share the stream with `groupby` itself: iterating one moves the stream on."""
        self.fixpoint(state, lambda now: on_item(now, tuple_of(TEXT, inputs[0])))
        self.advance_all(state, inputs[0], Site(context.unit, node))

    def _lazy_items(
        self,
        state: State,
        inputs: list[Value],
        node: cst.CSTNode,
        context: Context,
        on_item: OnItem,
        pairs: bool,
    ) -> None:
        def once(now: State) -> None:
            for _, obj in now.objects(inputs[0]):
                on_item(now, tuple_of(obj.keys, obj.contents))

        self.fixpoint(state, once)

    def _lazy_values(
        self,
        state: State,
        inputs: list[Value],
        node: cst.CSTNode,
        context: Context,
        on_item: OnItem,
        pairs: bool,
    ) -> None:
        def once(now: State) -> None:
            for _, obj in now.objects(inputs[0]):
                on_item(now, obj.contents)

        self.fixpoint(state, once)

    def _lazy_keys(
        self,
        state: State,
        inputs: list[Value],
        node: cst.CSTNode,
        context: Context,
        on_item: OnItem,
        pairs: bool,
    ) -> None:
        self.fixpoint(state, lambda now: on_item(now, TEXT))

    def run_generator(
        self, state: State, loc: Loc, node: cst.CSTNode, context: Context, on_item: OnItem
    ) -> None:
        """Run a suspended frame to its end; its `yield` runs the consumer."""
        obj = state.heap[loc]
        code, made_in = obj.code  # type: ignore[misc]
        if context.runs(code) or context.depth() > MAX_DEPTH:
            return
        if isinstance(code, cst.GeneratorExp):
            self._run_generator_expression(state, code, obj.fields["source"], made_in, on_item)
            return
        if made_in.frame not in state.frames:
            return
        inner = replace(
            made_in, caller=context, call=node, on_yield=on_item, breaks=[], continues=[], returns=[]
        )
        self.execute(code.body.body, state, inner)
        for way in inner.returns:
            state.join(way.state)
        # An exhausted generator yields nothing more, and keeps nothing.
        state.frames.pop(made_in.frame, None)

    def _run_generator_expression(
        self, state: State, code: cst.GeneratorExp, source: Value, made_in: Context, on_item: OnItem
    ) -> None:
        if made_in.frame not in state.frames:
            return
        self.comprehend(
            code.for_in,
            source,
            state,
            made_in,
            lambda now, inner: on_item(now, self.evaluate(code.elt, now, inner)),
        )

    def next_item(self, state: State, value: Value, node: cst.CSTNode, context: Context) -> Value:
        """What `next(value)` gives: the first item of any step, the states after it joined."""
        slot = f"%next{self.number(('next', node))}"
        taken: list[State] = []

        def take(now: State, item: Value) -> None:
            now.frames[context.frame][slot] = item
            taken.append(now.copy())
            now.dead = True

        self.iterate(state, value, node, context, take)
        for left in taken:
            state.join(left)
        return state.frames[context.frame].pop(slot, NOTHING)


def fresh_item(element: object, stream: Loc, site: Site) -> Value:
    """One item of a stream, just borrowed."""
    loan = frozenset({Loan(stream, site)})
    kinds = {"tensor": loan, "text": TEXT}
    return tuple_of(*(kinds.get(part, NOTHING) for part in element))  # type: ignore[attr-defined]


def _items(obj: Obj) -> Value:
    return obj.keys if obj.kind is Kind.DICT else obj.contents


def _direct_items(value: Value) -> Value:
    """The items of what is iterated without the heap: rows of a tensor, a tuple's items, characters."""
    found: set[object] = set()
    for atom in value:
        if isinstance(atom, (Loan, Text)):
            found.add(atom)
        elif isinstance(atom, Tuple):
            found.update(*atom.items)
    return frozenset(found)  # type: ignore[arg-type]
