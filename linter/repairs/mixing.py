"""Whether a kept tensor later meets tensors that stay on their device, so that it must stay there too."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst
from loaderlint.linter.interpreter.events import Holder, Retention
from loaderlint.linter.reading.nodes import walk
from loaderlint.linter.repairs.lent import holder_names, loop_names
from loaderlint.linter.repairs.names import mentioned, target_names
from loaderlint.linter.repairs.tree import Tree

_CONTAINERS = (Holder.LIST, Holder.DICT, Holder.MATERIALIZED)
_LITERALS = (cst.BaseNumber, cst.BaseString)
_PLAIN = (cst.Name, cst.Attribute, cst.Subscript, cst.Call)


def meets_other_tensors(tree: Tree, event: Retention) -> str:
    """Why the kept tensor has to stay on its device; "" if a host copy does as well.

    A loader copies from any device, so a kept tensor that is only handed on may wait on the host. One that is
    computed with, stands beside other tensors, or is read where this function does not show it, may not.
    """
    if event.holder_kind in (Holder.SUBMITTED, Holder.CAPTURED):
        return ""
    if event.holder_kind is Holder.PARAMETER:
        return "a parameter stays on its device"
    scope = tree.scope(event.kept.node)
    if "." in event.holder:
        return "other functions may read it on its device"
    roots = holder_names(event)
    if isinstance(scope, cst.FunctionDef) and roots & _parameters(scope):
        return "the caller may read it on its device"
    derived = _derived(scope, roots)
    fresh = loop_names(tree, event) - derived
    tensors = derived - roots if event.holder_kind in _CONTAINERS else derived
    for node in walk(scope.body):
        if isinstance(node, cst.BinaryOperation) and _is_arithmetic_with(node, derived, tensors):
            return f"line {tree.start(node)[0]} computes with it"
        if node is not event.kept.node and _is_mixed(node, derived, fresh):
            return f"line {tree.start(node)[0]} uses it together with tensors that are not kept"
    return ""


def computes_with(loop: cst.For) -> bool:
    """Whether the body of a loop over kept tensors does arithmetic with what the loop hands it."""
    names = target_names(loop.target)
    operations = (node for node in walk(loop.body) if isinstance(node, cst.BinaryOperation))
    return any(_is_arithmetic_with(node, names, names) for node in operations)


def _parameters(scope: cst.FunctionDef) -> set[str]:
    return {node.name.value for node in walk(scope.params) if isinstance(node, cst.Param)}


def _derived(scope: cst.CSTNode, holders: set[str]) -> set[str]:
    """The holders' names, and the variables that are set from them, directly or through others."""
    flows = [(target, mentioned(source)) for target, source in _flows(scope)]
    derived = set(holders)
    while True:
        more = {name for target, sources in flows if sources & derived for name in target}
        if more <= derived:
            return derived
        derived |= more


def _flows(scope: cst.CSTNode) -> Iterator[tuple[set[str], cst.BaseExpression]]:
    for node in walk(scope):
        if isinstance(node, cst.Assign) and isinstance(
            node.value, (cst.Name, cst.Subscript, cst.Call, cst.Tuple)
        ):
            if not isinstance(node.value, cst.Call) or _takes_out(node.value):
                yield set().union(*(target_names(target.target) for target in node.targets)), node.value
        elif isinstance(node, cst.NamedExpr):
            yield target_names(node.target), node.value


def _takes_out(call: cst.Call) -> bool:
    """Whether this is a method like `pending.pop(name)`: its result is what the holder held."""
    return isinstance(call.func, cst.Attribute) and isinstance(call.func.value, (cst.Name, cst.Subscript))


def _is_arithmetic_with(node: cst.BinaryOperation, derived: set[str], tensors: set[str]) -> bool:
    """Whether one side is a kept tensor: a variable of `tensors`, or taken out of one of `derived`."""
    sides = (node.left, node.right)
    if any(isinstance(side, _LITERALS) for side in sides):
        return False
    return any(
        side.value in tensors if isinstance(side, cst.Name) else _root(side) in derived
        for side in sides
        if isinstance(side, _PLAIN)
    )


def _root(node: cst.CSTNode) -> str:
    """The variable at the front of `a.b[c].d()`."""
    while not isinstance(node, cst.Name):
        if isinstance(node, (cst.Attribute, cst.Subscript)):
            node = node.value
        elif isinstance(node, cst.Call):
            node = node.func
        else:
            return ""
    return node.value


def _is_mixed(node: cst.CSTNode, derived: set[str], fresh: set[str]) -> bool:
    """Whether a call or a list puts a kept tensor beside one that is not."""
    if isinstance(node, cst.List):
        roots = {_root(element.value) for element in node.elements if isinstance(element.value, _PLAIN)}
        return bool(roots & derived) and bool(roots - derived - {""})
    if isinstance(node, cst.Call):
        roots = {_root(argument.value) for argument in node.args if isinstance(argument.value, _PLAIN)}
        return bool(roots & derived) and bool(roots & fresh)
    return False
