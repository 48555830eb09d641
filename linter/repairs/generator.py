"""The text of a loop that becomes a nested generator."""

from __future__ import annotations

from collections.abc import Collection, Sequence

import libcst as cst
from loaderlint.linter.findings import Edit
from loaderlint.linter.reading.nodes import walk
from loaderlint.linter.repairs.collected import CollectedList
from loaderlint.linter.repairs.edit import between, insert, needs_blank_above
from loaderlint.linter.repairs.tree import Tree

_WHY = "# Each tensor is lent for one step only: hand it on in that step."


def generator_edits(
    tree: Tree,
    loop: cst.For,
    streamed: CollectedList,
    generator: str,
    carried: Sequence[str],
    others: Sequence[Edit],
    removed: Collection[cst.CSTNode],
    spaced: bool,
) -> list[Edit]:
    """Put `loop` into `def generator():` where it stands, and let it yield what it appended to `streamed`.

    It is edited by `others` too; the statements `removed` go from before it; `spaced` says that another function
    stands above it.
    """
    first, last = tree.start(loop)[0], _last_line(tree, loop)
    indent, unit = tree.indent(loop), _indent_unit(tree, loop)
    head = [f"def {generator}():", f"{unit}{_WHY}"]
    if carried:
        head.append(f"{unit}nonlocal {', '.join(carried)}")
    before = "\n" if not spaced and needs_blank_above(tree, loop, first, removed) else ""
    text = before + "".join(f"{indent}{line}\n" for line in head)
    edits = [insert((first, 1), text + unit)]
    yields = [edit for append in streamed.appends for edit in _yield_instead(tree, append)]
    # A line that is joined to the one before needs no indentation.
    joined = {
        line
        for one in (*others, *yields)
        if one.end_column > 1
        for line in range(one.line + 1, one.end_line + 1)
    }
    keep = tree.string_lines(walk(loop)) | joined | _outdented(tree, streamed)
    for number in range(first + 1, last + 1):
        if tree.line(number).strip() and number not in keep:
            edits.append(insert((number, 1), unit))
    if tree.line(last + 1).strip():
        edits.append(insert((last + 1, 1), "\n"))
    return edits + yields


def _outdented(tree: Tree, streamed: CollectedList) -> set[int]:
    """The lines of what `append` is given on lines of its own: they lose a step, as it comes behind the `yield`."""
    values = ((one, one.value.args[0].value) for one in streamed.appends if isinstance(one, cst.Expr))
    lower = (value for append, value in values if tree.start(value)[0] > tree.start(append)[0])
    return {line for value in lower for line in range(tree.start(value)[0] + 1, tree.end(value)[0] + 1)}


def _last_line(tree: Tree, loop: cst.For) -> int:
    """The loop's last line, with the comments below it that are indented as part of it."""
    last, depth = tree.end(loop)[0], len(tree.indent(loop).expandtabs())
    while (line := tree.line(last + 1)).lstrip().startswith("#"):
        if len(line.expandtabs()) - len(line.expandtabs().lstrip()) <= depth:
            break
        last += 1
    return last


def _indent_unit(tree: Tree, loop: cst.For) -> str:
    """One step of indentation, as the loop's own body is indented."""
    if not isinstance(loop.body, cst.IndentedBlock):
        return tree.indent_step
    return loop.body.indent or tree.unit.module.default_indent


def _yield_instead(tree: Tree, append: cst.Expr | cst.Assign) -> list[Edit]:
    """`A.append((name, w))`, and `A[name] = w`, become `yield name, w`."""
    if isinstance(append, cst.Assign):
        key = append.targets[0].target.slice[0]
        return [
            between(tree.start(append), tree.start(key), "yield "),
            between(tree.end(key), tree.start(append.value), ", "),
        ]
    value = append.value.args[0].value
    start, end = tree.start(value), tree.end(value)
    if isinstance(value, cst.Tuple) and value.lpar and value.elements and "\n" not in tree.text(value):
        start, end = tree.unit.range(value)[:2], tree.unit.range(value)[2:]
    before, after = "yield ", ""
    if "\n" in tree.text(value) and not value.lpar or isinstance(value, cst.NamedExpr):
        before, after = "yield (", ")"
    return [
        between(tree.start(append), start, before),
        between(end, tree.end(append), after),
    ]
