"""The report file of this process: JSON lines, written anew whenever there is something new to say."""

from __future__ import annotations

import json
import os
import socket
import sys
import time
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from .levels import REPORT_VARIABLE

FORMAT_VERSION = 1


def rank() -> int | None:
    """Return the rank of this process in its distributed job, None where it has none."""
    distributed = sys.modules.get("torch.distributed")
    if distributed is not None and distributed.is_available() and distributed.is_initialized():
        return int(distributed.get_rank())
    value = os.environ.get("RANK", "")
    return int(value) if value.isdigit() else None


def head(guards: Iterable[str], notes: Iterable[str]) -> dict[str, Any]:
    """Return the first line of a report: the process, and how it was guarded."""
    return {
        "kind": "guard",
        "version": FORMAT_VERSION,
        "host": socket.gethostname(),
        "pid": os.getpid(),
        "rank": rank(),
        "argv": sys.argv,
        "guards": list(guards),
        "notes": list(notes),
    }


class ReportFile:
    """One file in the folder that LOADERLINT_GUARD_REPORT names; nothing where it is unset."""

    def __init__(self) -> None:
        self._path: Path | None = None
        self._failed = False

    @property
    def is_wanted(self) -> bool:
        """Whether there is a folder to write to, and writing has not failed."""
        return bool(os.environ.get(REPORT_VARIABLE)) and not self._failed

    @property
    def is_begun(self) -> bool:
        """Whether something was written."""
        return self._path is not None

    def write(self, lines: Iterable[dict[str, Any]]) -> str:
        """Replace the file; return what a person has to know about a failure, the first time only."""
        if not self.is_wanted:
            return ""
        folder = os.environ[REPORT_VARIABLE]
        if self._path is None:
            name = f"loaderlint-guard-{socket.gethostname()}-{os.getpid()}-{time.time_ns()}.jsonl"
            self._path = Path(folder) / name
        try:
            _replace(self._path, "".join(json.dumps(fields) + "\n" for fields in lines))
        except OSError as error:
            self._failed = True
            reason = error.strerror or error
            return f"no report file: cannot write to {REPORT_VARIABLE}={folder!r}: {reason}"
        return ""


def _replace(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    unfinished = path.with_suffix(".tmp")
    unfinished.write_text(text, encoding="utf-8")
    unfinished.replace(path)
