"""Loops that collect what they iterate: made to iterate a stream, they would keep its tensors in turn."""

from __future__ import annotations

from dataclasses import replace

import libcst as cst
from loaderlint.linter.interpreter.events import Holder, Retention, Site
from loaderlint.linter.reading.nodes import walk
from loaderlint.linter.repairs.loops import last_variable
from loaderlint.linter.repairs.names import mentioned
from loaderlint.linter.repairs.tree import Tree

_ADDING = ("append", "appendleft", "insert", "add", "extend", "setdefault", "put")
_AS_IT_IS = (cst.Name, cst.Tuple, cst.List, cst.Subscript)


def collected_in(tree: Tree, loop: cst.For, event: Retention) -> list[Retention]:
    """Retentions that appear once `loop` iterates the stream of `event` itself."""
    variable = last_variable(loop)
    found = []
    for node in walk(loop.body) if variable else ():
        kept = _kept_in(tree, loop, node, variable)
        if kept is not None:
            kind, holder = kept
            found.append(
                replace(
                    event,
                    holder_kind=kind,
                    holder=tree.text(holder),
                    tensor=variable,
                    stream=tree.text(loop.iter),
                    borrowed=Site(tree.unit, loop),
                    kept=Site(tree.unit, node),
                )
            )
    return found


def _kept_in(
    tree: Tree, loop: cst.For, node: cst.CSTNode, variable: str
) -> tuple[Holder, cst.BaseExpression] | None:
    """What `node` puts the value of `variable` into, if it does."""
    if (
        isinstance(node, cst.Call)
        and isinstance(node.func, cst.Attribute)
        and node.func.attr.value in _ADDING
    ):
        if any(_holds(argument.value, variable) for argument in node.args):
            return Holder.LIST, node.func.value
    if isinstance(node, cst.Assign) and _holds(node.value, variable):
        target = node.targets[0].target
        if isinstance(target, cst.Subscript):
            return Holder.DICT, target.value
        if isinstance(target, cst.Attribute):
            return Holder.OBJECT, target
        if isinstance(target, cst.Name) and _outlives(tree, loop, target):
            return Holder.VARIABLE, target
    return None


def _holds(value: cst.BaseExpression, variable: str) -> bool:
    return isinstance(value, _AS_IT_IS) and variable in mentioned(value)


def _outlives(tree: Tree, loop: cst.For, target: cst.Name) -> bool:
    """Whether the variable is one of the function, not of the loop's body alone."""
    return target.value != last_variable(loop) and any(
        not tree.inside(use, loop) for use in tree.names[target.value]
    )
