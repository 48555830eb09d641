"""Whether code that is to run at another time looks at an attribute that is set meanwhile, or sets one."""

from __future__ import annotations

from collections.abc import Iterable

import libcst as cst
from loaderlint.linter.reading.nodes import walk
from loaderlint.linter.repairs.tree import Refused, Tree

_SETTING = (cst.AssignTarget, cst.AnnAssign, cst.AugAssign)


def refuse_if_set_meanwhile(
    tree: Tree, moved: Iterable[cst.CSTNode], meanwhile: Iterable[cst.CSTNode]
) -> None:
    """Raise `Refused` where one of the two sets an `a.b` that stands in the other, written alike."""
    moved, meanwhile = tuple(moved), tuple(meanwhile)
    changed = _set(tree, moved) & _mentioned(tree, meanwhile) | _mentioned(tree, moved) & _set(
        tree, meanwhile
    )
    if changed:
        raise Refused(f"`{min(changed)}` is set meanwhile")


def _set(tree: Tree, nodes: tuple[cst.CSTNode, ...]) -> set[str]:
    targets = (node.target for node in walk(*nodes) if isinstance(node, _SETTING))
    return {tree.text(target) for target in targets if isinstance(target, cst.Attribute)}


def _mentioned(tree: Tree, nodes: tuple[cst.CSTNode, ...]) -> set[str]:
    return {tree.text(node) for node in walk(*nodes) if isinstance(node, cst.Attribute)}
