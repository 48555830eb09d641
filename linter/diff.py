"""Unified diffs in bytes: `git apply` and `patch` take them whatever a file's encoding and line ends."""

from __future__ import annotations

import difflib
import os

from loaderlint.linter.reading.source import SourceFile

_NO_END = b"\n\\ No newline at end of file\n"


def unified_diff(before: SourceFile, after: SourceFile) -> bytes:
    """The change from `before` to `after` as a diff with a/ and b/ paths; empty where there is none."""
    name = os.fsencode(_below_here(before.path)).lstrip(b"/")
    # A tab ends the name for readers that would stop at a space.
    tab = b"\t" if b" " in name else b""
    lines = difflib.diff_bytes(
        difflib.unified_diff,
        _lines(before.raw),
        _lines(after.raw),
        b"a/" + name + tab,
        b"b/" + name + tab,
    )
    return b"".join(line if line.endswith(b"\n") else line + _NO_END for line in lines)


def _below_here(path: str) -> str:
    """The path from the current directory, where `patch` and `git apply` are run, if the file lies below it."""
    relative = os.path.relpath(path)
    return path if relative.startswith("..") else relative


def _lines(raw: bytes) -> list[bytes]:
    r"""Lines as diffs have them: only "\n" ends one, whatever Python thinks of "\r"."""
    *ended, rest = raw.split(b"\n")
    lines = [line + b"\n" for line in ended]
    return [*lines, rest] if rest else lines
