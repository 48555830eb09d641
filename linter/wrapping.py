"""Lines that a repair made too long, broken as the formatters of Python code (black, ruff) break them."""

from __future__ import annotations

import difflib
import tokenize
from collections.abc import Sequence
from dataclasses import dataclass

from loaderlint.linter.layout import CLOSE, OPEN, Layout, Token, Tokens
from loaderlint.linter.reading.source import lines_of

DEFAULT_WIDTH = 88
_MOST = 120

_SKIPPED = (tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT, tokenize.ENDMARKER)


@dataclass(frozen=True, slots=True)
class _Row:
    """What stands on one line; `nested` says that a bracket was open where it begins."""

    tokens: Tokens
    nested: bool


def wrapped(before: str, after: str, width: int) -> str:
    """`after`, where lines that are not in `before` and longer than `width` are broken, if they can be.

    A file whose own lines are longer, although they could be broken, may have lines of that length, up to 120. Lines
    with comments, or with strings of several lines, stay as they are. A blank line that is left at the beginning of
    a block, or below another one in it, goes.
    """
    old, new = lines_of(before), lines_of(after)
    blocks = difflib.SequenceMatcher(None, old, new, False).get_opcodes()
    changed = [number for kind, _, _, *place in blocks if kind != "equal" for number in range(*place)]
    blank = [last for kind, *_, last in blocks if kind != "equal" and _is_left_over(new, last)]
    changed = [number for number in changed if _length(new[number]) > width]
    if changed:
        width = max(width, min(_MOST, _longest(before, width)))
        rows = _rows(after)
        for number in changed:
            if number + 1 in rows:
                new[number] = "".join(_broken(new[number], rows[number + 1], width))
    for number in blank:
        new[number] = ""
    return "".join(new)


def _is_left_over(lines: Sequence[str], number: int) -> bool:
    """Whether this is a blank line below one that only the head of a block ends like, or a second one within a block."""
    if not 0 < number < len(lines) - 1 or lines[number].strip():
        return False
    above, below = lines[number - 1].rstrip(), lines[number + 1]
    return above.endswith("):") or not above and bool(below.strip()) and below[0] in " \t"


def _longest(text: str, width: int) -> int:
    """The length of the longest line that could be broken, but is not."""
    rows, lines = _rows(text), lines_of(text)
    long = (number for number in rows if _length(lines[number - 1]) > width)
    unbroken = (lines[one - 1] for one in long if len(_broken(lines[one - 1], rows[one], width)) > 1)
    return max(map(_length, unbroken), default=0)


def _broken(line: str, row: _Row, width: int) -> list[str]:
    code = line.rstrip("\r\n")
    indent = code[: len(code) - len(code.lstrip())]
    layout = Layout(width, "\t" if "\t" in indent else "    ")
    lines = (layout.part if row.nested else layout.statement)(row.tokens, indent)
    return [f"{one}{line[len(code) :]}" for one in lines]


def _length(line: str) -> int:
    return len(line.rstrip("\r\n").expandtabs())


def _rows(text: str) -> dict[int, _Row]:
    """The lines by number that hold whole tokens, no comment, and close each bracket that they open."""
    found: dict[int, list[tokenize.TokenInfo]] = {}
    nested: set[int] = set()
    torn: set[int] = set()
    depth = 0
    for token in tokenize.generate_tokens(iter(lines_of(text)).__next__):
        first, last = token.start[0], token.end[0]
        if token.type in _SKIPPED:
            continue
        if first != last or token.type == tokenize.COMMENT or token.line.rstrip().endswith("\\"):
            torn.update(range(first, last + 1))
        if first not in found and depth:
            nested.add(first)
        found.setdefault(first, []).append(token)
        depth += (token.string in OPEN) - (token.string in CLOSE)
    rows = {
        number: _Row(_tokens(those), number in nested)
        for number, those in found.items()
        if number not in torn and not any(one.string in (";", "lambda", ":=") for one in those)
    }
    return {number: row for number, row in rows.items() if _is_whole(row.tokens)}


def _tokens(those: Sequence[tokenize.TokenInfo]) -> Tokens:
    found = []
    depth = 0
    column = those[0].start[1]
    for token in those:
        space = token.line[column : token.start[1]]
        depth -= token.string in CLOSE
        found.append(Token(token.string, space, depth))
        depth += token.string in OPEN
        column = token.end[1]
    return tuple(found)


def _is_whole(tokens: Tokens) -> bool:
    opened = sum(token.text in OPEN for token in tokens)
    return opened == sum(token.text in CLOSE for token in tokens) and min(one.depth for one in tokens) == 0
