"""The one place that uses up a collection after it was filled: a loop over it, or a call that gets it."""

from __future__ import annotations

import builtins
from collections.abc import Sequence
from dataclasses import dataclass, replace

import libcst as cst
from loaderlint.linter.contracts import load_contracts
from loaderlint.linter.repairs.tree import Refused, Statement, Tree

# Builtins that hand items on one by one; all others need a whole collection or only a part of it.
_LAZY = ("iter", "enumerate")
_KEEPING_METHODS = ("append", "extend", "insert", "update", "join", "put", "setdefault", "add", "submit")
_LOOPS = (cst.For, cst.While)
_AROUND_A_CALL = (
    cst.Arg,
    cst.Call,
    cst.Attribute,
    cst.Await,
    cst.Yield,
    cst.From,
    cst.Expr,
    cst.Assign,
    cst.AnnAssign,
    cst.AugAssign,
    cst.Return,
)


@dataclass(frozen=True, slots=True)
class Consumer:
    """`use` is the collection where `statement` consumes it: `argument` of `call`, or iterated by a loop.

    `guard` is an `if` around that statement alone, which only asks whether there is anything in the collection.
    """

    use: cst.BaseExpression
    statement: Statement
    call: cst.Call | None
    argument: cst.Arg | None
    guard: cst.If | None = None

    def in_place(self, tree: Tree) -> cst.BaseExpression:
        """What an iterator takes the place of: the collection, or the `iter(...)` of it."""
        argument = tree.parent(self.use)
        call = tree.parent(argument) if isinstance(argument, cst.Arg) else None
        made = isinstance(call, cst.Call) and _is_builtin(call, "iter") and len(call.args) == 1
        return call if made else self.use

    @property
    def returns(self) -> bool:
        """Whether the statement ends the function, so that nothing can follow it."""
        return isinstance(self.statement, cst.SimpleStatementLine) and isinstance(
            self.statement.body[-1], cst.Return
        )


def only_consumer(tree: Tree, name: str, uses: Sequence[cst.Name], scope: cst.CSTNode) -> Consumer:
    """The consumer of a collection whose other uses are `uses`. Raises `Refused` without a single one."""
    if not uses:
        raise Refused(f"`{name}` is not read in this function")
    guard = _guard(tree, uses)
    if guard is not None:
        return replace(only_consumer(tree, name, uses[1:], scope), guard=guard)
    if len(uses) > 1:
        lines = ", ".join(str(tree.start(use)[0]) for use in uses)
        raise Refused(f"`{name}` is used more than once after it was filled (lines {lines})")
    if tree.scope(uses[0]) is not scope:
        raise Refused(f"`{name}` is captured by a nested function")
    return consumer_of(tree, uses[0], scope)


def _guard(tree: Tree, uses: Sequence[cst.Name]) -> cst.If | None:
    """`if kept:` around the one statement that reads `kept`."""
    test = tree.parent(uses[0])
    if len(uses) != 2 or not isinstance(test, cst.If) or test.test is not uses[0] or test.orelse is not None:
        return None
    if isinstance(tree.parent(test), (cst.If, cst.Else)) or not isinstance(test.body, cst.IndentedBlock):
        return None
    return test if len(test.body.body) == 1 and tree.inside(uses[1], test.body.body[0]) else None


def consumer_of(tree: Tree, use: cst.BaseExpression, scope: cst.CSTNode) -> Consumer:
    """What consumes the expression `use`. Raises `Refused` unless it is iterated or handed on just once."""
    node: cst.CSTNode = use
    while True:
        parent = tree.parent(node)
        if isinstance(parent, cst.For) and parent.iter is node:
            found = Consumer(use, parent, None, None)
            break
        if isinstance(parent, cst.CompFor) and parent.iter is node:
            expression = tree.parent(parent)
            if isinstance(expression, cst.GeneratorExp) and expression.for_in is parent:
                node = expression  # It asks for no more than its own consumer does.
                continue
        call = tree.parent(parent) if isinstance(parent, cst.Arg) and not parent.star else None
        if not isinstance(call, cst.Call):
            raise Refused(f"`{tree.brief(use)}` is used in `{tree.brief(parent)}`, not only iterated")
        if not _is_builtin(call, *_LAZY) and not _is_lazy_method(call):
            _refuse_unless_handed_on(tree, use, call)
            found = Consumer(use, tree.statement(call), call, parent)
            break
        node = call
    _refuse_unless_run_once(tree, found, scope)
    return found


def _is_builtin(call: cst.Call, *names: str) -> bool:
    return isinstance(call.func, cst.Name) and call.func.value in names


def _is_lazy_method(call: cst.Call) -> bool:
    """Whether this is `mapper.apply(weights)` or the like, which hands on what it is asked for."""
    return isinstance(call.func, cst.Attribute) and call.func.attr.value in load_contracts().lazy_methods


def _refuse_unless_handed_on(tree: Tree, use: cst.CSTNode, call: cst.Call) -> None:
    if _is_builtin(call, *dir(builtins)):
        raise Refused(f"`{tree.brief(use)}` is used by `{tree.brief(call)}`, which needs the collection")
    if isinstance(call.func, cst.Attribute) and call.func.attr.value in _KEEPING_METHODS:
        raise Refused(f"`{tree.brief(call)}` keeps `{tree.brief(use)}`")
    node: cst.CSTNode = call
    while not isinstance(node := tree.parent(node), (cst.SimpleStatementLine, cst.SimpleStatementSuite)):
        if not isinstance(node, _AROUND_A_CALL):
            raise Refused(f"the call that consumes `{tree.brief(use)}` is part of `{tree.brief(node)}`")


def _refuse_unless_run_once(tree: Tree, found: Consumer, scope: cst.CSTNode) -> None:
    if isinstance(found.statement, cst.For) and found.statement.asynchronous:
        raise Refused(f"`{tree.brief(found.use)}` is consumed by an asynchronous loop")
    for around in tree.ancestors(found.statement):
        if around is scope:
            return
        if isinstance(around, _LOOPS):
            raise Refused(f"`{tree.brief(found.use)}` is consumed inside a loop")
