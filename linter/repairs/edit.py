"""The few kinds of text edit that repairs are made of. Line ends in new text are "\\n"."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence

import libcst as cst
from loaderlint.linter.findings import Edit
from loaderlint.linter.repairs.tree import Statement, Tree

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


def needs_blank_above(
    tree: Tree, statement: cst.CSTNode, line: int, removed: Collection[cst.CSTNode]
) -> bool:
    """Whether a function put in at `line`, before `statement`, needs a blank line above; `removed` go from there."""
    above = tree.line(line - 1).strip()
    before = [one for one in tree.parent(statement).body if tree.start(one) < tree.start(statement)]
    return bool(above) and not above.startswith("#") and any(one not in removed for one in before)


def rewritten(tree: Tree, first: int, last: int, edits: Sequence[Edit]) -> str:
    """The lines `first` to `last` after `edits` in them."""
    lines = [tree.line(number) for number in range(first, last + 1)]
    for edit in sorted(edits, key=lambda edit: (edit.line, edit.column), reverse=True):
        start, end = edit.line - first, edit.end_line - first
        text = lines[start][: edit.column - 1] + edit.text + lines[end][edit.end_column - 1 :]
        lines[start : end + 1] = text.split("\n")
    return "\n".join(lines)


def delete_statements(tree: Tree, statements: Sequence[Statement]) -> Iterator[Edit]:
    """Remove statements of one block with the comments above them; neighbours go in one piece."""
    block = list(tree.parent(statements[0]).body)
    places = sorted(block.index(statement) for statement in statements)
    while places:
        count = next(
            (number for number in range(1, len(places)) if places[number] != places[0] + number), len(places)
        )
        first, last = first_line(tree, block[places[0]]), tree.end(block[places[count - 1]])[0]
        begins = places[0] == 0 and tree.line(first - 1).rstrip().endswith(":")
        if places[count - 1] == len(block) - 1:
            while not tree.line(first - 1).strip():
                first -= 1
        elif begins or not tree.line(first - 1).strip():
            while not tree.line(last + 1).strip():
                last += 1
        yield between((first, 1), (last + 1, 1), "")
        places = places[count:]
