"""Objects of the project's classes where the language calls them: iteration, `with`, subscripts, properties."""

from __future__ import annotations

from abc import ABC
from collections.abc import Sequence

import libcst as cst
from loaderlint.linter.interpreter.core import Core
from loaderlint.linter.interpreter.events import Site
from loaderlint.linter.interpreter.frames import Argument, Consumer, Context
from loaderlint.linter.interpreter.heap import Kind
from loaderlint.linter.interpreter.state import State
from loaderlint.linter.interpreter.values import NOTHING, Loc, Value, ref
from loaderlint.linter.reading.index import Class, Function

_ITERATORS = ("__iter__", "__aiter__")
_STEPS = ("__next__", "__anext__")
_ENTRIES = ("__enter__", "__aenter__")
_EXITS = ("__exit__", "__aexit__")
# What makes a `with` of a generator.
_MANAGERS = frozenset({"contextmanager", "asynccontextmanager"})


class Protocols(Core, ABC):
    """Runs special methods and accessors of classes that are known."""

    def special(
        self,
        loc: Loc,
        name: str,
        arguments: Sequence[Argument],
        node: cst.CSTNode,
        state: State,
        context: Context,
    ) -> Value | None:
        """The result of a method that the language calls on an object; None if its class has none."""
        obj = state.heap[loc]
        function = self.project.method(obj.code, name) if isinstance(obj.code, Class) else None
        if function is None or obj.kind is not Kind.OBJECT:
            return None
        given = [Argument(ref(loc), node), *arguments]  # type: ignore[arg-type]
        if not self.worth_running(function, given, state):
            return NOTHING
        return self.call(self.project_function(function, state), given, node, state, context)

    def iterate_object(self, state: State, loc: Loc, to: Consumer) -> bool:
        """Iterate an object as its class says; False if the class does not say how."""
        for name in _ITERATORS:
            made = self.special(loc, name, (), to.node, state, to.context)
            if made is not None and loc not in state.refs(made):
                self.feed(state, made, to.of(to.on_item, to.pairs))
                return True
        return self._iterate_by_steps(state, loc, to)

    def iterates(self, loc: Loc, state: State) -> bool:
        """Whether an object hands out what is lent when it is iterated."""
        known = any(self._has_method(loc, name, state) for name in (*_ITERATORS, *_STEPS))
        return known and state.holds_loans(ref(loc), through=True)

    def _iterate_by_steps(self, state: State, loc: Loc, to: Consumer) -> bool:
        name = next((name for name in _STEPS if self._has_method(loc, name, state)), None)
        if name is None:
            return False

        def once(now: State) -> None:
            to.on_item(now, self.special(loc, name, (), to.node, now, to.context) or NOTHING)

        self.fixpoint(state, once)
        # The step that finds nothing has asked for an item, too.
        self.advance_all(state, ref(loc), Site(to.context.unit, to.node))
        return True

    def _has_method(self, loc: Loc, name: str, state: State) -> bool:
        cls = state.heap[loc].code
        return isinstance(cls, Class) and self.project.method(cls, name) is not None

    def entered(self, value: Value, node: cst.CSTNode, state: State, context: Context) -> Value:
        """What `with` over `value` binds."""
        found = value
        for loc, obj in state.objects(value):
            if obj.kind is Kind.GENERATOR and _manages(obj.code[0]):  # type: ignore[index]
                found = found - ref(loc) | self.next_item(state, ref(loc), node, context)
            for name in _ENTRIES:
                result = self.special(loc, name, (), node, state, context)
                # Not run for an object that holds nothing lent: most often it returns the object itself.
                if result:
                    found = found - ref(loc) | result
        return found

    def left(self, value: Value, node: cst.CSTNode, state: State, context: Context) -> None:
        """A `with` over `value` ends: what its class does then."""
        nothing = [Argument(NOTHING, node)] * 3  # type: ignore[arg-type]
        for loc, _ in state.objects(value):
            for name in _EXITS:
                self.special(loc, name, nothing, node, state, context)

    def accessor(self, loc: Loc, name: str, state: State) -> Function | None:
        """The property of that name (its setter: `name.setter`) that the class of the object at `loc` has."""
        cls = state.heap[loc].code
        known = isinstance(cls, Class) and name.partition(".")[0] in self.project.properties(cls)
        return self.project.method(cls, name) if known else None  # type: ignore[arg-type]


def _manages(code: object) -> bool:
    """Whether a generator function is decorated as a context manager."""
    for item in code.decorators if isinstance(code, cst.FunctionDef) else ():
        name = item.decorator.attr if isinstance(item.decorator, cst.Attribute) else item.decorator
        if isinstance(name, cst.Name) and name.value in _MANAGERS:
            return True
    return False
