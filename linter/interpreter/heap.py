"""The objects that abstract values refer to."""

from __future__ import annotations

from collections.abc import Callable, Set
from dataclasses import dataclass, field, replace
from enum import Enum, auto

from loaderlint.linter.interpreter.values import NOTHING, Loc, Value

# What the slots of keys that a variable holds begin with, and the slot of a list's last item.
VARIABLE_SLOT = "="
LAST_SLOT = "=last"
# Put before a slot that may hold nothing, so that the key may lie elsewhere.
MAYBE = "?"


class Kind(Enum):
    """What an object is, as far as keeping and handing on tensors goes."""

    LIST = auto()
    DICT = auto()
    SET = auto()
    STREAM = auto()  # a weight stream: every item is a fresh loan
    MAYBE_STREAM = auto()  # what an unknown callee returned for a stream: a stream if it is used as one
    LAZY = auto()  # an iterator over other iterables; `operation` says how, `fields` hold them
    GENERATOR = auto()  # a suspended frame; `code` is the function or generator expression
    FUNCTION = auto()  # a function with its captured frame, in `code`
    FUTURE = auto()  # work handed to someone else; `items` is what it was given
    OBJECT = auto()  # anything with attributes: self, parameters, globals


STREAM_KINDS = frozenset({Kind.STREAM, Kind.MAYBE_STREAM, Kind.LAZY, Kind.GENERATOR})
CONTAINER_KINDS = frozenset({Kind.LIST, Kind.DICT, Kind.SET})


@dataclass(frozen=True, slots=True)
class Obj:
    """One object. Immutable: states share objects, a write replaces.

    `items` are a container's elements (a dict's values), `slots` those under one key or index, `keys` a dict's
    keys, `fields` attributes or a lazy iterator's inputs. `escapes` says that the object outlives the analysed
    call. `lender` is who ends the leases of a stream, where its steps do not: they last until that one is
    closed. `maker` is the object that made a stream, and ends it when it is closed; `measured` is a stream
    whose length is asked for, and which so may be a list.
    """

    kind: Kind
    items: Value = NOTHING
    keys: Value = NOTHING
    fields: dict[str, Value] = field(default_factory=dict)
    slots: dict[str, Value] = field(default_factory=dict)
    operation: str = ""
    code: object = None
    escapes: bool = False
    lender: Loc | None = None
    maker: Loc | None = None
    measured: bool = False

    def mapped(self, change: Callable[[Value], Value]) -> Obj:
        """This object with `change` applied to every value that it holds."""
        items, keys, fields, slots = change(self.items), change(self.keys), self.fields, self.slots
        if fields:
            fields = {name: change(value) for name, value in fields.items()}
        if slots:
            slots = {name: change(value) for name, value in slots.items()}
        if (items, keys, fields, slots) == (self.items, self.keys, self.fields, self.slots):
            return self
        return replace(self, items=items, keys=keys, fields=fields, slots=slots)

    def joined(self, other: Obj) -> Obj:
        """The object that is either of the two."""
        if self is other or self == other:
            return self
        return replace(
            self,
            items=self.items | other.items,
            keys=self.keys | other.keys,
            fields=_either(self.fields, other.fields),
            slots=_either_slots(self.slots, other.slots),
            escapes=self.escapes or other.escapes,
        )

    def values(self) -> list[Value]:
        """Everything that the object holds."""
        return [self.items, self.keys, *self.fields.values(), *self.slots.values()]

    @property
    def contents(self) -> Value:
        """All elements of a container."""
        return self.items.union(*self.slots.values())

    def at(self, slot: str | None) -> Value:
        """The elements that a key or index gives: `slot` if it is a literal or a variable, None for any other."""
        if slot is None:
            return self.contents
        # Nobody knows whether another variable holds the same key.
        others = (
            value
            for key, value in self.slots.items()
            if _slot(key) != slot and VARIABLE_SLOT in (_slot(key)[0], slot[0])
        )
        if slot in self.slots:
            return self.slots[slot].union(*others)
        return self.items.union(self.slots.get(MAYBE + slot, NOTHING), *others)

    def with_item(self, value: Value, slot: str | None, single: bool) -> Obj:
        """The container with one more item; that of a slot takes the place of another one in a `single` container."""
        if slot is None:
            # It may lie under any of the known keys, now.
            return replace(self, items=self.items | value, slots=_either_slots(self.slots, {}))
        if single:
            return replace(self, slots={**self.without(slot).slots, slot: value})
        known = slot if slot in self.slots else MAYBE + slot
        return replace(self, slots={**self.slots, known: self.slots.get(known, NOTHING) | value})

    def without(self, slot: str | None) -> Obj:
        """The container after what is in `slot` was taken out of it."""
        return replace(self, slots={key: value for key, value in self.slots.items() if _slot(key) != slot})

    def settled(self, slots: Set[str]) -> Obj:
        """The container where `slots` name nothing any more: what was in them is there under unknown keys."""
        moved = [value for key, value in self.slots.items() if _slot(key) in slots]
        if not moved:
            return self
        left = {key: value for key, value in self.slots.items() if _slot(key) not in slots}
        return replace(self, items=self.items.union(*moved), slots=left)


def _slot(key: str) -> str:
    return key.removeprefix(MAYBE)


def _either_slots(left: dict[str, Value], right: dict[str, Value]) -> dict[str, Value]:
    """The slots of one of two containers: what only one of them has for sure, is only maybe there."""
    found: dict[str, Value] = {}
    for side, other in ((left, right), (right, left)):
        for key, value in side.items():
            known = key if key in other else MAYBE + _slot(key)
            found[known] = found.get(known, NOTHING) | value
    return found


def _either(left: dict[str, Value], right: dict[str, Value]) -> dict[str, Value]:
    return {name: left.get(name, NOTHING) | right.get(name, NOTHING) for name in {**left, **right}}
