"""The LibCST tree of one function's source lines, with positions in the file.

Only the functions that handle a stream are parsed with LibCST, and positions are computed on the first question
only: most slices never produce a finding.
"""

from __future__ import annotations

from functools import cached_property

import libcst as cst
from libcst.metadata import CodeRange, MetadataWrapper, PositionProvider
from loaderlint.linter.deep_stack import with_deep_stack


class FunctionSlice:
    """One function cut out of its file.

    `path` is as the user gave it, `qualname` like `Model.load_weights`, `first_line` the file's line (from 1) of the
    first decorator or of the `def`.
    """

    def __init__(self, path: str, qualname: str, first_line: int, source: str) -> None:
        self.path = path
        self.qualname = qualname
        self.first_line = first_line
        self.source = source
        # An indented `def` is made a module of its own by one line above it: columns stay those of the file.
        self._wrapped = source[:1] in " \t\f"

    @cached_property
    def module(self) -> cst.Module:
        """The slice as a LibCST module. Raises `cst.ParserSyntaxError` for what LibCST cannot read."""
        return cst.parse_module("if True:\n" + self.source if self._wrapped else self.source)

    @cached_property
    def function(self) -> cst.FunctionDef:
        """The function itself."""
        statement = self.module.body[0]
        if self._wrapped:
            statement = cst.ensure_type(statement, cst.If).body.body[0]
        return cst.ensure_type(statement, cst.FunctionDef)

    @cached_property
    def _ranges(self) -> dict[cst.CSTNode, CodeRange]:
        try:
            return self._resolve()
        except (RecursionError, KeyError):  # The provider stumbles over its own unwinding.
            return with_deep_stack(self._resolve)

    def _resolve(self) -> dict[cst.CSTNode, CodeRange]:
        # Asked through `resolve`, LibCST walks the tree once more for providers that work in batches: there is none.
        return dict(PositionProvider()._gen(MetadataWrapper(self.module, unsafe_skip_copy=True)))

    def range(self, node: cst.CSTNode) -> tuple[int, int, int, int]:
        """(line, column, end_line, end_column) of `node` in the file, all from 1, the end exclusive."""
        found = self._ranges[node]
        shift = self.first_line - (2 if self._wrapped else 1)
        return (
            found.start.line + shift,
            found.start.column + 1,
            found.end.line + shift,
            found.end.column + 1,
        )

    def text(self, node: cst.CSTNode) -> str:
        """The source text of `node`."""
        try:
            return self.module.code_for_node(node)
        except RecursionError:
            return with_deep_stack(lambda: self.module.code_for_node(node))
