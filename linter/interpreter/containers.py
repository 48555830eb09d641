"""Containers: what their methods put in and hand out."""

from __future__ import annotations

from abc import ABC
from collections.abc import Sequence
from dataclasses import replace

import libcst as cst
from loaderlint.linter.interpreter.core import Core
from loaderlint.linter.interpreter.events import Holder
from loaderlint.linter.interpreter.frames import Argument, Context
from loaderlint.linter.interpreter.heap import CONTAINER_KINDS, LAST_SLOT, Kind, Obj
from loaderlint.linter.interpreter.state import State
from loaderlint.linter.interpreter.values import (
    NOTHING,
    TEXT,
    Kept,
    Loc,
    Ref,
    Tuple,
    Value,
    copied_of,
    is_text,
    ref,
    tuple_of,
)
from loaderlint.linter.reading.nodes import receiver_node

_ADD = {"append", "appendleft", "add", "insert"}
_EXTEND = {"extend", "extendleft", "update"}
_TAKE = {"pop", "popleft", "get", "setdefault", "__getitem__"}
# On a receiver that nothing is known of, only these names mean a list for sure.
LIST_METHODS = {"append", "appendleft", "extend", "insert"}
CONTAINER_METHODS = LIST_METHODS | {"add", "setdefault", "update"}
# How something is given to an `ExitStack`, which calls it when it is left.
_CALLBACKS = {"callback", "push", "push_async_callback", "enter_context", "push_async_exit"}
# The field of a dict that holds what makes the value of a missing key.
FACTORY = "%factory"
_HOLDERS = {Kind.LIST: Holder.LIST, Kind.SET: Holder.LIST, Kind.DICT: Holder.DICT, Kind.OBJECT: Holder.LIST}


class Containers(Core, ABC):
    """The methods of lists, dicts, sets and deques."""

    def container_method(
        self,
        loc: Loc,
        name: str,
        arguments: Sequence[Argument],
        node: cst.CSTNode,
        state: State,
        context: Context,
    ) -> Value:
        """Call method `name` of the container at `loc`."""
        if name in _TAKE:
            self.look(state, ref(loc), node, context)
        obj = state.heap[loc]
        holder = receiver_node(node)
        if name in _ADD and arguments:
            item = arguments[-1]
            kept = self._kept(obj.kind, node, holder, item.node, context)
            last = name == "append" and obj.kind is Kind.LIST
            self.put(loc, item.value, state, kept, slot=LAST_SLOT if last else None)
            return NOTHING
        if name == "__setitem__" and len(arguments) == 2:
            container = Argument(frozenset({Ref(loc)}), holder)  # type: ignore[arg-type]
            return self.put_into([container, *arguments], node, state, context)
        if obj.operation == "callbacks" and name in _CALLBACKS:
            kept = self.kept_at(node, context, Holder.CAPTURED, node, node)
            self.put(loc, tuple_of(*(item.value for item in arguments)), state, kept)
            return NOTHING
        if name in _EXTEND:
            for item in arguments:
                if item.keyword:
                    kept = self._kept(obj.kind, node, holder, item.node, context)
                    self.put(loc, item.value, state, kept, TEXT)
                else:
                    self.extend(loc, item.value, state, context, node, holder, item.node)
            return NOTHING
        if name in _TAKE:
            return self._take(loc, name, arguments, node, holder, state, context)
        if name == "clear":
            # Only the newest object of a site is a single one that is empty afterwards.
            if loc.recent:
                state.update(loc, items=NOTHING, keys=NOTHING, slots={})
            return NOTHING
        if name in ("sort", "reverse", "rotate"):
            state.heap[loc] = obj.settled({LAST_SLOT})
            return NOTHING
        if name == "copy":
            return self.new(state, node, context, Obj(obj.kind, obj.items, obj.keys, slots=obj.slots))
        if name == "popitem":
            return tuple_of(obj.keys, obj.contents)
        if name in ("items", "keys", "values"):
            view = Obj(Kind.LAZY, operation=name, fields={"0": frozenset({Ref(loc)})})
            return self.new(state, node, context, view)
        return NOTHING

    def _take(
        self,
        loc: Loc,
        name: str,
        arguments: Sequence[Argument],
        node: cst.CSTNode,
        holder: cst.CSTNode,
        state: State,
        context: Context,
    ) -> Value:
        default = arguments[1].value if len(arguments) > 1 else NOTHING
        if name == "setdefault" and len(arguments) > 1:
            kept = self._kept(state.heap[loc].kind, node, holder, arguments[1].node, context)
            self.put(loc, default, state, kept, arguments[0].value)
        obj = state.heap[loc]
        slot = self.slot_of(arguments[0].node, state, context) if arguments else None
        if name == "pop" and not arguments and obj.kind is Kind.LIST:
            slot = LAST_SLOT
        if name == "pop" and loc.recent:
            state.heap[loc] = obj.without(slot)
        return obj.at(slot) | obj.fields.get("[]", NOTHING) | default

    def missing(self, loc: Loc, state: State, context: Context) -> None:
        """A key is asked for that may not be there: `defaultdict(list)` puts a new list under it."""
        obj = state.heap[loc]
        if obj.fields.get(FACTORY):
            made = self.call(obj.fields[FACTORY], (), obj.code, state, context)  # type: ignore[arg-type]
            state.update(loc, items=state.heap[loc].items | made)

    def put_into(
        self, arguments: Sequence[Argument], node: cst.CSTNode, state: State, context: Context
    ) -> Value:
        """`heappush(container, item)`, `setitem(container, key, item)`; some of these hand another item out."""
        holder, item = arguments[0], arguments[-1]
        keys = arguments[1].value if len(arguments) > 2 else NOTHING
        for loc, obj in state.objects(holder.value):
            if obj.kind in CONTAINER_KINDS:
                self.put(
                    loc, item.value, state, self._kept(obj.kind, node, holder.node, item.node, context), keys
                )
        return self.taken_from(holder.value, state)

    def taken_from(self, holder: Value, state: State) -> Value:
        """Any item of a container."""
        containers = (obj for _, obj in state.objects(holder) if obj.kind in CONTAINER_KINDS)
        return frozenset().union(*(obj.contents for obj in containers))

    def _kept(
        self, kind: Kind, node: cst.CSTNode, holder: cst.CSTNode, tensor: cst.CSTNode, context: Context
    ) -> Kept:
        return self.kept_at(node, context, _HOLDERS[kind], holder, tensor)

    def put(
        self,
        loc: Loc,
        value: Value,
        state: State,
        kept: Kept,
        keys: Value = NOTHING,
        slot: str | None = None,
    ) -> None:
        """Add one item to a container, in a slot if it is known: what it lends is kept by `kept` from here."""
        self.keep_inside(state, value, kept)
        self.put_aside(state, loc, kept)
        # What was the last item of a list is so no more.
        obj = state.heap[loc].settled({LAST_SLOT})
        text = TEXT if is_text(keys) else NOTHING
        state.heap[loc] = replace(
            obj.with_item(self.keep(value, kept), slot, single=loc.recent), keys=obj.keys | text
        )
        state.copied |= copied_of(value)

    def materialized(
        self, value: Value, node: cst.CSTNode, source: cst.CSTNode, state: State, context: Context
    ) -> Value:
        """The list of all items of a stream, which `node` collects."""
        made = self.new(state, node, context, Obj(Kind.LIST), "materialized")
        (loc,) = state.refs(made)
        self.extend(loc, value, state, context, node, node, source)
        return made

    def extend(
        self,
        loc: Loc,
        source: Value,
        state: State,
        context: Context,
        node: cst.CSTNode,
        holder: cst.CSTNode,
        tensor: cst.CSTNode,
    ) -> None:
        """Add all items of an iterable (for a dict: the pairs) to a container."""
        obj = state.heap[loc]
        kind = Holder.MATERIALIZED if self.is_stream(state, source) else _HOLDERS[obj.kind]
        kept = self.kept_at(node, context, kind, holder, tensor)
        mappings = [inner for _, inner in state.objects(source) if inner.kind is Kind.DICT]
        if obj.kind is Kind.DICT and mappings:
            for inner in mappings:
                self.put(loc, inner.contents, state, kept, inner.keys)
            return

        def add(now: State, item: Value) -> None:
            pairs = [atom for atom in item if isinstance(atom, Tuple) and len(atom.items) == 2]
            if obj.kind is not Kind.DICT:
                self.put(loc, item, now, kept)
            for pair in pairs if obj.kind is Kind.DICT else ():
                self.put(loc, pair.items[1], now, kept, pair.items[0])

        self.iterate(state, source, node, context, add, pairs=obj.kind is Kind.DICT)
