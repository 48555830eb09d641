"""What the guarded streams of a process share: the back end of their level."""

from __future__ import annotations

from collections.abc import Collection
from functools import lru_cache
from typing import TYPE_CHECKING

from . import gates, report, watch
from .adapters import is_strict
from .backends.aliasing import can_be_lent
from .backends.choice import Choice, choose
from .levels import CENSUS, PARANOID, RAISE, WARN, reaction_from_environment

if TYPE_CHECKING:
    import torch

    from .lease import Lease

# While a tensor's lease ends, the consumer's variables may hold it and the one before. A correct loader
# never holds more stale tensors than that; one that does is about to read them, so reads are watched for.
_GRACE = 2


class Session:
    """One level with its back end, shared by all streams of the process that run under it."""

    def __init__(self, choice: Choice, reaction: str) -> None:
        self.choice = choice
        self._reaction = reaction

    def can_lend(self, tensor: torch.Tensor) -> bool:
        """Whether the guard can stand in for this tensor; where it cannot, the report says so once."""
        if can_be_lent(tensor):
            return True
        kind = type(tensor).__name__ if str(tensor.layout) == "torch.strided" else str(tensor.layout)
        report.note(f"tensors of kind {kind} on {tensor.device.type} are not guarded")
        return False

    def begin_lease(self, lease: Lease, lent: torch.Tensor) -> None:
        """Called in the consumer's thread as a stream lends a tensor."""
        if self.choice.level == PARANOID or is_strict():
            gates.lease_begun(lease.token, lent.untyped_storage())
        if self.choice.level == PARANOID and (lent.is_cuda or lent.is_pinned()):
            from .delays import delay_readers

            delay_readers(lent)
        if self._reaction != RAISE and self.choice.backend.lift is not None:
            from .passing import let_reads_pass

            let_reads_pass(self.choice.backend.lift, warns=self._reaction == WARN)

    def lease_ended(self, stream: object, held: set[str]) -> None:
        """Called in the consumer's thread after a lease; `held` are the stale leases of a stream still held."""
        if self.choice.level == CENSUS:
            from .sweeping import lease_ended

            lease_ended(stream, held)
        gates.leases_ended()
        if len(held) > _GRACE and self.choice.backend.raises:
            watch.trace_reads()


@lru_cache(maxsize=None)
def _session(level: str, without: frozenset[str], reaction: str) -> Session:
    choice = choose(level, without)
    if choice.shortfall:
        report.note(choice.shortfall)
    if reaction != RAISE and choice.backend.raises and choice.backend.lift is None:
        report.note(f"{choice.backend.name} cannot let a stale read pass: it raises")
    watch.install()
    if level == PARANOID:
        from .handoffs import install

        install()
    return Session(choice, reaction)


def open_session(level: str, without_backends: Collection[str] = ()) -> Session:
    """Return the session of a level; makes it, tested, at the first call.

    Raises GuardSettingError for a reaction in the environment that does not exist.
    """
    session = _session(level, frozenset(without_backends), reaction_from_environment())
    report.begin(session.choice.describe())
    return session
