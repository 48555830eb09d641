"""Collects what the guard saw in this process; tells people on stderr and machines in JSON lines."""

from __future__ import annotations

import atexit
import os
import sys
from collections.abc import Callable

from .findings import HeldTensors, StaleRead
from .holder_names import Holder
from .lease import Lease
from .report_file import ReportFile, head
from .sites import Site

_reads: dict[tuple[object, ...], StaleRead] = {}
_taken: list[StaleRead] = []
_held: dict[tuple[object, ...], HeldTensors] = {}
_taken_held: list[HeldTensors] = []
_shows_held = True
_notes: dict[str, None] = {}
_guards: dict[str, None] = {}
_last_looks: list[Callable[[], object]] = []
_file = ReportFile()


def look_before_the_end(look: Callable[[], object]) -> None:
    """Let `look` report what it finds as this process ends."""
    _last_looks.append(look)


def look_for_more() -> None:
    """Do now what is else done before the end."""
    for look in _last_looks:
        look()


def say(line: str) -> None:
    """Write one line to stderr, if there is one."""
    show(f"loaderlint guard: {line}")


def show(text: str) -> None:
    """Write a report to stderr, if there is one."""
    if sys.stderr is not None:
        print(text, file=sys.stderr, flush=True)


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
    if guard not in _guards or (_file.is_wanted and not _file.is_begun):
        _guards[guard] = None
        _write_file()
        _finish_with_worker()


def record(lease: Lease, read: Site) -> StaleRead:
    """Count a stale read; reads at the same place of tensors yielded at the same place are one report."""
    seen = StaleRead(lease, read)
    known = _reads.setdefault(seen.key, seen)
    known.count += 1
    if known is seen:
        _write_file()
    return known


def expect(stale_read: StaleRead) -> None:
    """Take back one count of a stale read: a test expected it."""
    stale_read.count -= 1
    if not stale_read.count:
        _reads.pop(stale_read.key, None)
        _write_file()


def record_held(lease: Lease, holder: Holder, size: int) -> None:
    """Count a tensor that is held after its load; those of one holder, yielded at one place, are one report."""
    key = holder.what, holder.name, holder.place, lease.yielded
    known = _held.setdefault(key, HeldTensors(holder, lease.yielded))
    known.add(lease, holder, size)
    known.shown = False


def held_tensors() -> list[HeldTensors]:
    """Return what is known to be held in this process that nobody has taken."""
    return list(_held.values())


def take_held_tensors() -> list[HeldTensors]:
    """Return what was found held since the last call; to show it is now up to the caller."""
    taken = held_tensors()
    _taken_held.extend(taken)
    _held.clear()
    return taken


def leave_held_to_caller() -> None:
    """Print nothing of what is held: the caller takes it and shows it."""
    global _shows_held
    _shows_held = False


def show_held() -> None:
    """Tell people and machines what was found held and not told yet."""
    for held in _held.values():
        if _shows_held and not held.shown:
            held.shown = True
            show(held.text())
    _write_file()


def anything_reported() -> bool:
    """Whether this process saw anything that its user has to know."""
    return bool(_reads or _taken or _held or _taken_held)


def stale_reads() -> list[StaleRead]:
    """Return the stale reads of this process that nobody has taken."""
    return list(_reads.values())


def take_stale_reads() -> list[StaleRead]:
    """Return the stale reads seen since the last call; to show them is now up to the caller."""
    taken = stale_reads()
    _taken.extend(taken)
    _reads.clear()
    return taken


def _write_file() -> None:
    # Without a folder nothing is made ready: a test run has thousands of findings, and as many streams.
    if not _file.is_wanted or not (_guards or _notes):
        return
    findings = (*_taken, *_reads.values(), *_taken_held, *_held.values())
    failure = _file.write([head(_guards, _notes), *(finding.fields() for finding in findings)])
    if failure:
        say(failure)


def _finish() -> None:
    look_for_more()
    if anything_reported():
        _write_file()
    hidden = [read for read in _reads.values() if not read.shown]
    if hidden:
        total = sum(read.count for read in hidden)
        say(f"{total} stale read(s) in process {os.getpid()} that no traceback showed")
    for read in hidden:
        read.shown = True
        show(read.text())


def _finish_with_worker() -> None:
    """Let a worker of multiprocessing report as it ends: one that was forked leaves without atexit."""
    process = sys.modules.get("multiprocessing.process")
    if process is not None and process.parent_process() is not None:
        sys.modules["multiprocessing.util"].Finalize(None, _finish, exitpriority=0)


def _after_fork() -> None:
    global _file
    _reads.clear()
    _taken.clear()
    _held.clear()
    _taken_held.clear()
    _guards.clear()
    _file = ReportFile()


atexit.register(_finish)
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)
