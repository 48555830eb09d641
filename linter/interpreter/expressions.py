"""Expressions: names, attributes, subscripts, operators, conditions, yields."""

from __future__ import annotations

from abc import ABC

import libcst as cst
from loaderlint.linter.interpreter.core import Core, method_for
from loaderlint.linter.interpreter.frames import Argument, Assignment, Context
from loaderlint.linter.interpreter.heap import CONTAINER_KINDS, LAST_SLOT, Kind, Obj
from loaderlint.linter.interpreter.state import State
from loaderlint.linter.interpreter.values import (
    NOTHING,
    TEXT,
    Atom,
    Copy,
    Flag,
    Instance,
    Loan,
    Loc,
    Method,
    Named,
    Ref,
    Text,
    Tuple,
    Value,
    is_text,
    loans,
    tuple_of,
)
from loaderlint.linter.reading.index import FileIndex

# Attribute paths longer than this (`self.a.b.c`) are not followed.
_MAX_PATH = 3


class Expressions(Core, ABC):
    """Evaluates expressions; `evaluate` changes the state by their side effects."""

    def evaluate(self, node: cst.CSTNode, state: State, context: Context) -> Value:
        """The value of `node`; what has no rule of its own holds nothing."""
        if state.dead:
            return NOTHING
        run = method_for(type(self), "_eval_", type(node))
        return run(self, node, state, context) if run is not None else NOTHING

    # Names and attributes

    def _eval_Name(self, node: cst.Name, state: State, context: Context) -> Value:
        name = node.value
        if name in ("None", "True", "False"):
            return NOTHING if name == "None" else frozenset({Flag(name == "True")})
        frame: int | None = context.frame
        while frame is not None:
            names = state.frames.get(frame, {})
            if name in names and not (frame == context.frame and name in context.globals):
                self.touch(state, names[name])
                return names[name]
            frame = self.parents[frame]
        return self._global(name, state, context.index)

    def _global(self, name: str, state: State, index: FileIndex) -> Value:
        shared = state.heap.get(self.global_place(index))
        if shared is not None and name in shared.fields:
            return shared.fields[name]
        if name in index.imports:
            return frozenset({Named(index.imports[name])})
        function = index.functions.get(name)
        if function is not None:
            return self.project_function(function, state)
        if name in index.classes:
            return frozenset({Named(f"{index.module.name}.{name}")})
        made = index.global_maker(name)
        if made is not None:
            value = self.made_by(made, Loc(self.number(("global", index, name))), state)
            if value:
                loc = self.global_object(state, index)
                state.update(loc, fields={**state.heap[loc].fields, name: value})
                return value
        return NOTHING if name in index.globals else frozenset({Named(index.named(name))})

    def global_place(self, index: FileIndex) -> Loc:
        """Where the module's global variables are."""
        return Loc(self.number(("globals", index)))

    def global_object(self, state: State, index: FileIndex) -> Loc:
        """The object whose attributes are a module's global variables."""
        loc = self.global_place(index)
        state.heap.setdefault(loc, Obj(Kind.OBJECT, escapes=True))
        return loc

    def _eval_Attribute(self, node: cst.Attribute, state: State, context: Context) -> Value:
        found = self.member(node, state, context)
        # An attribute of a tensor that is not called is metadata, or a view that a contract names.
        return frozenset(
            atom for atom in found if not (isinstance(atom, Method) and any(map(_is_tensor, atom.receiver)))
        )

    def member(self, node: cst.Attribute, state: State, context: Context) -> Value:
        """An attribute or bound method of a value."""
        name = node.attr.value
        base = self.evaluate(node.value, state, context)
        # A method of several futures is one call: `job.result()` in a loop awaits each of them.
        jobs = frozenset(atom for atom in base if _is_kind(atom, Kind.FUTURE, state))
        found: set[object] = {Method(jobs, name)} if jobs else set()
        for atom in base - jobs:
            if isinstance(atom, Loan) and self.contracts.tensor_attributes.get(name) == "view":
                found |= self.view(frozenset({atom}), node, context)
            elif isinstance(atom, Named):
                found.add(Named(f"{atom.name}.{name}"))
            elif isinstance(atom, Copy) and self.contracts.tensor_attributes.get(name) == "view":
                found.add(atom)
            elif isinstance(atom, (Loan, Text, Instance, Copy)):
                found.add(Method(frozenset({atom}), name))
            elif isinstance(atom, Ref) and atom.loc in state.heap:
                obj, getter = state.heap[atom.loc], self.accessor(atom.loc, name, state)
                if getter is not None:
                    found |= self.special(atom.loc, name, (), node, state, context) or NOTHING
                elif name in obj.fields and obj.kind is Kind.OBJECT:
                    found.update(obj.fields[name])
                elif name == "__dict__":
                    found |= self.member_object(atom.loc, name, state)
                else:
                    known = self.attribute_value(atom.loc, name, state)
                    found.update(known or {Method(frozenset({atom}), name)})
        return frozenset(found)  # type: ignore[arg-type]

    def place(self, node: cst.CSTNode, state: State, context: Context, depth: int = 0) -> Value:
        """The object that `node` names, made up where nothing is known of it, to hold what is stored there."""
        value = self.evaluate(node, state, context)
        known = frozenset(atom for atom in value if isinstance(atom, Ref))
        # What a library's object holds is that library's business.
        if known or depth > _MAX_PATH or any(isinstance(atom, Instance) for atom in value):
            return known
        for method in value:
            if isinstance(method, Method):
                for loc in state.refs(method.receiver):
                    return self.member_object(loc, method.name, state)
        if isinstance(node, cst.Name):
            return self._place_name(node, state, context)
        if isinstance(node, cst.Attribute):
            base, name = node.value, node.attr.value
        elif isinstance(node, cst.Subscript):
            base, name = node.value, "[]"
        else:
            return NOTHING
        for loc, obj in state.objects(self.place(base, state, context, depth + 1)):
            if obj.kind in CONTAINER_KINDS and obj.contents:
                return obj.contents
            return self.member_object(loc, name, state)
        return NOTHING

    def _place_name(self, node: cst.Name, state: State, context: Context) -> Value:
        """An object for a name of unknown value. One of an enclosing scope outlives the call."""
        local = node.value in state.frames[context.frame]
        made = self.new(state, node, context, Obj(Kind.OBJECT, escapes=not local))
        state.frames[context.frame][node.value] = made
        return made

    # Subscripts

    def _eval_Subscript(self, node: cst.Subscript, state: State, context: Context) -> Value:
        base = self.evaluate(node.value, state, context)
        self.look(state, base, node, context)
        key = self.index_value(node, state, context)
        found: set[object] = set()
        for atom in base:
            if isinstance(atom, Loan):
                found |= self.view(frozenset({atom}), node, context)
            elif isinstance(atom, (Text, Copy)):
                found.add(atom)
            elif isinstance(atom, Named) and atom.name in self.contracts.classes:
                # `list[Pair]()` makes a list.
                found.add(atom)
            elif isinstance(atom, Tuple):
                found |= _selected(atom, node)
            elif isinstance(atom, Ref) and atom.loc in state.heap:
                known = self.special(atom.loc, "__getitem__", [Argument(key, node)], node, state, context)
                found.update(self._item(atom.loc, node, state, context) if known is None else known)
        return frozenset(found)  # type: ignore[arg-type]

    def _item(self, loc: Loc, node: cst.Subscript, state: State, context: Context) -> Value:
        obj = state.heap[loc]
        if obj.kind is Kind.LIST and isinstance(node.slice[0].slice, cst.Slice):
            return self.new(state, node, context, Obj(Kind.LIST, obj.contents))
        self.missing(loc, state, context)
        slot = self.subscript_slot(node, state, context)
        return state.heap[loc].at(slot) | obj.fields.get("[]", NOTHING)

    def index_value(self, node: cst.Subscript, state: State, context: Context) -> Value:
        """The value of a subscript's index or key."""
        found: Value = NOTHING
        for element in node.slice:
            if isinstance(element.slice, cst.Index):
                found |= self.evaluate(element.slice.value, state, context)
        return found

    def subscript_slot(self, node: cst.Subscript, state: State, context: Context) -> str | None:
        """The slot that a subscript with one known key or index names."""
        index = node.slice[0].slice
        if len(node.slice) > 1 or not isinstance(index, cst.Index):
            return None
        return LAST_SLOT if _integer(index.value) == -1 else self.slot_of(index.value, state, context)

    # Text, operators, conditions

    def _eval_SimpleString(self, node: cst.SimpleString, state: State, context: Context) -> Value:
        return TEXT

    def _eval_ConcatenatedString(self, node: cst.ConcatenatedString, state: State, context: Context) -> Value:
        return TEXT

    def _eval_FormattedString(self, node: cst.FormattedString, state: State, context: Context) -> Value:
        for part in node.parts:
            if isinstance(part, cst.FormattedStringExpression):
                self.read(state, self.evaluate(part.expression, state, context), node, context)
        return TEXT

    def _eval_BinaryOperation(self, node: cst.BinaryOperation, state: State, context: Context) -> Value:
        # `a + b + ...` nests to the left, as deep as it is long: walked, not recursed into.
        rights: list[cst.BaseExpression] = []
        left: cst.BaseExpression = node
        while isinstance(left, cst.BinaryOperation):
            rights.append(left.right)
            left = left.left
        value = self.evaluate(left, state, context)
        for right in reversed(rights):
            value = self._combined(value, self.evaluate(right, state, context), node, state, context)
        return value

    def _combined(
        self, left: Value, right: Value, node: cst.CSTNode, state: State, context: Context
    ) -> Value:
        """An operator's result: text, a list of both lists' items, or a fresh tensor."""
        if is_text(left | right) and not any(loans(left | right)):
            return TEXT
        containers = [obj for _, obj in state.objects(left | right) if obj.kind in CONTAINER_KINDS]
        if containers:
            items = frozenset().union(*(obj.contents for obj in containers))
            keys = frozenset().union(*(obj.keys for obj in containers))
            return self.new(state, node, context, Obj(containers[0].kind, items, keys))
        # Views of keys and the like are compared by name; only tensors themselves are read.
        self.read(state, frozenset(loans(left | right)), node, context)
        return NOTHING

    def _eval_NamedExpr(self, node: cst.NamedExpr, state: State, context: Context) -> Value:
        value = self.evaluate(node.value, state, context)
        self.assign(node.target, value, state, context, Assignment(node, node.value))
        return value

    def _eval_Await(self, node: cst.Await, state: State, context: Context) -> Value:
        return self.await_futures(self.evaluate(node.expression, state, context), state)

    # Yields

    def _eval_Yield(self, node: cst.Yield, state: State, context: Context) -> Value:
        if isinstance(node.value, cst.From):
            value = self.evaluate(node.value.item, state, context)
            self.iterate(
                state, value, node, context, lambda now, item: self._yielded(now, item, node, context), False
            )
        elif node.value is not None:
            self._yielded(state, self.evaluate(node.value, state, context), node, context)
        return NOTHING

    def _yielded(self, state: State, item: Value, node: cst.CSTNode, context: Context) -> None:
        item = self.yielded(state, item, context)
        if context.on_yield is not None:
            context.on_yield(state, item)
        else:
            self.read(state, item, node, context, "yielded here")

    # Callables

    def _eval_Lambda(self, node: cst.Lambda, state: State, context: Context) -> Value:
        return self.function_value(node, state, context)

    def _eval_StarredElement(self, node: cst.StarredElement, state: State, context: Context) -> Value:
        return self.evaluate(node.value, state, context)


def _is_tensor(atom: Atom) -> bool:
    return isinstance(atom, (Loan, Copy))


def _is_kind(atom: Atom, kind: Kind, state: State) -> bool:
    return isinstance(atom, Ref) and atom.loc in state.heap and state.heap[atom.loc].kind is kind


def _selected(atom: Tuple, node: cst.Subscript) -> Value:
    """What a subscript takes of a tuple: one item, or a shorter tuple, where the bounds are literals."""
    index = node.slice[0].slice
    if isinstance(index, cst.Slice):
        bounds = [_integer(bound) for bound in (index.lower, index.upper)]
        return tuple_of(*atom.items[bounds[0] : bounds[1]])
    place = _integer(index.value)
    items = atom.items if place is None else atom.items[place : place + 1 or None]
    return frozenset().union(*items)


def _integer(node: cst.BaseExpression | None) -> int | None:
    sign = 1
    if isinstance(node, cst.UnaryOperation) and isinstance(node.operator, cst.Minus):
        sign, node = -1, node.expression
    return sign * node.evaluated_value if isinstance(node, cst.Integer) else None
