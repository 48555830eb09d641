"""Whether a holder is emptied while it is filled, so that it never has the whole stream."""

from __future__ import annotations

import re

import libcst as cst
from loaderlint.linter.reading.nodes import walk
from loaderlint.linter.repairs.names import bound_names
from loaderlint.linter.repairs.tree import Tree

_REMOVALS = ("pop", "popitem", "popleft", "clear", "remove")
_DOTTED = re.compile(r"[\w.]+")


def gives_up(tree: Tree, holder: str, code: cst.CSTNode) -> bool:
    """Whether `code` takes something out of the holder, or starts it anew."""
    match = _DOTTED.match(holder)
    names = {match.group(), match.group().rpartition(".")[0]} - {""} if match else set()
    if isinstance(code, (cst.For, cst.While)) and names & bound_names(code.body):
        return True
    uses = (node for node in walk(code) if isinstance(node, (cst.Name, cst.Attribute)))
    return any(_is_removal(tree, use) for use in uses if tree.text(use) in names)


def _is_removal(tree: Tree, use: cst.Name | cst.Attribute) -> bool:
    parent = tree.parent(use)
    while isinstance(parent, cst.Subscript) and parent.value is use:
        use, parent = parent, tree.parent(parent)
    if isinstance(parent, cst.Attribute):
        return parent.attr.value in _REMOVALS
    return isinstance(parent, cst.Del)
