"""One function's tree with parents and source text, walked without recursion."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from functools import cached_property

import libcst as cst
from loaderlint.linter.reading.nodes import children, walk
from loaderlint.linter.reading.slices import FunctionSlice
from loaderlint.linter.repairs.imports import Surroundings
from loaderlint.linter.repairs.texts import short

Statement = cst.SimpleStatementLine | cst.BaseCompoundStatement | cst.SimpleStatementSuite

_LINE_END = re.compile(r"\r\n|\r|\n")


class Refused(Exception):
    """This strategy does not fit; `str()` is the reason, a sentence for the user."""


class Tree:
    """A function slice with the questions that repairs ask. Places are (line, column) in the file, from 1.

    `around` is the file, for imports; without it no repair can need one.
    """

    def __init__(self, unit: FunctionSlice, around: Surroundings | None = None) -> None:
        self.unit = unit
        self.around = around
        self._parents = {child: node for node in walk(unit.module) for child in children(node)}
        self._lines = _LINE_END.split(unit.source)

    @cached_property
    def names(self) -> dict[str, list[cst.Name]]:
        """Every use of each name as a variable, in source order."""
        found: dict[str, list[cst.Name]] = {}
        for node in self._parents:
            if isinstance(node, cst.Name) and self._is_variable(node):
                found.setdefault(node.value, []).append(node)
        for uses in found.values():
            uses.sort(key=self.start)
        return found

    def _is_variable(self, name: cst.Name) -> bool:
        parent = self._parents[name]
        if isinstance(parent, cst.Attribute):
            return parent.value is name
        return not (isinstance(parent, cst.Arg) and parent.keyword is name)

    def parent(self, node: cst.CSTNode) -> cst.CSTNode:
        return self._parents[node]

    def ancestors(self, node: cst.CSTNode) -> Iterator[cst.CSTNode]:
        """What is around `node`, from the inside out."""
        while (node := self._parents.get(node)) is not None:
            yield node

    def inside(self, node: cst.CSTNode, outer: cst.CSTNode) -> bool:
        return node is outer or any(around is outer for around in self.ancestors(node))

    def scope(self, node: cst.CSTNode) -> cst.FunctionDef | cst.Lambda | cst.ClassDef:
        """The innermost function (or class body) that `node` runs in."""
        scopes = (cst.FunctionDef, cst.Lambda, cst.ClassDef)
        return next(around for around in self.ancestors(node) if isinstance(around, scopes))

    def statement(self, node: cst.CSTNode) -> Statement:
        """The innermost statement around `node`, or `node`."""
        kinds = (cst.SimpleStatementLine, cst.BaseCompoundStatement, cst.SimpleStatementSuite)
        return next(around for around in (node, *self.ancestors(node)) if isinstance(around, kinds))

    def start(self, node: cst.CSTNode) -> tuple[int, int]:
        """Where `node` begins, its own parentheses included."""
        parens = node.lpar if isinstance(node, cst.BaseExpression) else ()
        return self.unit.range(parens[0] if parens else node)[:2]

    def end(self, node: cst.CSTNode) -> tuple[int, int]:
        """Where `node` ends, its own parentheses included."""
        parens = node.rpar if isinstance(node, cst.BaseExpression) else ()
        return self.unit.range(parens[-1] if parens else node)[2:]

    def line(self, number: int) -> str:
        """A line of the file without its line end; "" for a line outside the function."""
        index = number - self.unit.first_line
        return self._lines[index] if 0 <= index < len(self._lines) else ""

    def indent(self, node: cst.CSTNode) -> str:
        """The whitespace before the line that `node` begins on."""
        line = self.line(self.start(node)[0])
        return line[: len(line) - len(line.lstrip())]

    @cached_property
    def indent_step(self) -> str:
        """One step of indentation, as the function's own body is indented."""
        body = self.unit.function.body
        if not isinstance(body, cst.IndentedBlock):
            return self.unit.module.default_indent
        return self.indent(body.body[0]).removeprefix(self.indent(self.unit.function))

    def source(self, start: tuple[int, int], end: tuple[int, int]) -> str:
        """The text from `start` to `end`, its line ends written as "\\n"."""
        lines = [self.line(number) for number in range(start[0], end[0] + 1)]
        lines[-1] = lines[-1][: end[1] - 1]
        lines[0] = lines[0][start[1] - 1 :]
        return "\n".join(lines)

    def text(self, node: cst.CSTNode) -> str:
        """The text of `node` as it stands in the file, its own parentheses included."""
        return self.source(self.start(node), self.end(node))

    def brief(self, node: cst.CSTNode) -> str:
        """The text of `node` for a message: on one line, and not too long."""
        return short(self.text(node))

    def string_lines(self, nodes: Iterable[cst.CSTNode]) -> set[int]:
        """Lines that begin inside a string literal, where inserted whitespace would change the program."""
        found: set[int] = set()
        for node in nodes:
            if isinstance(node, (cst.SimpleString, cst.FormattedString)):
                first, _, last, _ = self.unit.range(node)
                found.update(range(first + 1, last + 1))
        return found
