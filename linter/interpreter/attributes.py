"""Objects behind attributes and global variables, as the statements that set them say."""

from __future__ import annotations

from abc import ABC

from loaderlint.linter.interpreter.core import Core
from loaderlint.linter.interpreter.heap import Kind, Obj
from loaderlint.linter.interpreter.state import State
from loaderlint.linter.interpreter.values import NOTHING, Instance, Loc, Value, ref
from loaderlint.linter.reading.index import Class
from loaderlint.linter.reading.makers import Maker


class Attributes(Core, ABC):
    """Makes objects up where nothing in the analysed calls has made them."""

    def attribute_value(self, loc: Loc, name: str, state: State) -> Value:
        """What the class of the object at `loc` sets an attribute to; nothing where it does not say."""
        cls = state.heap[loc].code
        made = self.project.attribute(cls, name) if isinstance(cls, Class) else None
        if made is None or self.project.method(cls, name) is not None:  # type: ignore[arg-type]
            return NOTHING
        value = self.made_by(made, Loc(self.number((loc, name))), state)
        if value:
            state.update(loc, fields={**state.heap[loc].fields, name: value})
        return value

    def made_by(self, made: Maker, loc: Loc, state: State) -> Value:
        """A container, or an object of a class that is known; nothing for anything else."""
        kind = self.contracts.classes.get(made.name, "")
        if made.name in self.contracts.owners:
            return frozenset({Instance(made.name, loc, made.flags)})
        if kind:
            state.heap[loc] = Obj(Kind[kind.upper()])
            return ref(loc)
        cls = self.project.find(made.name)
        if not isinstance(cls, Class):
            return NOTHING
        state.heap[loc] = Obj(Kind.OBJECT, code=cls)
        return ref(loc)

    def member_object(self, loc: Loc, name: str, state: State) -> Value:
        """The object behind an attribute (or behind all slots, "[]") of the object at `loc`, made up if need be."""
        known = state.heap[loc].fields.get(name) or self.attribute_value(loc, name, state)
        if known:
            return known
        child = Loc(self.number((loc, name)))
        state.heap[child] = Obj(Kind.DICT if name == "__dict__" else Kind.OBJECT)
        state.update(loc, fields={**state.heap[loc].fields, name: ref(child)})
        return ref(child)
