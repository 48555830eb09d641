"""A block that has become needless: its body moves out of it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import libcst as cst
from loaderlint.linter.findings import Edit
from loaderlint.linter.reading.nodes import walk
from loaderlint.linter.repairs.edit import between
from loaderlint.linter.repairs.tree import Tree


def needless_with(tree: Tree, name: str, uses: Sequence[cst.Name]) -> cst.With | None:
    """The block `with ... as name:` that is for nothing but `uses`."""
    others = [use for use in tree.names.get(name, ()) if use not in uses]
    target = tree.parent(others[0]) if len(others) == 1 else None
    block = tree.parent(tree.parent(target)) if isinstance(target, cst.AsName) else None
    if (
        not isinstance(block, cst.With)
        or len(block.items) != 1
        or not isinstance(block.body, cst.IndentedBlock)
    ):
        return None
    return block


def unwrap(tree: Tree, block: cst.With | cst.If, rewritten: Sequence[Edit]) -> Iterator[Edit]:
    """Remove the header of `block` and one step of indentation from its body, but for lines `rewritten` anyway."""
    first, last = tree.start(block)[0], tree.end(block)[0]
    yield between((first, 1), (tree.start(block.body.body[0])[0], 1), "")
    indent = len(tree.indent(block))
    inner = len(tree.indent(block.body.body[0]))
    kept = tree.string_lines(walk(block))
    # Of a statement that is rewritten, only its first line keeps its place.
    kept |= {line for edit in rewritten for line in range(edit.line + (edit.column > 1), edit.end_line + 1)}
    kept -= {edit.end_line for edit in rewritten if edit.end_column == 1}
    for number in range(tree.start(block.body.body[0])[0], last + 1):
        if tree.line(number).strip() and number not in kept:
            yield between((number, indent + 1), (number, inner + 1), "")
