"""How a statement, or a part of one in brackets, is laid out on several lines of a given width."""

from __future__ import annotations

import keyword
from collections.abc import Sequence
from dataclasses import dataclass, replace

OPEN, CLOSE = tuple("([{"), tuple(")]}")

# What the expression behind it can be put into parentheses for.
_BEFORE_EXPRESSION = ("return", "yield", "if", "elif", "while")
_ASSIGNS = ("=", "+=", "-=", "*=", "/=", "|=", "&=")
_NOT_BROKEN = ("def", "class", "import", "from", "del", "global", "nonlocal", "async", "with", "@", "except")
_VALUES = ("True", "False", "None")
# From what binds least to what binds most: all that are alike are broken together.
_OPERATORS = (
    ("if", "else"),
    ("or", "and"),
    ("==", "!=", "<", ">", "<=", ">=", "is", "in", "not"),
    ("|",),
    ("&",),
    ("+", "-"),
    ("*", "/", "//", "%", "@"),
)


@dataclass(frozen=True, slots=True)
class Token:
    """A token and the whitespace before it; `depth` counts the brackets around it."""

    text: str
    space: str
    depth: int


Tokens = tuple[Token, ...]
_COMMA = Token(",", "", 0)


@dataclass(frozen=True, slots=True)
class Layout:
    """Breaks what is longer than `width`, in steps of indentation of `unit`."""

    width: int
    unit: str

    def statement(self, tokens: Tokens, indent: str) -> list[str]:
        """The lines of a statement, or of the head of a compound one; one line where it cannot be broken."""
        tail = ":" if tokens[-1].text == ":" else ""
        body = tokens[: len(tokens) - len(tail)]
        whole = [indent + _text(tokens)]
        compound = tokens[0].text in ("if", "elif", "while", "for", "else", "try", "finally")
        if tokens[0].text in _NOT_BROKEN or compound and not tail or self._fits(whole[0]):
            return whole
        start = _expression(body)
        opened = _last_bracket(body)
        places = _breaks(body[start:])
        joined = not places or len(places) == 1 and body[start + places[0] - 1].text != ","
        if opened is not None and opened >= start and joined:
            if self._fits(indent + _text(body[: opened + 1])):
                return self._bracket(body, opened, indent, tail)
        if 0 < start < len(body):
            head = f"{indent}{_text(body[:start])} ("
            lines = [head, *self._inside(body[start:], indent + self.unit), f"{indent}){tail}"]
            if all(map(self._fits, lines)):
                return lines
        return whole

    def part(self, tokens: Tokens, indent: str) -> list[str]:
        """The lines of what stands alone on a line within brackets."""
        tail = "," if tokens[-1].text == "," else ""
        return self._inside(tokens[: len(tokens) - len(tail)], indent, tail)

    def _inside(self, tokens: Tokens, indent: str, tail: str = "") -> list[str]:
        line = indent + _text(tokens) + tail
        if self._fits(line) or not tokens:
            return [line]
        places = _breaks(tokens)
        if places:
            parts = [tokens[first:last] for first, last in zip([0, *places], [*places, len(tokens)])]
            if tokens[places[0] - 1].text == ",":
                lines = [self.part((*part, _COMMA), indent) for part in map(_without_comma, parts)]
            else:
                lines = [self._inside(part, indent) for part in parts[:-1]]
                lines.append(self._inside(parts[-1], indent, tail))
            return [one for part in lines for one in part]
        opened = _last_bracket(tokens)
        return [line] if opened is None else self._bracket(tokens, opened, indent, tail)

    def _bracket(self, tokens: Tokens, opened: int, indent: str, tail: str) -> list[str]:
        body = tuple(replace(one, depth=one.depth - 1) for one in tokens[opened + 1 : -1])
        return [
            indent + _text(tokens[: opened + 1]),
            *self._inside(body, indent + self.unit),
            indent + tokens[-1].text + tail,
        ]

    def _fits(self, line: str) -> bool:
        return len(line.expandtabs()) <= self.width


def _text(tokens: Sequence[Token]) -> str:
    return "".join(one.space + one.text for one in tokens).lstrip()


def _without_comma(part: Tokens) -> Tokens:
    return part[:-1] if part[-1].text == "," else part


def _expression(tokens: Tokens) -> int:
    """Where the expression begins that the statement ends with; 0 where it is all of it."""
    places = [number for number, one in enumerate(tokens) if one.depth == 0 and one.text in _ASSIGNS]
    if places:
        return places[-1] + 1
    if tokens[0].text == "for":
        return next(number for number, one in enumerate(tokens) if one.text == "in" and one.depth == 0) + 1
    if tokens[0].text in _BEFORE_EXPRESSION and len(tokens) > 1 and tokens[1].text != "from":
        return 1
    return 0


def _last_bracket(tokens: Tokens) -> int | None:
    """Where the bracket opens that the tokens end with, if there is anything in it."""
    if tokens[-1].text not in CLOSE:
        return None
    places = [n for n, one in enumerate(tokens) if one.depth == tokens[-1].depth and one.text in OPEN]
    return places[-1] if places[-1] < len(tokens) - 2 else None


def _breaks(tokens: Tokens) -> list[int]:
    """The numbers of the tokens that begin a new line: those that bind least."""
    loops = [number for number, one in enumerate(tokens) if one.depth == 0 and one.text == "for"]
    if loops:
        behind = (n for n in range(loops[0], len(tokens)) if tokens[n].depth == 0 and tokens[n].text == "if")
        starts = [n - (n > 0 and tokens[n - 1].text == "async") for n in loops]
        return [one for one in sorted([*starts, *behind]) if one]
    commas = [number + 1 for number, one in enumerate(tokens) if one.depth == 0 and one.text == ","]
    if commas:
        return [one for one in commas if one < len(tokens)]
    for kind in _OPERATORS:
        places = [number for number in range(1, len(tokens)) if _is_operator(tokens, number, kind)]
        if places:
            return places
    return []


def _is_operator(tokens: Tokens, number: int, kind: Sequence[str]) -> bool:
    one, before = tokens[number], tokens[number - 1].text
    if one.depth or one.text not in kind:
        return False
    if one.text == "not":
        return number + 1 < len(tokens) and tokens[number + 1].text == "in" and before != "is"
    if keyword.iskeyword(before):
        return before in _VALUES
    return before[-1] in ")]}\"'" or before[-1].isalnum() or before[-1] == "_"
