"""Displays and comprehensions: expressions that make containers, or generators."""

from __future__ import annotations

from abc import ABC
from collections.abc import Callable
from dataclasses import replace

import libcst as cst
from loaderlint.linter.interpreter.core import Core
from loaderlint.linter.interpreter.events import Holder
from loaderlint.linter.interpreter.frames import Assignment, Context
from loaderlint.linter.interpreter.heap import Kind, Obj
from loaderlint.linter.interpreter.state import State
from loaderlint.linter.interpreter.values import NOTHING, Value, tuple_of
from loaderlint.linter.reading.nodes import literal_text


class Displays(Core, ABC):
    """Evaluates what makes a container of its parts."""

    def _eval_Tuple(self, node: cst.Tuple, state: State, context: Context) -> Value:
        if any(type(item) is cst.StarredElement for item in node.elements):
            return self._display(node, state, context)
        return tuple_of(*self.evaluate_all([item.value for item in node.elements], state, context))

    def _eval_List(self, node: cst.List, state: State, context: Context) -> Value:
        return self._display(node, state, context)

    def _eval_Set(self, node: cst.Set, state: State, context: Context) -> Value:
        return self._display(node, state, context)

    def _display(self, node: cst.Tuple | cst.List | cst.Set, state: State, context: Context) -> Value:
        made = self.new(state, node, context, Obj(Kind.LIST))
        (loc,) = state.refs(made)
        for element in node.elements:
            value = self.evaluate(element.value, state, context)
            if isinstance(element, cst.StarredElement):
                self.extend(loc, value, state, context, node, node, element.value)
            else:
                self.put(loc, value, state, self.kept_at(node, context, Holder.LIST, node, element.value))
        return made

    def _eval_Dict(self, node: cst.Dict, state: State, context: Context) -> Value:
        made = self.new(state, node, context, Obj(Kind.DICT))
        (loc,) = state.refs(made)
        for element in node.elements:
            value = self.evaluate(element.value, state, context)
            if isinstance(element, cst.StarredDictElement):
                self.extend(loc, value, state, context, node, node, element.value)
            else:
                key = self.evaluate(element.key, state, context)
                if literal_text(element.key) in self.contracts.loader_attributes:
                    # Attributes to be set on a parameter, by whoever gets the dict.
                    self.run_as_loader(value, element.key, state, context)
                kept = self.kept_at(node, context, Holder.DICT, node, element.value)
                self.put(loc, value, state, kept, key)
        return made

    def _eval_ListComp(self, node: cst.ListComp, state: State, context: Context) -> Value:
        return self._comprehension(node, node.elt, None, Kind.LIST, state, context)

    def _eval_SetComp(self, node: cst.SetComp, state: State, context: Context) -> Value:
        return self._comprehension(node, node.elt, None, Kind.SET, state, context)

    def _eval_DictComp(self, node: cst.DictComp, state: State, context: Context) -> Value:
        return self._comprehension(node, node.value, node.key, Kind.DICT, state, context)

    def _comprehension(
        self,
        node: cst.BaseComp,
        element: cst.BaseExpression,
        key: cst.BaseExpression | None,
        kind: Kind,
        state: State,
        context: Context,
    ) -> Value:
        source = self.evaluate(node.for_in.iter, state, context)
        made = self.new(state, node, context, Obj(kind))
        (loc,) = state.refs(made)
        holder = {Kind.DICT: Holder.DICT}.get(kind, Holder.LIST)
        holder = Holder.MATERIALIZED if self.is_stream(state, source) else holder
        kept = self.kept_at(node, context, holder, node, element)

        def collect(now: State, inner: Context) -> None:
            keys = NOTHING if key is None else self.evaluate(key, now, inner)
            self.put(loc, self.evaluate(element, now, inner), now, kept, keys)

        self.comprehend(node.for_in, source, state, context, collect)
        return made

    def comprehend(
        self,
        clause: cst.CompFor,
        source: Value,
        state: State,
        context: Context,
        emit: Callable[[State, Context], None],
    ) -> None:
        """Run the `for ... in ... if ...` clauses in a scope of their own, `emit` for each combination."""
        frame = self.number(("comprehension", clause, context.frame))
        self.parents[frame] = context.frame
        state.frames[frame] = {}
        around = context.frame if context.around is None else context.around
        inner = replace(context, frame=frame, around=around, breaks=[], continues=[], returns=[])
        self._clause(clause, source, state, inner, emit)
        state.frames.pop(frame, None)

    def _clause(
        self,
        clause: cst.CompFor,
        source: Value,
        state: State,
        inner: Context,
        emit: Callable[[State, Context], None],
    ) -> None:
        def on_item(now: State, item: Value) -> None:
            self.assign(clause.target, item, now, inner, Assignment(clause.target, clause.target))
            for condition in clause.ifs:
                self.evaluate(condition.test, now, inner)
            before = now.copied
            following = clause.inner_for_in
            if following is None:
                emit(now, inner)
            else:
                self._clause(following, self.evaluate(following.iter, now, inner), now, inner, emit)
            if clause.ifs:
                # An item that is filtered out is not copied.
                now.copied &= before

        pairs = isinstance(clause.target, (cst.Tuple, cst.List)) and len(clause.target.elements) >= 2
        self.iterate(state, source, clause, inner, on_item, pairs)

    def _eval_GeneratorExp(self, node: cst.GeneratorExp, state: State, context: Context) -> Value:
        # Python evaluates the first iterable when the generator expression is made, the rest when it runs.
        source = self.evaluate(node.for_in.iter, state, context)
        return self.new(
            state, node, context, Obj(Kind.GENERATOR, fields={"source": source}, code=(node, context))
        )
