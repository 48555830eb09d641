"""The census: who still holds lent memory after the load of its stream.

Inside the loop a correct loader holds the tensor of the step before. So nobody looks before the stream has
ended and the function that consumed it is gone; then the garbage of cycles is collected, and what a plain
variable still points at is left alone: it is what the loop left behind.
"""

from __future__ import annotations

import gc
import itertools
import os
import sys
import threading
import time
import weakref
from collections.abc import Iterable
from dataclasses import dataclass
from types import CodeType, FrameType

import torch

from . import report
from .findings import HeldTensors
from .holder_names import Holder
from .holders import HolderSearch, Own
from .lease import Lease, stale
from .living import living_tensors
from .sites import consumer_frame


_PERIOD = 0.1  # seconds between two looks whether a consumer is gone
_UNKNOWN = Holder(
    "no object that Python's garbage collector knows", "numpy array or C++ code", "", ("", 0, "")
)


@dataclass(slots=True)
class _Load:
    """A stream that lent: dead once it has ended; the frame that asked it last, and its stale leases.

    The frame is known by what tells it apart, for to keep it would keep its variables.
    """

    stream: weakref.ref[object]
    held: set[str]
    thread: int = 0
    frame: int = 0
    code: CodeType | None = None

    def asked_by(self, frame: FrameType | None) -> None:
        """Note who asked the stream for an item now."""
        self.thread, self.frame = threading.get_ident(), id(frame)
        self.code = frame.f_code if frame is not None else None

    def is_over(self) -> bool:
        """Whether the stream has ended and the function that asked it last has returned."""
        frame = sys._current_frames().get(self.thread) if self.stream() is None else None
        while frame is not None:
            if id(frame) == self.frame and frame.f_code is self.code:
                return False
            frame = frame.f_back
        return self.stream() is None


_loads: dict[int, _Load] = {}
_counted: set[str] = set()
_lock = threading.Lock()
_watcher: threading.Thread | None = None


def lease_ended(stream: object, held: set[str]) -> None:
    """Note that a stream was asked for an item; `held` are the tokens of its leases that somebody still holds.

    `stream` is any object that lives as long as the stream does.
    """
    load = _loads.get(id(held))
    if load is None:
        load = _loads[id(held)] = _Load(weakref.ref(stream), held)
        _watch()
    load.asked_by(consumer_frame(sys._getframe(1)))


def _watch() -> None:
    global _watcher
    if _watcher is None or not _watcher.is_alive():
        _watcher = threading.Thread(target=_look_now_and_then, name="loaderlint-census", daemon=True)
        _watcher.start()


def _look_now_and_then() -> None:
    while _loads:
        time.sleep(_PERIOD)
        _sweep(only_over=True)


def census() -> list[HeldTensors]:
    """Look now at all streams that have ended; return who holds what they lent, of all that nobody took yet."""
    _sweep(only_over=False)
    return report.held_tensors()


def _sweep(only_over: bool) -> None:
    with _lock:
        ended = [load for load in list(_loads.values()) if load.stream() is None]
        over = [load for load in ended if not only_over or load.is_over()]
        for load in over:
            del _loads[id(load.held)]
        tokens = set().union(*(load.held for load in over)) - _counted
        if tokens:
            gc.collect()
            _count(tokens.intersection(stale))


def _after_fork() -> None:
    global _lock
    _lock = threading.Lock()  # the thread that may have held it is not in this process
    _loads.clear()


report.look_before_the_end(census)
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)


def _count(tokens: Iterable[str]) -> None:
    entries = [(lease, storage) for lease, storage in map(_entry, tokens) if storage is not None]
    entries.sort(key=lambda entry: int(entry[0].token.rpartition("-")[2]))
    tensors = _tensors_by_storage({storage._cdata for _, storage in entries})
    search = HolderSearch(itertools.chain.from_iterable(tensors.values()))
    for lease, storage in entries:
        holder = _holder(search, tensors.get(storage._cdata, ()))
        if holder is not None:
            _counted.add(lease.token)
            report.record_held(lease, holder, storage.nbytes())
    report.show_held()


def _entry(token: str) -> tuple[Lease, torch.UntypedStorage | None]:
    lease, storage = stale.get(token, (None, lambda: None))
    return lease, storage()


def _tensors_by_storage(wanted: set[int]) -> dict[int, Own]:
    found: dict[int, Own] = {}
    for tensor in living_tensors():
        address = tensor.untyped_storage()._cdata
        if address in wanted:
            found.setdefault(address, Own()).append(tensor)
    return found


def _holder(search: HolderSearch, tensors: Iterable[torch.Tensor]) -> Holder | None:
    """Return the nearest holder of any of the tensors that may still read it, None if there is no such."""
    holders = [holder for tensor in tensors for holder in search.holders(tensor)]
    if not holders:
        return _UNKNOWN
    return next((holder for holder in holders if not holder.is_left_behind()), None)
