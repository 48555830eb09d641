"""Reads the report files of all processes and ranks of a run, and makes one report of them."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from .report_file import FORMAT_VERSION

_PATTERN = "loaderlint-guard-*.jsonl"
_FINDINGS = ("stale-read", "held-after-load")
# What differs between two processes that saw the same: one tensor stands for all of a place.
_OF_PROCESS = ("tensor", "holders", "count", "bytes", "guard", "text")


class ReportError(Exception):
    """A report folder or file cannot be read; the message says which, where and why."""


@dataclass(slots=True)
class Merged:
    """The processes of a run, and what they reported: the same place once, with a count over all of them.

    `processes` are the first lines of the report files. Each finding is the line of the process that comes
    first, with "count" summed up and "processes" as indices into `processes`. `errors` tell which files cannot
    be read, or only in part, as those of a process that was killed.
    """

    processes: list[dict[str, Any]] = field(default_factory=list)
    findings: list[dict[str, Any]] = field(default_factory=list)
    errors: list[str] = field(default_factory=list)

    def fields(self) -> dict[str, Any]:
        """Return the whole for machines."""
        return {
            "version": FORMAT_VERSION,
            "processes": self.processes,
            "findings": self.findings,
            "errors": self.errors,
        }


def merge(folder: Path) -> Merged:
    """Return what the report files of a folder say together; raises ReportError where there is no such folder."""
    if not folder.is_dir():
        raise ReportError(f"{folder}: {'not a folder' if folder.exists() else 'no such folder'}")
    merged = Merged()
    known: dict[str, dict[str, Any]] = {}
    for file in sorted(folder.glob(_PATTERN)):
        try:
            _take_in(file, merged, known)
        except ReportError as error:
            merged.errors.append(str(error))
    merged.findings = list(known.values())
    return merged


def _take_in(file: Path, merged: Merged, known: dict[str, dict[str, Any]]) -> None:
    """Add the lines of one file, up to the first that cannot be read."""
    process = len(merged.processes)
    for number, fields in _lines(file):
        if fields["kind"] == "guard":
            merged.processes.append(fields)
            continue
        if number == 1:
            raise ReportError(f"{file}:1: the line that describes the process is missing")
        key = json.dumps({name: fields[name] for name in sorted(fields) if name not in _OF_PROCESS})
        first = known.setdefault(key, {**fields, **_nothing(fields)})
        first["count"] += fields["count"]
        if "bytes" in fields:
            first["bytes"] += fields["bytes"]
        first["processes"].append(process)


def _nothing(fields: dict[str, Any]) -> dict[str, Any]:
    return {"count": 0, **({"bytes": 0} if "bytes" in fields else {}), "processes": []}


def _lines(file: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    try:
        lines = file.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise ReportError(f"{file}: cannot be read: {getattr(error, 'strerror', None) or error}") from None
    if not lines:
        raise ReportError(f"{file}: the file is empty")
    for number, line in enumerate(lines, start=1):
        try:
            fields = json.loads(line)
        except ValueError as error:
            raise ReportError(f"{file}:{number}: not a line of JSON: {error}") from None
        _check(fields, f"{file}:{number}")
        yield number, fields


def _check(fields: Any, where: str) -> None:
    kind = fields.get("kind") if isinstance(fields, dict) else None
    if kind == "guard":
        if fields.get("version") != FORMAT_VERSION:
            found = fields.get("version")
            raise ReportError(
                f"{where}: version {found!r} of the format; this command reads {FORMAT_VERSION}"
            )
    elif kind not in _FINDINGS or not isinstance(fields.get("count"), int) or "text" not in fields:
        raise ReportError(f"{where}: not a line of a report of the loaderlint guard")


def process_name(head: dict[str, Any]) -> str:
    """Return how text names a process."""
    name = f"process {head.get('pid')} on {head.get('host')}"
    return name if head.get("rank") is None else f"rank {head['rank']}, {name}"
