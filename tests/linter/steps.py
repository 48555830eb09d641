"""Counts the steps that a backtracking matcher takes for a regular expression: the same on every machine.

Python's own matcher does not tell. This one is naive, so it takes as many steps as Python's, or more.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from re import _constants as op  # type: ignore[attr-defined]
from re import _parser as parser  # type: ignore[attr-defined]
from typing import Any

_ONE = (op.LITERAL, op.NOT_LITERAL, op.ANY, op.IN)
_REPEATS = (op.MAX_REPEAT, op.MIN_REPEAT)
_CLASSES = {op.CATEGORY_SPACE: r"\s", op.CATEGORY_WORD: r"\w", op.CATEGORY_DIGIT: r"\d"}
_OTHERS = {op.CATEGORY_NOT_SPACE: r"\S", op.CATEGORY_NOT_WORD: r"\W", op.CATEGORY_NOT_DIGIT: r"\D"}


class TooManySteps(Exception):
    """The matcher gave up: it took more steps than it may."""


class Steps:
    """One pattern, taken apart. Bytes are read as Latin-1."""

    def __init__(self, pattern: str | bytes, flags: int = 0) -> None:
        text = pattern.decode("latin-1") if isinstance(pattern, bytes) else pattern
        self._flags = (flags & ~re.UNICODE.value) | (re.ASCII.value if isinstance(pattern, bytes) else 0)
        self.tree: list[Any] = list(parser.parse(text, self._flags))
        self.taken = 0
        self._limit = 0

    def taken_on(self, text: str, anchored: bool, limit: int = 200_000) -> int:
        """The steps of finding all matches in a text, or the one at its beginning. Raises `TooManySteps`."""
        self.taken, self._limit, start = 0, limit, 0
        while start <= (0 if anchored else len(text)):
            end = next(self._ends(self.tree, 0, text, start), None)
            start = start + 1 if end is None or end == start else end
        return self.taken

    def accepts(self, node: Any, char: str) -> bool:
        """Whether a node of the pattern that stands for one character stands for this one."""
        kind, value = node
        if self._flags & re.IGNORECASE:
            char = char.lower()
        if kind is op.LITERAL:
            return self._code(value) == char
        if kind is op.NOT_LITERAL:
            return self._code(value) != char
        if kind is op.ANY:
            return char != "\n" or bool(self._flags & re.DOTALL)
        negated = value[0][0] is op.NEGATE
        return any(self._in(part, char) for part in value[negated:]) != negated

    def _code(self, code: int) -> str:
        return chr(code).lower() if self._flags & re.IGNORECASE else chr(code)

    def _in(self, part: Any, char: str) -> bool:
        kind, value = part
        if kind is op.RANGE:
            chars = {char, char.upper()} if self._flags & re.IGNORECASE else {char}
            return any(value[0] <= ord(one) <= value[1] for one in chars)
        if kind is op.CATEGORY:
            return re.fullmatch(_CLASSES.get(value) or _OTHERS[value], char) is not None
        return self._code(value) == char

    def _step(self) -> None:
        self.taken += 1
        if self.taken > self._limit:
            raise TooManySteps

    def _ends(self, nodes: list[Any], index: int, text: str, at: int) -> Iterator[int]:
        """Where the nodes from `index` on may end if they begin at `at`, in the order in which a matcher tries."""
        self._step()
        if index == len(nodes):
            yield at
            return
        for end in self._node(nodes[index], text, at):
            yield from self._ends(nodes, index + 1, text, end)

    def _node(self, node: Any, text: str, at: int) -> Iterator[int]:
        kind, value = node
        if kind in _ONE:
            if at < len(text) and self.accepts(node, text[at]):
                yield at + 1
        elif kind is op.BRANCH:
            for way in value[1]:
                yield from self._ends(list(way), 0, text, at)
        elif kind is op.SUBPATTERN:
            yield from self._ends(list(value[3]), 0, text, at)
        elif kind in _REPEATS:
            yield from self._repeat(node, text, at)
        elif kind in (op.ASSERT, op.ASSERT_NOT):
            begin = at if value[0] > 0 else at - 1  # Those that look back are one character long here.
            found = begin >= 0 and next(self._ends(list(value[1]), 0, text, begin), None) is not None
            if found == (kind is op.ASSERT):
                yield at
        elif kind is op.AT:
            if self._holds(value, text, at):
                yield at
        else:
            raise AssertionError(f"this counter knows no {kind}")

    def _repeat(self, node: Any, text: str, at: int) -> Iterator[int]:
        kind, (least, most, inner) = node
        body, greedy = list(inner), kind is op.MAX_REPEAT
        ends, end = [at], at
        if len(body) == 1 and body[0][0] in _ONE:
            while len(ends) <= most and end < len(text) and self.accepts(body[0], text[end]):
                self._step()
                end += 1
                ends.append(end)
            yield from (ends[least:][::-1] if greedy else ends[least:])
            return
        yield from self._again(body, least, most, greedy, text, at, 0)

    def _again(
        self, body: list[Any], least: int, most: int, greedy: bool, text: str, at: int, done: int
    ) -> Iterator[int]:
        if not greedy and done >= least:
            yield at
        if done < most:
            for end in self._ends(body, 0, text, at):
                if end > at or done < least:
                    yield from self._again(body, least, most, greedy, text, end, done + 1)
        if greedy and done >= least:
            yield at

    def _holds(self, place: Any, text: str, at: int) -> bool:
        if place in (op.AT_BEGINNING, op.AT_BEGINNING_STRING):
            return at == 0 or (bool(self._flags & re.MULTILINE) and text[at - 1] == "\n")
        if place in (op.AT_END, op.AT_END_STRING):
            return at == len(text)
        words = [bool(text[i : i + 1]) and (text[i].isalnum() or text[i] == "_") for i in (at - 1, at) if i >= 0]
        edge = len(words) == 2 and words[0] != words[1] or len(words) == 1 and words[0]
        return edge == (place is op.AT_BOUNDARY)
