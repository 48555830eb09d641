"""Iteration: what yields items, and which streams each step moves on."""

from __future__ import annotations

from abc import ABC
from dataclasses import replace
from functools import partial

import libcst as cst
from loaderlint.linter.interpreter.core import MAX_DEPTH
from loaderlint.linter.interpreter.events import Site
from loaderlint.linter.interpreter.frames import Consumer, Context, OnItem
from loaderlint.linter.interpreter.heap import Kind, Obj
from loaderlint.linter.interpreter.lazy import LazyIterators
from loaderlint.linter.interpreter.state import State
from loaderlint.linter.interpreter.values import (
    NOTHING,
    Copy,
    Loan,
    Loc,
    Ref,
    Text,
    Tuple,
    Value,
    fresh_item,
)


class Iteration(LazyIterators, ABC):
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
        """Iterate `value` to its end: `on_item` for each item, to a fixpoint."""
        self.feed(state, value, Consumer(node, context, on_item, pairs))

    def feed(self, state: State, value: Value, to: Consumer) -> None:
        """Iterate `value` to its end for a consumer. Alternatives are run on copies and joined."""
        self.look(state, value, to.node, to.context)
        choices = sorted((atom for atom in value if isinstance(atom, Ref)), key=lambda atom: atom.loc)
        items = _direct_items(value)
        ways = [partial(self._iterate_object, loc=atom.loc, to=to) for atom in choices]
        if items or not choices:
            ways.append(partial(self.fixpoint, once=lambda now: to.on_item(now, items)))
        others = [state.copy() for _ in ways[1:]]
        for way, end in zip(ways, (state, *others), strict=True):
            way(end)
        for end in others:
            state.join(end)

    def _iterate_object(self, state: State, loc: Loc, to: Consumer) -> None:
        obj = state.heap.get(loc)
        if obj is None:
            return
        if obj.kind is Kind.STREAM:
            self._iterate_stream(state, loc, to)
        elif obj.kind is Kind.MAYBE_STREAM and to.pairs:
            self.reopen(state, obj.fields["0"])
            self.feed(state, obj.fields["0"], to.of(to.on_item))
        elif obj.kind is Kind.MAYBE_STREAM:
            self.fixpoint(state, lambda now: to.on_item(now, NOTHING))
        elif obj.kind is Kind.GENERATOR:
            self._run_generator(state, loc, to)
        elif obj.kind is Kind.LAZY:
            self.iterate_lazy(state, obj, to)
        elif obj.kind is Kind.FUTURE:
            # The results of `executor.map`, taken one by one: at the end all work is done.
            self.fixpoint(state, lambda now: to.on_item(now, NOTHING))
            state.pending -= {loc}
        elif obj.kind is not Kind.OBJECT or not self.iterate_object(state, loc, to):
            self._iterate_container(state, loc, to.on_item)

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

    def _iterate_stream(self, state: State, loc: Loc, to: Consumer) -> None:
        site = Site(to.context.unit, to.node)
        element, lender = state.heap[loc].code, state.heap[loc].lender or loc

        self.ask(state, loc, to.node, to.context)

        def once(now: State) -> None:
            # Whoever took the rest in the step before, it has given an item: it was not over.
            now.ended.pop(loc, None)
            self.advance(now, loc, site)
            now.copied -= {lender}
            self.loops.append((lender, site))
            to.on_item(now, fresh_item(element, lender, site))
            self.loops.pop()
            self.look_at_copies(now, lender, site)

        self.fixpoint(state, once)
        # Asking for the item after the last one ends the last lease.
        if not state.dead:
            self.advance(state, loc, site)
            self.end(state, loc, to.node, to.context)

    def _run_generator(self, state: State, loc: Loc, to: Consumer) -> None:
        """Run a suspended frame to its end; its `yield` runs the consumer."""
        obj = state.heap[loc]
        code, made_in = obj.code  # type: ignore[misc]
        if to.context.runs(code) or to.context.depth() > MAX_DEPTH:
            self.end(state, loc, to.node, to.context)
            return
        if isinstance(code, cst.GeneratorExp):
            self._run_generator_expression(state, code, obj.fields["source"], made_in, to.on_item)
            return
        if made_in.frame not in state.frames:
            # Whoever has run it before: it is at its end now.
            self.end(state, loc, to.node, to.context)
            return
        inner = replace(
            made_in,
            caller=to.context,
            call=to.node,
            on_yield=to.on_item,
            breaks=[],
            continues=[],
            returns=[],
        )
        state.ended.pop(loc, None)
        self.running.append((loc, inner))
        self.execute(code.body.body, state, inner)
        self.running.pop()
        for way in inner.returns:
            state.join(way.state)
        self.end(state, loc, to.node, to.context)
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

        # There may be none, as who asks for one knows.
        self.reopen(state, value)
        self.iterate(state, value, node, context, take)
        for left in taken:
            state.join(left)
        return state.frames[context.frame].pop(slot, NOTHING)


def _items(obj: Obj) -> Value:
    return obj.keys if obj.kind is Kind.DICT else obj.contents


def _direct_items(value: Value) -> Value:
    """The items of what is iterated without the heap: rows of a tensor, a tuple's items, characters."""
    found: set[object] = set()
    for atom in value:
        if isinstance(atom, (Loan, Text, Copy)):
            found.add(atom)
        elif isinstance(atom, Tuple):
            found.update(*atom.items)
    return frozenset(found)  # type: ignore[arg-type]
