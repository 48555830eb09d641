"""The guarded stream: hands out each tensor on a lease, and ends the lease when the next one is asked for."""

from __future__ import annotations

import sys
from collections.abc import Callable, Collection, Iterator
from typing import TYPE_CHECKING

from .lease import Contract, Lease, new_token, remember
from .levels import OFF, parse_level
from .sites import Site, call_site

if TYPE_CHECKING:
    import torch

    from .session import Session

Named = tuple[str, "torch.Tensor"]

# While a tensor's lease ends, the consumer's variables may hold it and the one before. A correct loader
# never holds more stale tensors than that; one that does is about to read them, so reads are watched for.
_GRACE = 2


def guard(
    iterator: Iterator[Named], level: str = "trap", without_backends: Collection[str] = ()
) -> Iterator[Named]:
    """Guard any iterator of (name, tensor) that reuses its memory, whatever its producer.

    Every tensor counts as lent until the next one is asked for. A stale read raises RuntimeError with the
    report under `trap`, and reads a pattern under `poison`; `off` returns the iterator itself. Raises
    GuardSettingError for another level, and TypeError where the iterator yields something else.
    """
    chosen = parse_level(level, "guard(level)")
    if chosen == OFF:
        return iterator
    from .session import open_session

    contract = Contract(
        producer=f"guard({type(iterator).__name__})",
        facts="lent until the next step",
        reason="guard() was asked to treat every tensor of this iterator as lent until the next step",
    )
    return lend_stream(iterator, open_session(chosen, without_backends), contract)


def lend_stream(
    iterator: Iterator[Named],
    session: Session,
    contract: Contract,
    is_lent: Callable[[torch.Tensor], bool] = lambda tensor: True,
) -> Iterator[Named]:
    """Yield what `iterator` yields, each tensor for which `is_lent` holds on a lease until the next step.

    Closing early ends no lease: the producer writes nothing more.
    """
    import torch

    lender = _Lender(session, contract, call_site(sys._getframe(1)))
    try:
        for item in iterator:
            if not (isinstance(item, tuple) and len(item) == 2 and isinstance(item[1], torch.Tensor)):
                raise TypeError(f"the loaderlint guard needs (name, tensor) pairs, not {type(item).__name__}")
            name, tensor = item
            if is_lent(tensor):
                tensor = lender.lend(name, tensor)
            del item
            yield name, tensor
            del tensor
            lender.advance(call_site(sys._getframe(1)))
    except GeneratorExit:
        close = getattr(iterator, "close", None)
        if close is not None:
            close()
        raise


class _Lender:
    """The leases of one stream."""

    def __init__(self, session: Session, contract: Contract, site: Site) -> None:
        self._session = session
        self._backend = session.choice.backend
        self._contract = contract
        self._guard = session.choice.describe()
        # Where the stream was last asked for an item: one lease ends there, and the next begins.
        self._site = site
        self._current: tuple[Lease, torch.Tensor] | None = None
        self._held: set[str] = set()

    def lend(self, name: str, tensor: torch.Tensor) -> torch.Tensor:
        """Return what the consumer gets for `tensor`, and begin its lease where it can have one."""
        if tensor.numel() == 0 or not self._session.can_lend(tensor):
            return tensor
        self._session.begin_lease()
        lent = self._backend.lend(tensor, self._contract)
        shape, dtype = tuple(tensor.shape), str(tensor.dtype).removeprefix("torch.")
        lease = Lease(new_token(), name, shape, dtype, self._contract, self._guard, self._site)
        self._current = lease, lent
        return lent

    def advance(self, site: Site) -> None:
        """End the running lease, as the stream is asked for an item at `site`: its tensor is now stale."""
        self._site = site
        if self._current is None:
            return
        lease, lent = self._current
        self._current = None
        lease.advanced = site
        remember(lease, lent.untyped_storage(), self._held)
        self._backend.revoke(lent, lease.message())
        if len(self._held) > _GRACE:
            self._session.expect_stale_reads()
