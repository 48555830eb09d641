"""From a node of the standard library's tree, in which facts are found, to the LibCST node that is reported."""

from __future__ import annotations

import ast
import re

import libcst as cst
from loaderlint.linter.interpreter.events import Site
from loaderlint.linter.reading.index import Function
from loaderlint.linter.reading.nodes import walk
from loaderlint.linter.reading.slices import FunctionSlice

_KINDS: dict[type[ast.AST], type[cst.CSTNode]] = {
    ast.Call: cst.Call,
    ast.Return: cst.Return,
    ast.Assign: cst.Assign,
    ast.AnnAssign: cst.AnnAssign,
    ast.Delete: cst.Del,
    ast.Expr: cst.Expr,
    ast.For: cst.For,
    ast.AsyncFor: cst.For,
    ast.arg: cst.Param,
    ast.Yield: cst.Yield,
}


def site(function: Function, node: ast.AST) -> Site:
    """The place of `node` in the slice of the function that holds it. Raises `LookupError` for one outside it."""
    unit = function.index.slice(function)
    start = _place(unit, node.lineno, node.col_offset)
    # Of a parameter LibCST counts the name alone, without its annotation.
    named = isinstance(node, ast.arg)
    end = (start[0], start[1] + len(node.arg)) if named else _place(unit, node.end_lineno, node.end_col_offset)
    # LibCST counts a node's own parentheses as part of it: the tightest one around.
    around: list[tuple[tuple[int, int], tuple[int, int], cst.CSTNode]] = []
    for candidate in walk(unit.module):
        if isinstance(candidate, _KINDS[type(node)]):
            line, column, end_line, end_column = unit.range(candidate)
            if (line, column) <= start and end <= (end_line, end_column):
                around.append(((-line, -column), (end_line, end_column), candidate))
    if not around:
        raise LookupError(f"{unit.path}:{start[0]}:{start[1]}: no such node in {unit.qualname}")
    return Site(unit, min(around, key=lambda item: item[:2])[2])


def _place(unit: FunctionSlice, line: int, byte_offset: int) -> tuple[int, int]:
    """(line, column) in the file, from 1 and in characters, of what `ast` counts in UTF-8 bytes."""
    text = re.split(r"\r\n|\r|\n", unit.source)[line - unit.first_line]
    return line, len(text.encode("utf-8", "surrogatepass")[:byte_offset].decode("utf-8", "replace")) + 1
