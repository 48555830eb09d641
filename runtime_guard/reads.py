"""Recognises the error of a stale read, completes its message with the place of the read, and records it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import replace
from types import FrameType, TracebackType
from typing import TYPE_CHECKING

from . import report
from .lease import CODE, Lease, find, stale
from .sites import Site, call_site, describe, is_for_display, traceback_site

if TYPE_CHECKING:
    import torch

_GENERIC_TEXT = "Cannot access data pointer of Storage that is invalid"
_TOKEN = re.compile(r", lease (\S+)$")
_SEEN = "_loaderlint_seen"


def is_stale_read(error: BaseException | None) -> bool:
    """Whether the error looks like one that a trapped storage raises."""
    if type(error) is not RuntimeError or not error.args or not isinstance(error.args[0], str):
        return False
    return error.args[0].startswith((CODE, _GENERIC_TEXT))


def observe_raise(error: BaseException, frame: FrameType | None) -> None:
    """Take note of an error at the moment it reaches `frame`, its innermost frame of interest."""
    if is_stale_read(error):
        _observe(error, call_site(frame), list(_outwards(frame)))


def observe_uncaught(error: BaseException | None) -> list[report.StaleRead]:
    """Return the stale reads in an error's chain of causes; takes note of those not seen before."""
    found = []
    for link in _chain(error):
        if is_stale_read(link):
            frames = _frames(link.__traceback__)
            seen = _observe(link, traceback_site(link.__traceback__), frames)
            if seen is not None:
                found.append(seen)
    return found


def _observe(error: BaseException, site: Site, frames: list[FrameType]) -> report.StaleRead | None:
    if _SEEN in error.__dict__:
        return error.__dict__[_SEEN]
    lease = _lease_of(error.args[0], frames)
    if lease is None or is_for_display(frames):
        error.__dict__[_SEEN] = None
        return None
    seen = report.record(lease, site)
    error.__dict__[_SEEN] = seen
    error.args = (lease.message(describe(site)), *error.args[1:])
    return seen


def _lease_of(text: str, frames: list[FrameType]) -> Lease | None:
    token = _TOKEN.search(text)
    if token is not None:
        return find(token[1])
    leases = list({id(lease): lease for lease in _leases_in(frames)}.values())
    candidates = leases or [lease for lease, _ in list(stale.values())]
    if not candidates:
        return None
    if len(candidates) == 1:
        return candidates[0]
    # torch's generic text does not say which tensor was read.
    return replace(candidates[-1], name=f"one of {len(candidates)} tensors such as {candidates[-1].name}")


def _leases_in(frames: Iterable[FrameType]) -> Iterator[Lease]:
    by_storage = {id(ref()): lease for lease, ref in list(stale.values())}
    for frame in frames:
        found = [by_storage.get(id(storage)) for storage in _storages(frame)]
        if any(found):
            yield from filter(None, found)
            return


def _storages(frame: FrameType) -> Iterator[torch.UntypedStorage]:
    import torch

    for value in _values(frame):
        if isinstance(value, torch.Tensor):
            yield value.untyped_storage()


def _values(frame: FrameType) -> Iterator[object]:
    for value in list(frame.f_locals.values()):
        yield value
        if type(value) in (list, tuple):
            yield from list(value)
        elif type(value) is dict:
            yield from list(value.values())


def _chain(error: BaseException | None) -> Iterator[BaseException]:
    seen: set[int] = set()
    pending = [error]
    while pending:
        link = pending.pop()
        if link is None or id(link) in seen:
            continue
        seen.add(id(link))
        yield link
        pending += [link.__cause__, link.__context__, *getattr(link, "exceptions", ())]


def _frames(traceback: TracebackType | None) -> list[FrameType]:
    frames: list[FrameType] = []
    while traceback is not None:
        frames.append(traceback.tb_frame)
        traceback = traceback.tb_next
    return frames[::-1]


def _outwards(frame: FrameType | None) -> Iterator[FrameType]:
    while frame is not None:
        yield frame
        frame = frame.f_back
