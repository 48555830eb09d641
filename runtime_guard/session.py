"""What the guarded streams of a process share: the back end of their level."""

from __future__ import annotations

from collections.abc import Collection
from functools import lru_cache
from typing import TYPE_CHECKING

from . import report, watch
from .backends.aliasing import can_be_lent
from .backends.choice import Choice, choose

if TYPE_CHECKING:
    import torch


class Session:
    """One level with its back end, shared by all streams of the process that run under it."""

    def __init__(self, choice: Choice) -> None:
        self.choice = choice

    def can_lend(self, tensor: torch.Tensor) -> bool:
        """Whether the guard can stand in for this tensor; where it cannot, the report says so once."""
        if can_be_lent(tensor):
            return True
        kind = type(tensor).__name__ if str(tensor.layout) == "torch.strided" else str(tensor.layout)
        report.note(f"tensors of kind {kind} on {tensor.device.type} are not guarded")
        return False

    def expect_stale_reads(self) -> None:
        """Called when a stream's consumer holds more stale tensors than a correct one can."""
        if self.choice.backend.raises:
            watch.trace_reads()


@lru_cache(maxsize=None)
def _session(level: str, without: frozenset[str]) -> Session:
    choice = choose(level, without)
    if choice.shortfall:
        report.note(choice.shortfall)
    watch.install()
    return Session(choice)


def open_session(level: str, without_backends: Collection[str] = ()) -> Session:
    """Return the session of a level (TRAP or POISON); makes it, tested, at the first call."""
    session = _session(level, frozenset(without_backends))
    report.begin(session.choice.describe())
    return session
