"""Whether a loop may move into a nested generator, so that it runs while its first list is consumed."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import libcst as cst
from loaderlint.linter.reading.nodes import walk
from loaderlint.linter.repairs.attributes import refuse_if_set_meanwhile
from loaderlint.linter.repairs.consumer import Consumer
from loaderlint.linter.repairs.names import (
    bound_names,
    changed_objects,
    exposed_reads,
    mentioned,
    target_names,
)
from loaderlint.linter.repairs.tree import Refused, Statement, Tree

_NESTED = (cst.FunctionDef, cst.Lambda, cst.ClassDef)
_LEAVES_OR_WAITS = (cst.Return, cst.Yield, cst.Await, cst.Del, cst.Global, cst.Nonlocal)
_LOOKS_AT_THE_FRAME = ("locals", "vars", "dir", "super")


@dataclass(frozen=True, slots=True)
class Move:
    """A loop that can move. It moves behind the statements `between`; the names `carried` outlive it.

    `checks` only raise where the loop has not found what it should: they have to move behind it in turn.
    """

    between: tuple[Statement, ...]
    carried: tuple[str, ...]
    has_effects: bool
    checks: tuple[Statement, ...]


def check_move(
    tree: Tree,
    loop: cst.For,
    consumer: Consumer,
    kept: set[str],
    yielding: Sequence[cst.BaseSmallStatement],
    ahead: Sequence[Statement] = (),
    along: Sequence[cst.For] = (),
) -> Move:
    """See if `loop` can run inside `consumer`, which reads what the appends `yielding` collect now.

    `kept` are the other lists of the loop; the statements `ahead` go before it, and the bodies of the loops `along` are
    then part of it. Raises `Refused` where the program would compute something else.
    """
    _refuse_control_flow(tree, loop)
    bodies = (loop, *along)
    own = bound_names(*bodies)
    variables = bound_names(tree.scope(loop).body)
    carried = _carried(tree, loop)
    objects = changed_objects(*bodies, but=yielding) & variables - own
    changed = kept | carried | objects
    found = [one for one in _between(tree, loop, consumer) if one not in ahead]
    checks = (
        [] if consumer.returns else [one for one in found if _only_raises(one) and changed & mentioned(one)]
    )
    between = tuple(one for one in found if one not in checks)
    later = (*between, *_without_own_names(consumer))
    bound_later = bound_names(*between, consumer.statement)
    added_to = only_added_to(tree, objects - kept - carried, (*bodies, *later))
    early = changed & (mentioned(*later) - added_to) | carried & bound_later
    if early:
        raise Refused(f"`{min(early)}` is used before the loop would be done")
    changed_later = bound_later | changed_objects(*later) & variables
    new = (mentioned(*bodies, *checks) - own) & changed_later - added_to
    if new:
        raise Refused(f"`{min(new)}` is changed before the loop would be done")
    refuse_if_set_meanwhile(tree, bodies, later)
    stream = _stream_names(loop.iter)
    if stream & mentioned(*later):
        raise Refused(f"`{min(stream & mentioned(*later))}` is used again before the loop would be done")
    effects = bool(changed) or any(_is_effect(tree, node, yielding) for node in walk(loop.body, skip=_NESTED))
    return Move(between, tuple(sorted(carried)), effects, tuple(checks))


def _only_raises(statement: cst.CSTNode) -> bool:
    """Whether this is an `if` that does nothing but raise."""
    if not isinstance(statement, cst.If) or statement.orelse is not None:
        return False
    parts = [part for line in statement.body.body for part in getattr(line, "body", [line])]
    return all(isinstance(part, cst.Raise) for part in parts)


def _refuse_control_flow(tree: Tree, loop: cst.For) -> None:
    if loop.asynchronous:
        raise Refused("an `async for` cannot move into a plain generator")
    refuse_what_cannot_move(loop)
    if any(isinstance(around, (cst.For, cst.While)) for around in _up_to_scope(tree, loop)):
        raise Refused("the loop runs inside another loop")
    if isinstance(tree.scope(loop), cst.ClassDef):
        raise Refused("the loop runs in a class body")


def refuse_what_cannot_move(code: cst.CSTNode) -> None:
    """Raise `Refused` where `code` would mean something else in a nested function."""
    for node in walk(code, skip=_NESTED):
        if isinstance(node, _LEAVES_OR_WAITS):
            word = type(node).__name__.lower()
            raise Refused(f"the loop contains `{word}`, which cannot move into a nested function")
        if isinstance(node, (cst.For, cst.With)) and node.asynchronous:
            raise Refused("the loop waits for something asynchronous")
        if isinstance(node, cst.Call) and isinstance(node.func, cst.Name) and not node.args:
            if node.func.value in _LOOKS_AT_THE_FRAME:
                raise Refused(f"`{node.func.value}()` means something else in a nested function")


def _up_to_scope(tree: Tree, node: cst.CSTNode) -> Iterator[cst.CSTNode]:
    for around in tree.ancestors(node):
        if isinstance(around, _NESTED):
            return
        yield around


def _between(tree: Tree, loop: cst.For, consumer: Consumer) -> Iterator[cst.CSTNode]:
    """What runs between the loop and its consumer, which must follow in its block, or in a `with` there."""
    place: Statement = consumer.statement
    while True:
        block = tree.parent(place)
        statements = block.body if isinstance(block, (cst.IndentedBlock, cst.Module)) else [place]
        index = next(number for number, one in enumerate(statements) if one is place)
        if block is tree.parent(loop):
            first = next(number for number, one in enumerate(statements) if one is loop)
            yield from statements[first + 1 : index]
            return
        yield from statements[:index]
        outer = tree.parent(block)
        if isinstance(outer, cst.With):
            yield from outer.items
        elif outer is not consumer.guard:
            raise Refused(f"line {tree.start(consumer.statement)[0]}, which consumes it, does not always run")
        place = outer


def _without_own_names(consumer: Consumer) -> list[cst.CSTNode]:
    """The consuming statement; of a `for` loop, its parts without what it iterates."""
    statement = consumer.statement
    if consumer.call is None and isinstance(statement, cst.For):
        return [statement.body, *([statement.orelse] if statement.orelse else [])]
    return [statement]


def _carried(tree: Tree, loop: cst.For) -> set[str]:
    """Names that the loop binds and that are read outside it, or in its next round."""
    bound = bound_names(loop)
    scope = tree.scope(loop)
    later = [statement for block in blocks_after(tree, loop) for statement in block]
    carried = bound & (exposed_reads([loop]) | exposed_reads(later) | captured(tree, scope))
    outside = {use.value for name in carried for use in tree.names[name] if _binds_outside(tree, use, loop)}
    if carried - outside:
        raise Refused(f"`{min(carried - outside)}` is set by the loop and read after it")
    return carried


def _binds_outside(tree: Tree, use: cst.Name, loop: cst.For) -> bool:
    """Whether the function around `loop` binds the name here, so that `nonlocal` finds it."""
    if tree.scope(use) is not tree.scope(loop) or tree.inside(use, loop):
        return False
    if isinstance(tree.parent(use), cst.Param):
        return True
    statement = tree.statement(use)
    return isinstance(statement, cst.SimpleStatementLine) and use.value in bound_names(statement)


def captured(tree: Tree, scope: cst.CSTNode) -> set[str]:
    """Names that functions nested in `scope` take from it."""
    found: set[str] = set()
    for node in walk(scope):
        if isinstance(node, (cst.FunctionDef, cst.Lambda)) and node is not scope:
            parameters = {part.name.value for part in walk(node.params) if isinstance(part, cst.Param)}
            found |= mentioned(node.body) - bound_names(node.body) - parameters
    return found


def blocks_after(tree: Tree, loop: cst.For) -> Iterator[Sequence[cst.CSTNode]]:
    """The statements that can run after the loop, from the inside out."""
    node: cst.CSTNode = loop
    for around in _up_to_scope(tree, loop):
        if isinstance(around, (cst.IndentedBlock, cst.Module)):
            index = next((number for number, one in enumerate(around.body) if one is node), None)
            yield around.body[index + 1 :] if index is not None else ()
        elif isinstance(around, cst.Try):
            parts = (*around.handlers, around.orelse, around.finalbody)
            yield [part for part in parts if part is not None and part is not node]
        node = around


def only_added_to(tree: Tree, names: set[str], nodes: Sequence[cst.CSTNode]) -> set[str]:
    """Those `names` that `nodes` do not look at: `done.add(x)`, `done.update(f(x))`, `done |= f(x)`.

    Python takes hold of the object first and changes it when `f` has returned, so the loop may change it
    meanwhile.
    """
    uses = {
        name: [use for use in tree.names[name] if any(tree.inside(use, node) for node in nodes)]
        for name in names
    }
    return {name for name, those in uses.items() if all(_adds(tree, use) for use in those)}


def _adds(tree: Tree, use: cst.Name) -> bool:
    parent = tree.parent(use)
    if isinstance(parent, cst.AugAssign):
        return parent.target is use
    return isinstance(parent, cst.Attribute) and isinstance(tree.parent(tree.parent(parent)), cst.Expr)


def _stream_names(iterable: cst.BaseExpression) -> set[str]:
    if isinstance(iterable, cst.Call):
        return set().union(*(_stream_names(argument.value) for argument in iterable.args))
    return target_names(iterable)


def _is_effect(tree: Tree, node: cst.CSTNode, yielding: Sequence[cst.BaseSmallStatement]) -> bool:
    """Whether `node` does something that has to happen even where the consumer stops early."""
    if isinstance(node, cst.Expr):
        return node not in yielding and isinstance(node.value, cst.Call)
    if isinstance(node, (cst.Subscript, cst.Attribute)):
        target = tree.parent(node)
        if isinstance(target, cst.AssignTarget):
            return tree.parent(target) not in yielding
        return isinstance(target, (cst.AugAssign, cst.AnnAssign))
    return isinstance(node, (cst.Raise, cst.Assert))
