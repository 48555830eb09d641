"""Whether a step that collects a tensor also loads it: then it must not matter which of the two comes first."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst
from loaderlint.linter.reading.nodes import walk
from loaderlint.linter.repairs.callees import Functions
from loaderlint.linter.repairs.collected import CollectedList
from loaderlint.linter.repairs.shapes import TENSOR, Shape, Shapes
from loaderlint.linter.repairs.tree import Refused, Tree

_LEAVES = (cst.Continue, cst.Break, cst.Return, cst.Raise)
_ADDING = ("append", "extend", "add", "setdefault")


def refuse_if_loaded_twice(tree: Tree, collected: CollectedList, functions: Functions, lists: bool) -> None:
    """Raise `Refused` where the step that puts a tensor into `collected` hands one to a call, or yields it, as well.

    With `lists`, putting it into another collection counts too.
    """
    shapes = Shapes(tree, functions)
    for append in collected.appends:
        for node in walk(*_same_step(tree, append)):
            if (
                isinstance(node, cst.Yield)
                and node.value is not None
                and _holds_tensor(shapes.of(node.value))
            ):
                raise Refused(f"`{tree.brief(append)}` keeps what is yielded in the same step")
            if not isinstance(node, cst.Expr) or not isinstance(node.value, cst.Call):
                continue
            call = node.value
            adds = isinstance(call.func, cst.Attribute) and call.func.attr.value in _ADDING
            given = any(_holds_tensor(shapes.of(argument.value)) for argument in call.args)
            if given and (lists or not adds):
                raise Refused(f"`{tree.brief(append)}` keeps what `{tree.brief(call)}` gets in the same step")


def _holds_tensor(shape: Shape) -> bool:
    return shape == TENSOR or isinstance(shape, tuple) and any(map(_holds_tensor, shape))


def _same_step(tree: Tree, append: cst.CSTNode) -> Iterator[cst.CSTNode]:
    """The statements that can run in the step of `append`, without those that it stands in."""
    node: cst.CSTNode = tree.statement(append)
    for around in tree.ancestors(node):
        if isinstance(around, cst.IndentedBlock):
            place = next((number for number, one in enumerate(around.body) if one is node), None)
            if place is not None:
                yield from (one for one in around.body[:place] if not _leaves(one))
                # Behind a `continue` nothing of the step is left.
                if not any(
                    isinstance(one, cst.SimpleStatementLine) and _jumps(one) for one in around.body[place:]
                ):
                    yield from around.body[place + 1 :]
                else:
                    return
        if isinstance(around, (cst.For, cst.FunctionDef)):
            return
        node = around


def _leaves(statement: cst.CSTNode) -> bool:
    """Whether this is a branch that ends the step."""
    if not isinstance(statement, cst.If) or statement.orelse is not None:
        return False
    last = statement.body.body[-1]
    return isinstance(last, cst.SimpleStatementLine) and _jumps(last)


def _jumps(line: cst.SimpleStatementLine) -> bool:
    return isinstance(line.body[-1], _LEAVES)
