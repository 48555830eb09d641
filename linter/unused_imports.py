"""Imports that only the code used which a repair took away."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Sequence

from loaderlint.linter.reading.source import lines_of

Replacement = tuple[int, int, str]
"""The first and the last line, and what stands there instead."""


def without_unused_imports(before: str, after: str) -> str:
    """`after` without what it imports for code of `before` alone: names that stand nowhere else in it any more.

    Only plain imports at the top level of the module go, where no comment stands beside them.
    """
    while True:
        found = next(_unused(before, after), None)
        if found is None:
            return after
        first, last, text = found
        lines = lines_of(after)
        after = "".join([*lines[: first - 1], text, *lines[last:]])


def _unused(before: str, after: str) -> Iterator[Replacement]:
    imports = (node for node in ast.parse(after).body if isinstance(node, (ast.Import, ast.ImportFrom)))
    for node in imports:
        for alias in node.names:
            name = (alias.asname or alias.name).partition(".")[0]
            word = re.compile(rf"(?<!\w){re.escape(name)}(?!\w)")
            if len(word.findall(after)) == 1 < len(word.findall(before)):
                yield from _without(lines_of(after), node, alias)


def _without(
    lines: Sequence[str], node: ast.Import | ast.ImportFrom, alias: ast.alias
) -> Iterator[Replacement]:
    first, last = node.lineno, node.end_lineno or node.lineno
    text = "".join(lines[first - 1 : last])
    if not text.isascii() or any(sign in text for sign in "#;\\"):
        return
    if len(node.names) == 1:
        yield *_with_blank_lines(lines, first, last), ""
        return
    line = lines[alias.lineno - 1]
    start, end = alias.col_offset, alias.end_col_offset or alias.col_offset
    rest = line[end:].removeprefix(",")
    if not line[:start].strip() and not rest.strip():
        yield alias.lineno, alias.lineno, ""
    elif rest != line[end:]:
        yield alias.lineno, alias.lineno, line[:start] + rest.lstrip(" ")
    else:
        yield alias.lineno, alias.lineno, line[:start].rstrip(" ").removesuffix(",") + rest


def _with_blank_lines(lines: Sequence[str], first: int, last: int) -> tuple[int, int]:
    """The lines of a statement that goes, and the blank ones that would begin the file or meet those below."""
    while first == 1 and last < len(lines) and not lines[last].strip():
        last += 1
    while 1 < first and last < len(lines) and not (lines[first - 2] + lines[last]).strip():
        first -= 1
    return first, last
