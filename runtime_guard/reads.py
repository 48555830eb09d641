"""Recognises the error of a stale read, completes its message with the place of the read, and records it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from types import FrameType
from typing import TYPE_CHECKING

from . import report
from .lease import CODE, Lease, find, stale
from .sites import Stack, describe, is_for_display, site_of, stack_of_error

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


def token_of(error: RuntimeError) -> str:
    """Return the token of the lease that the error of a stale read names; empty for any other error."""
    token = _TOKEN.search(error.args[0]) if is_stale_read(error) else None
    return token[1] if token is not None else ""


def observe(error: BaseException, frame: FrameType | None = None) -> report.StaleRead | None:
    """Take note of an error, once, if it is that of a stale read; return what is known of that read.

    `frame` is the frame that the error reaches at this moment, None for one that has gone its way.
    """
    if not is_stale_read(error):
        return None
    if _SEEN not in error.__dict__:
        error.__dict__[_SEEN] = _record(error, stack_of_error(error.__traceback__, frame))
    return error.__dict__[_SEEN]


def observe_chain(error: BaseException | None) -> list[report.StaleRead]:
    """Observe an error and its chain of causes; return the stale reads among them."""
    seen = [observe(link) for link in _chain(error)]
    return [stale_read for stale_read in seen if stale_read is not None]


def _record(error: BaseException, stack: Stack) -> report.StaleRead | None:
    lease = _lease_of(error.args[0], stack)
    if lease is None or is_for_display(stack):
        return None
    site = site_of(stack)
    error.args = (lease.message(describe(site)), *error.args[1:])
    return report.record(lease, site)


def _lease_of(text: str, stack: Stack) -> Lease | None:
    token = _TOKEN.search(text)
    if token is not None:
        return find(token[1])
    leases = list({id(lease): lease for lease in _leases_in(stack)}.values())
    candidates = leases or [lease for lease, _ in list(stale.values())]
    if not candidates:
        return None
    if len(candidates) == 1:
        return candidates[0]
    # torch's generic text does not say which tensor was read.
    return replace(candidates[-1], name=f"one of {len(candidates)} tensors such as {candidates[-1].name}")


def _leases_in(stack: Stack) -> Iterator[Lease]:
    by_storage = {id(ref()): lease for lease, ref in list(stale.values())}
    for frame, _ in stack:
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
