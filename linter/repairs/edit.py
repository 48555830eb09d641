"""The few kinds of text edit that repairs are made of. Line ends in new text are "\\n"."""

from __future__ import annotations

import libcst as cst
from loaderlint.linter.findings import Edit
from loaderlint.linter.repairs.tree import Tree

_NEEDS_PARENTHESES = (
    cst.BinaryOperation,
    cst.BooleanOperation,
    cst.UnaryOperation,
    cst.Comparison,
    cst.IfExp,
    cst.Await,
    cst.Lambda,
    cst.NamedExpr,
    cst.Yield,
)


def between(start: tuple[int, int], end: tuple[int, int], text: str) -> Edit:
    """Replace what lies from `start` to `end` by `text`."""
    return Edit(*start, *end, text)


def insert(place: tuple[int, int], text: str) -> Edit:
    """Put `text` in at `place`."""
    return between(place, place, text)


def replace(tree: Tree, node: cst.CSTNode, text: str) -> Edit:
    """Replace `node`, its own parentheses included."""
    return between(tree.start(node), tree.end(node), text)


def call_method(tree: Tree, node: cst.BaseExpression, method: str) -> list[Edit]:
    """Call `method` (like `.clone()`) on the value of `node`."""
    if isinstance(node, _NEEDS_PARENTHESES) and not node.lpar:
        return [insert(tree.start(node), "("), insert(tree.end(node), ")" + method)]
    return [insert(tree.end(node), method)]


def delete_line(tree: Tree, line: cst.CSTNode) -> Edit:
    """Remove a statement with its lines, and one blank line where two would then meet, or a block begin with one."""
    first, last = tree.start(line)[0], tree.end(line)[0]
    begins = tree.parent(line).body[0] is line and tree.line(first - 1).rstrip().endswith(":")
    blank = (begins or not tree.line(first - 1).strip()) and not tree.line(last + 1).strip()
    return between((first, 1), (last + 1 + blank, 1), "")


def first_line(tree: Tree, statement: cst.CSTNode) -> int:
    """The line that a statement begins on, or the first of the comments right above it."""
    first = tree.start(statement)[0]
    while tree.line(first - 1).strip().startswith("#"):
        first -= 1
    return first
