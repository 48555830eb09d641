"""The loop over a stream in which a tensor is kept, and the variable that holds the tensor there."""

from __future__ import annotations

import libcst as cst

from loaderlint.linter.interpreter.events import Retention
from loaderlint.linter.repairs.tree import Refused, Tree


def stream_loop(tree: Tree, event: Retention) -> cst.For:
    """The outermost loop over the stream that keeps the tensor. Raises `Refused` where no loop does."""
    loops = [
        loop
        for loop in _loops_around(tree, event)
        if isinstance(loop, cst.For) and event.stream in tree.text(loop.iter)
    ]
    if not loops:
        raise Refused(f"`{event.holder}` is not filled by a loop over `{event.stream}` in this function")
    return loops[-1]


def tensor_variable(tree: Tree, event: Retention) -> str:
    """The loop variable of the tensor, `w` in `for i, (name, w) in ...`; "" outside of a loop."""
    for loop in _loops_around(tree, event):
        name = last_variable(loop)
        if name:
            return name
    return ""


def last_variable(loop: cst.For | cst.CompFor) -> str:
    """The last variable that a loop unpacks its items into; "" where it does not unpack them."""
    target: cst.BaseExpression = loop.target
    while isinstance(target, (cst.Tuple, cst.List)) and target.elements:
        target = target.elements[-1].value
    return target.value if isinstance(target, cst.Name) and target is not loop.target else ""


def _loops_around(tree: Tree, event: Retention) -> list[cst.For | cst.CompFor]:
    """The loops around the retaining code, from the inside out; of a comprehension, its own."""
    node = event.kept.node
    found: list[cst.For | cst.CompFor] = [node.for_in] if isinstance(node, cst.BaseComp) else []
    scope = tree.scope(node)
    for around in tree.ancestors(node):
        if around is scope:
            break
        if isinstance(around, cst.For):
            found.append(around)
    return found
