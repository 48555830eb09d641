"""Where a key stands in a TOML text: the library that reads TOML does not tell."""

from __future__ import annotations

import re
from collections import Counter

_PART = r"""(?:[\w-]+|"[^"]*"|'[^']*')"""
_DOTTED = rf"{_PART}(?:\s*\.\s*{_PART})*"
_HEADER = re.compile(rf"\s*(\[\[?)\s*({_DOTTED})\s*\]\]?\s*(?:#.*)?$")
_KEY = re.compile(rf"\s*({_DOTTED})\s*=")


def line_of(text: str, path: tuple[str, ...], entry: int = 0) -> int:
    """The line, from 1, of the key at `path`, or of the longest part of the path that begins a line.

    `entry` says which one, from 0, where the path leads through an array of tables (`[[producer]]`).
    """
    best, depth = 1, 0
    header: tuple[str, ...] = ()
    entries: Counter[tuple[str, ...]] = Counter()
    for number, line in enumerate(text.splitlines(), 1):
        if opened := _HEADER.match(line):
            header = here = _parts(opened[2])
            entries[header] += opened[1] == "[["
        elif assigned := _KEY.match(line):
            here = header + _parts(assigned[1])
        else:
            continue
        shared = _shared(here, path)
        if shared > depth and entries[header] in (0, entry + 1):
            best, depth = number, shared
    return best


def _parts(dotted: str) -> tuple[str, ...]:
    return tuple(part.strip("\"'") for part in re.findall(_PART, dotted))


def _shared(one: tuple[str, ...], other: tuple[str, ...]) -> int:
    """How many parts two paths have in common; 0 where the first leads elsewhere."""
    count = min(len(one), len(other))
    return count if one[:count] == other[:count] else 0
