"""Makes a program small that still shows a disagreement."""

from __future__ import annotations

from collections.abc import Callable, Iterator


def shrunk(code: str, shows: Callable[[str], bool]) -> str:
    """`code` without the lines, and the nesting, that `shows` does not need."""
    smaller = next(filter(shows, _smaller(code)), None)
    while smaller is not None:
        code = smaller
        smaller = next(filter(shows, _smaller(code)), None)
    return code


def _smaller(code: str) -> Iterator[str]:
    lines = code.split("\n")
    for start in range(len(lines)):
        if not lines[start].strip():
            continue
        end = _end_of_block(lines, start)
        yield _joined(lines[:start], lines[end:])
        if end > start + 1:
            yield _joined(
                lines[:start], [line.removeprefix("    ") for line in lines[start + 1 : end]], lines[end:]
            )


def _end_of_block(lines: list[str], start: int) -> int:
    depth = _depth(lines[start])
    inner = range(start + 1, len(lines))
    return next((end for end in inner if lines[end].strip() and _depth(lines[end]) <= depth), len(lines))


def _depth(line: str) -> int:
    return len(line) - len(line.lstrip())


def _joined(*parts: list[str]) -> str:
    return "\n".join(line for part in parts for line in part)
