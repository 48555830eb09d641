"""The user's code in a title or a reason: on one line, and not too long."""

from __future__ import annotations

_LONGEST = 60


def short(code: str) -> str:
    """`code` on one line, its end cut off where it is long."""
    line = " ".join(code.split())
    return line if len(line) <= _LONGEST else line[: _LONGEST - 1] + "…"
