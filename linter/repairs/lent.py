"""Which expressions of a retaining statement are the lent tensors that need their own memory."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import libcst as cst
from loaderlint.linter.interpreter.events import Retention
from loaderlint.linter.repairs.callees import Functions
from loaderlint.linter.repairs.names import target_names
from loaderlint.linter.repairs.shapes import OWNED, PLAIN, TENSOR, UNKNOWN, Many, Shape, Shapes, last_name
from loaderlint.linter.repairs.tree import Refused, Tree

_DISPLAYS = (cst.Tuple, cst.List, cst.Set)
_COMPREHENSIONS = (cst.ListComp, cst.SetComp, cst.GeneratorExp)


@dataclass(frozen=True, slots=True)
class Place:
    """`node` is one tensor; or a tuple, of which `parts` says for each part whether it is one.

    With `later`, `node` is a variable that the statement sets by unpacking: it can be owned behind it only.
    """

    node: cst.BaseExpression
    parts: tuple[bool, ...] = ()
    later: bool = False


def lent_places(tree: Tree, event: Retention, functions: Functions) -> list[Place]:
    """Where each lent tensor that the retaining statement keeps stands. Raises `Refused` without any."""
    loop = tree.parent(event.kept.node)
    if isinstance(loop, (cst.For, cst.CompFor)) and loop.target is event.kept.node:
        raise Refused(
            "the loop's own variable is read after its step: copy it inside the loop, where it is needed later"
        )
    unit = event.borrowed.unit
    callers = Tree(unit) if unit is not tree.unit and unit.path == tree.unit.path else None
    finder = _Finder(tree, Shapes(tree, functions, callers), event)
    found = [place for value in stored_values(event.kept.node) for place in finder.within(value)]
    found = found or list(finder.unpacked())
    if not found:
        code = tree.brief(event.kept.node)
        raise Refused(f"it is not clear which part of `{code}` is the tensor")
    unique = {place.node: place for place in found}
    return sorted(unique.values(), key=lambda place: tree.start(place.node))


def stored_values(kept: cst.CSTNode) -> Sequence[cst.BaseExpression]:
    """The parts of a retaining expression or statement that hold what is put into the holder."""
    if isinstance(kept, cst.SimpleStatementLine) and len(kept.body) == 1:
        kept = kept.body[0]
    if isinstance(kept, cst.Expr):
        kept = kept.value
    if isinstance(kept, cst.Call):
        return [argument.value for argument in kept.args]
    if isinstance(kept, (cst.Assign, cst.AnnAssign, cst.AugAssign, cst.NamedExpr)):
        return [kept.value] if kept.value is not None else []
    if isinstance(kept, (*_DISPLAYS, *_COMPREHENSIONS, cst.Dict, cst.DictComp)):
        return [kept]
    raise Refused("the tensor is not kept by an assignment or a call, so there is no place to own it")


class _Finder:
    """Looks for the lent tensors in what one statement keeps."""

    def __init__(self, tree: Tree, shapes: Shapes, event: Retention) -> None:
        self._tree = tree
        self._shapes = shapes
        self._kept = event.kept.node

    def within(self, value: cst.BaseExpression) -> Iterator[Place]:
        """The lent tensors that `value` is made of."""
        shape = self._shapes.of(value)
        if shape in (PLAIN, OWNED):
            return
        if shape == TENSOR and not isinstance(value, (cst.IfExp, cst.NamedExpr)):
            yield Place(value)
        elif isinstance(value, cst.Name):
            yield from self._named(value, shape)
        else:
            for part in self._parts(value):
                yield from self.within(part)

    def _parts(self, value: cst.BaseExpression) -> Iterator[cst.BaseExpression]:
        if isinstance(value, (*_DISPLAYS, cst.Dict)):
            starred = (cst.StarredElement, cst.StarredDictElement)
            yield from (part.value for part in value.elements if not isinstance(part, starred))
        elif isinstance(value, _COMPREHENSIONS):
            yield value.elt
        elif isinstance(value, (cst.DictComp, cst.NamedExpr, cst.Subscript)):
            yield value.value
        elif isinstance(value, cst.IfExp):
            branches = (value.body, value.orelse)
            yield from (one for one in branches if not self._is_holder(one))
        elif isinstance(value, cst.Call) and last_name(value.func) != "next":
            yield from (argument.value for argument in value.args if not argument.star)
            if isinstance(value.func, cst.Attribute):
                yield value.func.value

    def _named(self, name: cst.Name, shape: Shape) -> Iterator[Place]:
        """A variable that is more than one tensor: owned where it is made, or part by part."""
        made = self._made_beside(name)
        if made is not None:
            yield from self.within(made)
        elif isinstance(shape, tuple) and TENSOR in shape:
            if any(isinstance(part, (Many, tuple)) for part in shape):
                code = self._tree.brief(self._kept)
                raise Refused(f"`{name.value}` in `{code}` holds more than one tensor")
            yield Place(name, tuple(part == TENSOR for part in shape))
        elif isinstance(shape, Many) and shape.item not in (PLAIN, UNKNOWN, None):
            raise Refused(f"`{name.value}` holds more than one tensor")

    def _made_beside(self, name: cst.Name) -> cst.BaseExpression | None:
        """The value of a variable that is set once, beside the statement, for it alone."""
        bindings = self._shapes.bindings
        found = bindings.of(name)
        others = [use for use in bindings.same(name) if not self._tree.inside(use, self._kept)]
        if len(found) != 1 or len(others) != 1 or found[0].value is None or found[0].looped or found[0].path:
            return None
        line, place = self._tree.statement(others[0]), self._tree.statement(self._kept)
        if not isinstance(line, cst.SimpleStatementLine) or self._tree.start(line) > self._tree.start(place):
            return None
        while self._tree.parent(place) is not self._tree.parent(line):
            place = self._tree.parent(self._tree.parent(place))
            if not isinstance(place, cst.With):
                return None
        return found[0].value

    def _is_holder(self, value: cst.BaseExpression) -> bool:
        """Whether `value` is what the statement sets: it was judged when it was set before."""
        targets = self._kept.targets if isinstance(self._kept, cst.Assign) else ()
        return any(one.target.deep_equals(value) for one in targets)

    def unpacked(self) -> Iterator[Place]:
        """Variables that the statement unpacks tensors into."""
        line = self._tree.parent(self._kept)
        if not isinstance(self._kept, cst.Assign) or len(self._kept.targets) != 1:
            return
        target, shape = self._kept.targets[0].target, self._shapes.of(self._kept.value)
        alone = isinstance(line, cst.SimpleStatementLine) and len(line.body) == 1
        if not alone or not isinstance(target, cst.Tuple) or not isinstance(shape, tuple):
            return
        if len(target.elements) == len(shape):
            for element, part in zip(target.elements, shape):
                if part == TENSOR and isinstance(element.value, cst.Name):
                    yield Place(element.value, later=True)


def unpacking_target(event: Retention) -> cst.BaseExpression | None:
    """What the retaining statement unpacks into, if it does: then no part of it alone is the holder."""
    kept = event.kept.node
    if isinstance(kept, cst.Assign) and isinstance(kept.targets[-1].target, (cst.Tuple, cst.List)):
        return kept.targets[-1].target
    return None


def holder_names(event: Retention) -> set[str]:
    """The variables at the front of what holds the tensor."""
    target = unpacking_target(event)
    if target is not None:
        return target_names(target)
    return {event.holder.partition("[")[0].strip()}


def loop_names(tree: Tree, event: Retention) -> set[str]:
    """The variables of the loops around the retaining statement."""
    node, scope = event.kept.node, tree.scope(event.kept.node)
    found = target_names(node.for_in.target) if isinstance(node, cst.BaseComp) else set()
    for around in tree.ancestors(node):
        if around is scope:
            break
        if isinstance(around, cst.For):
            found |= target_names(around.target)
    return found
