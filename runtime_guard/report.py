"""Collects what the guard saw in this process; tells people on stderr and machines in JSON lines."""

from __future__ import annotations

import atexit
import json
import os
import socket
import sys
import time
from dataclasses import dataclass
from pathlib import Path

from .lease import CODE, REPAIR, Lease
from .levels import REPORT_VARIABLE
from .sites import Site, describe, source_line

_FORMAT_VERSION = 1


@dataclass(slots=True)
class StaleRead:
    """All stale reads at one place of tensors yielded at one place; `lease` is the first of them."""

    lease: Lease
    read: Site
    count: int
    shown: bool = False

    def text(self) -> str:
        """Return the report for people, without a trailing newline."""
        message = self.lease.message(describe(self.read))
        return message if self.count < 2 else f"{message}\n  count        {self.count} stale reads here"

    def fields(self) -> dict[str, object]:
        """Return the report for machines; places are lists, the innermost user frame first."""
        lease, contract = self.lease, self.lease.contract
        return {
            "kind": "stale-read",
            "code": CODE,
            "tensor": {"name": lease.name, "shape": list(lease.shape), "dtype": lease.dtype},
            "producer": contract.producer,
            "facts": contract.facts,
            "reason": contract.reason,
            "read": _places(self.read),
            "advanced": _places(lease.advanced),
            "yielded": _places(lease.yielded),
            "repair": REPAIR,
            "guard": lease.guard,
            "count": self.count,
        }


_reads: dict[tuple[Site, Site], StaleRead] = {}
_taken: list[StaleRead] = []
_notes: dict[str, None] = {}
_guards: dict[str, None] = {}


def _places(site: Site) -> list[dict[str, object]]:
    return [
        {"file": file, "line": line, "function": function, "source": source_line((file, line, function))}
        for file, line, function in site
    ]


def say(line: str) -> None:
    """Write one line to stderr, if there is one."""
    if sys.stderr is not None:
        print(f"loaderlint guard: {line}", file=sys.stderr, flush=True)


def note(line: str) -> None:
    """Say once in this process what the guard cannot do here, and put it into the report."""
    if line not in _notes:
        _notes[line] = None
        say(line)
        _write_file()


def notes() -> list[str]:
    """Return what was noted so far."""
    return list(_notes)


def begin(guard: str) -> None:
    """Note that a stream of this process is guarded by `guard`, one of the lines of `Choice.describe`."""
    if guard not in _guards or _File.path is None:
        _guards[guard] = None
        _write_file()


def record(lease: Lease, read: Site) -> StaleRead:
    """Count a stale read; reads at the same place of tensors yielded at the same place are one report."""
    key = read, lease.yielded
    known = _reads.get(key)
    if known is not None:
        known.count += 1
        return known
    _reads[key] = StaleRead(lease, read, count=1)
    _write_file()
    _finish_with_worker()
    return _reads[key]


def stale_reads() -> list[StaleRead]:
    """Return the stale reads of this process that nobody has taken."""
    return list(_reads.values())


def take_stale_reads() -> list[StaleRead]:
    """Return the stale reads seen since the last call; to show them is now up to the caller."""
    taken = stale_reads()
    _taken.extend(taken)
    _reads.clear()
    return taken


class _File:
    """The report file of this process; None once it could not be written."""

    path: Path | None = None
    failed = False


def _write_file() -> None:
    folder = os.environ.get(REPORT_VARIABLE)
    if not folder or _File.failed or not (_guards or _notes):
        return
    if _File.path is None:
        name = f"loaderlint-guard-{socket.gethostname()}-{os.getpid()}-{time.time_ns()}.jsonl"
        _File.path = Path(folder) / name
    head = {
        "kind": "guard",
        "version": _FORMAT_VERSION,
        "pid": os.getpid(),
        "argv": sys.argv,
        "guards": list(_guards),
        "notes": list(_notes),
    }
    reads = [read.fields() for read in (*_taken, *_reads.values())]
    try:
        _replace(_File.path, "".join(json.dumps(fields) + "\n" for fields in (head, *reads)))
    except OSError as error:
        _File.failed = True
        say(f"no report file: cannot write to {REPORT_VARIABLE}={folder!r}: {error.strerror or error}")


def _replace(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    unfinished = path.with_suffix(".tmp")
    unfinished.write_text(text, encoding="utf-8")
    unfinished.replace(path)


def _finish() -> None:
    if _reads or _taken:
        _write_file()
    hidden = [read for read in _reads.values() if not read.shown]
    if hidden:
        total = sum(read.count for read in hidden)
        say(f"{total} stale read(s) in process {os.getpid()} whose error was caught")
    for read in hidden:
        read.shown = True
        if sys.stderr is not None:
            print(read.text(), file=sys.stderr, flush=True)


def _finish_with_worker() -> None:
    """Let a worker of multiprocessing report as it ends: one that was forked leaves without atexit."""
    process = sys.modules.get("multiprocessing.process")
    if process is not None and process.parent_process() is not None:
        sys.modules["multiprocessing.util"].Finalize(None, _finish, exitpriority=0)


def _after_fork() -> None:
    _reads.clear()
    _taken.clear()
    _guards.clear()
    _File.path = None


atexit.register(_finish)
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)
