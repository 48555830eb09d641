"""Where the variables of a function get their values."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import libcst as cst
from loaderlint.linter.reading.nodes import walk
from loaderlint.linter.repairs.names import target_names
from loaderlint.linter.repairs.tree import Tree

_DISPLAYS = (cst.Tuple, cst.List)
_ELEMENTS = (cst.Element, cst.StarredElement)


@dataclass(frozen=True, slots=True)
class Binding:
    """One place that sets a variable: to part `path` of `value`, or of each item of `value` if `looped`.

    A None in `path` is a part that cannot be told. `pair` says that two targets share the value.
    """

    value: cst.BaseExpression | None = None
    path: tuple[int | None, ...] = ()
    looped: bool = False
    pair: bool = False
    parameter: cst.Param | None = None


class Bindings:
    """The variables of one function's tree."""

    def __init__(self, tree: Tree) -> None:
        self._tree = tree

    def home(self, name: cst.Name) -> cst.CSTNode:
        """What the variable belongs to: a comprehension, or the function that binds it."""
        outer: cst.CSTNode | None = None
        for around in self._tree.ancestors(name):
            if isinstance(around, cst.BaseComp) and name.value in _targets(around):
                return around
            if isinstance(around, (cst.FunctionDef, cst.Lambda)):
                outer = outer or around
                if self._binds(around, name.value):
                    return around
        return outer or self._tree.unit.function

    def same(self, name: cst.Name) -> list[cst.Name]:
        """All uses of the same variable, in source order."""
        home = self.home(name)
        return [use for use in self._tree.names.get(name.value, ()) if self.home(use) is home]

    def of(self, name: cst.Name) -> list[Binding]:
        """All places that set the variable."""
        return [found for use in self.same(name) if (found := self._binding(use)) is not None]

    def calls(self, function: str) -> Iterator[cst.Call]:
        """The calls of a function or method of that name."""
        for node in walk(self._tree.unit.function):
            if isinstance(node, cst.Call):
                called = node.func.attr if isinstance(node.func, cst.Attribute) else node.func
                if isinstance(called, cst.Name) and called.value == function:
                    yield node

    def _binds(self, scope: cst.FunctionDef | cst.Lambda, name: str) -> bool:
        uses = self._tree.names.get(name, ())
        return any(
            self._binding(use) is not None
            for use in uses
            if self._tree.scope(use) is scope and not self._in_comprehension(use)
        )

    def _in_comprehension(self, name: cst.Name) -> bool:
        comprehensions = (one for one in self._tree.ancestors(name) if isinstance(one, cst.BaseComp))
        return any(name.value in _targets(one) for one in comprehensions)

    def _binding(self, name: cst.Name) -> Binding | None:
        path: list[int | None] = []
        node: cst.CSTNode = name
        parent = self._tree.parent(node)
        pair = False
        while isinstance(parent, _ELEMENTS) and isinstance(self._tree.parent(parent), _DISPLAYS):
            display = self._tree.parent(parent)
            path.insert(0, _place(display, parent))
            pair = len(display.elements) == 2
            node, parent = display, self._tree.parent(display)
        if isinstance(parent, cst.AssignTarget):
            return Binding(self._tree.parent(parent).value, tuple(path))
        if isinstance(parent, (cst.For, cst.CompFor)) and parent.target is node:
            return Binding(parent.iter, tuple(path), looped=True, pair=pair)
        if isinstance(parent, (cst.AnnAssign, cst.NamedExpr)) and parent.target is node:
            return Binding(parent.value) if parent.value is not None else None
        if isinstance(parent, cst.Param) and parent.name is node:
            return Binding(parameter=parent)
        if isinstance(parent, (cst.AsName, cst.MatchAs, cst.MatchStar)):
            return Binding()
        return None


def _place(display: cst.Tuple | cst.List, element: cst.CSTNode) -> int | None:
    """Where the element stands; None from the first starred one on."""
    for place, one in enumerate(display.elements):
        if isinstance(one, cst.StarredElement):
            return None
        if one is element:
            return place
    return None


def _targets(comprehension: cst.BaseComp) -> set[str]:
    found: set[str] = set()
    clause: cst.CompFor | None = comprehension.for_in
    while clause is not None:
        found |= target_names(clause.target)
        clause = clause.inner_for_in
    return found
