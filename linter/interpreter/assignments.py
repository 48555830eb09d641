"""Assignments: where values are put."""

from __future__ import annotations

from abc import ABC
from dataclasses import replace

import libcst as cst
from loaderlint.linter.interpreter.core import Core
from loaderlint.linter.interpreter.events import Holder
from loaderlint.linter.interpreter.frames import Argument, Assignment, Context
from loaderlint.linter.interpreter.heap import CONTAINER_KINDS, Kind, Obj
from loaderlint.linter.interpreter.state import State
from loaderlint.linter.interpreter.values import (
    NOTHING,
    TEXT,
    Copy,
    Loan,
    Ref,
    Text,
    Tuple,
    Value,
    copied_of,
    is_text,
    loans,
)


class Assignments(Core, ABC):
    """Binds names, unpacks, and stores into attributes and slots."""

    def assign(
        self, target: cst.CSTNode, value: Value, state: State, context: Context, site: Assignment
    ) -> None:
        """Bind a name, unpack, or store into an attribute or a slot."""
        if isinstance(target, cst.Name):
            self._assign_name(target, value, state, context, site)
        elif isinstance(target, (cst.Tuple, cst.List)):
            self._unpack(target, value, state, context, site)
        elif isinstance(target, cst.Attribute):
            self._assign_attribute(target, value, state, context, site)
        elif isinstance(target, cst.Subscript):
            self._assign_slot(target, value, state, context, site)

    def _assign_name(
        self, target: cst.Name, value: Value, state: State, context: Context, site: Assignment
    ) -> None:
        name = target.value
        kind = Holder.OBJECT if name in context.globals else Holder.VARIABLE
        held = self.keep(value, self.kept_at(site.node, context, kind, target, site.value))
        known = state.frames[context.frame].get(name, NOTHING)
        if isinstance(site.node, (cst.Assign, cst.AnnAssign)) and known & value:
            # `head = head if late else other`: what the name has kept before, it keeps from there on.
            held = (known & value) | self.keep(
                value - known, self.kept_at(site.node, context, kind, target, site.value)
            )
        if name in context.globals:
            loc = self.global_object(state, context.index)
            fields = {**state.heap[loc].fields, name: held}
            state.update(loc, fields=fields)
            return
        frame: int | None = context.frame
        if name in context.nonlocals:
            frame = self.parents[context.frame]
            while frame is not None and name not in state.frames.get(frame, {}):
                frame = self.parents[frame]
        frame = context.frame if frame is None else frame
        self.rebound(frame, name, state)
        state.frames[frame][name] = held

    def _unpack(
        self, target: cst.Tuple | cst.List, value: Value, state: State, context: Context, site: Assignment
    ) -> None:
        if self.is_stream(state, value):
            value = self.materialized(value, site.node, site.value, state, context)
        count = len(target.elements)
        written = [element.value for element in target.elements]
        if (
            site.value is not target
            and isinstance(site.value, cst.Tuple)
            and len(site.value.elements) == count
        ):
            written = [element.value for element in site.value.elements]
        starred = next(
            (i for i, item in enumerate(target.elements) if isinstance(item, cst.StarredElement)), count
        )
        for place, element in enumerate(target.elements):
            part = self.component(value, place, starred, count, state)
            if place == starred:
                kept = self.kept_at(site.node, context, Holder.LIST, element.value, site.value)
                part = self.new(state, element, context, Obj(Kind.LIST, self.keep(part, kept)))
            # The part as it is written: the target of a loop, an item of a display, else the whole value.
            apart = site.value is target or isinstance(site.value, cst.Tuple)
            part_site = Assignment(site.node, written[place]) if apart else site
            self.assign(element.value, part, state, context, part_site)

    def component(self, value: Value, place: int, starred: int, count: int, state: State) -> Value:
        """What an unpacked value has for the target number `place` of `count`; the one at `starred`, if there is one,
        collects what is left.
        """
        found: set[object] = set()
        for atom in value:
            if isinstance(atom, Tuple):
                at = place - count if place > starred else place
                end = len(atom.items) - (count - 1 - place) if place == starred else at + 1 or None
                found.update(*atom.items[at:end])
            elif isinstance(atom, (Loan, Text, Copy)):
                found.add(atom)
            elif isinstance(atom, Ref) and atom.loc in state.heap:
                obj = state.heap[atom.loc]
                found.update(obj.keys if obj.kind is Kind.DICT else obj.contents)
        return frozenset(found)  # type: ignore[arg-type]

    def _assign_attribute(
        self, target: cst.Attribute, value: Value, state: State, context: Context, site: Assignment
    ) -> None:
        state.forget(context.frame, target.attr.value)
        base = self.evaluate(target.value, state, context)
        adopts = self.contracts.attributes.get(target.attr.value) == "adopt"
        if adopts and any(loans(base)):
            return
        self.mark(base, target.attr.value, state, context)
        if not state.refs(base) and state.holds_loans(value):
            base = self.place(target.value, state, context)
        kind = Holder.PARAMETER if adopts else Holder.OBJECT
        held = self.keep(value, self.kept_at(site.node, context, kind, target, site.value))
        self.belong_to_module(base, held, site.node, state, context)
        if target.attr.value in self.contracts.loader_attributes:
            self.run_as_loader(value, target, state, context)
        objects = [(loc, obj) for loc, obj in state.objects(base) if obj.kind is Kind.OBJECT]
        for loc, obj in objects:
            name = target.attr.value
            if self.accessor(loc, f"{name}.setter", state) is not None:
                self.special(loc, f"{name}.setter", [Argument(value, site.value)], site.node, state, context)
                continue
            known = NOTHING if len(objects) == 1 and loc.recent else obj.fields.get(name, NOTHING)
            state.update(loc, fields={**obj.fields, name: known | held})

    def _assign_slot(
        self, target: cst.Subscript, value: Value, state: State, context: Context, site: Assignment
    ) -> None:
        base = self.evaluate(target.value, state, context)
        key = self.index_value(target, state, context)
        if not state.refs(base) and is_text(key) and state.holds_loans(value):
            base = self.place(target.value, state, context)
        stored = False
        for loc, obj in state.objects(base):
            given = [Argument(key, target), Argument(value, site.value)]
            if self.special(loc, "__setitem__", given, site.node, state, context) is not None:
                stored = True
                continue
            kind = Holder.LIST if obj.kind is Kind.LIST else Holder.DICT
            if obj.kind in CONTAINER_KINDS or (obj.kind is Kind.OBJECT and is_text(key)):
                kept = self.kept_at(site.node, context, kind, target.value, site.value)
                self.keep_inside(state, value, kept)
                held = self.keep(value, kept)
                text = TEXT if is_text(key) else NOTHING
                slot = self.subscript_slot(target, state, context)
                single = loc.recent and len(state.refs(base)) == 1
                known = state.heap[loc]
                state.heap[loc] = replace(known.with_item(held, slot, single), keys=known.keys | text)
                self.put_aside(state, loc, kept)
                self.belong_to_module(base, held, site.node, state, context)
                state.copied |= copied_of(value)
                stored = True
        if not stored:
            # A slot of a tensor: the data is copied into it.
            self.read(state, value, site.node, context)
            self.written(base, target.value, value, site.node, context)
