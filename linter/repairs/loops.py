"""The loop over a stream in which a tensor is kept, and the variable that holds the tensor there."""

from __future__ import annotations

import libcst as cst
from loaderlint.linter.interpreter.events import Retention
from loaderlint.linter.repairs.texts import short
from loaderlint.linter.repairs.tree import Refused, Tree


def stream_loop(tree: Tree, event: Retention) -> cst.For:
    """The outermost loop over the stream that keeps the tensor. Raises `Refused` where no loop does."""
    scope = tree.scope(event.kept.node)
    around = [node for node in tree.ancestors(event.kept.node) if tree.inside(node, scope)]
    loops = [node for node in around if isinstance(node, cst.For) and event.stream in tree.text(node.iter)]
    if not loops:
        raise Refused(f"`{short(event.holder)}` is not filled by a loop over `{short(event.stream)}`")
    return loops[-1]


def last_variable(loop: cst.For | cst.CompFor) -> str:
    """The last variable that a loop unpacks its items into; "" where it does not unpack them."""
    target: cst.BaseExpression = loop.target
    while isinstance(target, (cst.Tuple, cst.List)) and target.elements:
        target = target.elements[-1].value
    return target.value if isinstance(target, cst.Name) and target is not loop.target else ""
