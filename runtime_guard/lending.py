"""Hands tensors out on leases: a stream ends each at its next step, a bucket ends all of them together."""

from __future__ import annotations

import sys
from collections.abc import AsyncIterator, Callable, Iterable, Iterator
from contextlib import contextmanager
from functools import cache
from typing import TYPE_CHECKING

from .lease import Contract, Lease, new_token, remember
from .sites import Site, call_site

if TYPE_CHECKING:
    import torch

    from .session import Session

Named = tuple[str, "torch.Tensor"]
IsLent = Callable[["torch.Tensor"], bool]


class Lender:
    """The leases of one stream, bucket or buffer."""

    def __init__(self, session: Session, contract: Contract) -> None:
        self._session = session
        self._backend = session.choice.backend
        self._contract = contract
        self._guard = session.choice.describe()
        self._site: Site = ()
        self._running: list[tuple[Lease, torch.Tensor]] = []
        self._held: set[str] = set()

    def begin(self, site: Site) -> None:
        """Note where the first tensors are asked for."""
        self._site = site

    def lend(self, name: str, tensor: torch.Tensor, site: Site | None = None) -> torch.Tensor:
        """Return what the consumer gets for `tensor`, and begin its lease where it can have one.

        `site` is where this tensor was asked for; without it, the place given to `begin` or `end` last.
        """
        if tensor.numel() == 0 or not self._session.can_lend(tensor):
            return tensor
        lent = self._backend.lend(tensor, self._contract)
        shape, dtype = tuple(tensor.shape), _dtype_name(tensor.dtype)
        yielded = self._site if site is None else site
        lease = Lease(new_token(), name, shape, dtype, self._contract, self._guard, yielded)
        self._session.begin_lease(lease, lent)
        self._running.append((lease, lent))
        return lent

    def lend_pair(self, item: Named, is_lent: IsLent) -> Named:
        """Return what the consumer gets for one item of a stream: the tensor itself where `is_lent` does not hold."""
        name, tensor = _as_pair(item)
        return name, self.lend(name, tensor) if is_lent(tensor) else tensor

    def end(self, site: Site) -> None:
        """End the running leases at `site`, where the producer is told to go on: their tensors are stale."""
        self._site = site
        while self._running:
            lease, lent = self._running.pop()
            lease.advanced = site
            remember(lease, lent.untyped_storage(), self._held)
            self._backend.revoke(lent, lease.message())
        self._session.lease_ended(self, self._held)


@cache
def _dtype_name(dtype: torch.dtype) -> str:
    return str(dtype).removeprefix("torch.")


def any_tensor(tensor: torch.Tensor) -> bool:
    """Say that every tensor is lent."""
    return True


def lend_stream(stream: Iterable[Named], lender: Lender, is_lent: IsLent = any_tensor) -> Iterator[Named]:
    """Yield what `stream` yields, each tensor for which `is_lent` holds on a lease until the next step.

    Closing early ends no lease: the producer writes nothing more.
    """
    lender.begin(call_site(sys._getframe(1)))
    try:
        for item in stream:
            name, tensor = lender.lend_pair(item, is_lent)
            del item
            yield name, tensor
            del tensor
            lender.end(call_site(sys._getframe(1)))
    except GeneratorExit:
        close = getattr(stream, "close", None)
        if close is not None:
            close()
        raise


async def lend_async_stream(
    stream: AsyncIterator[Named], lender: Lender, is_lent: IsLent = any_tensor
) -> AsyncIterator[Named]:
    """Do for an asynchronous stream what `lend_stream` does for one that is not."""
    lender.begin(call_site(sys._getframe(1)))
    try:
        async for item in stream:
            name, tensor = lender.lend_pair(item, is_lent)
            del item
            yield name, tensor
            del tensor
            lender.end(call_site(sys._getframe(1)))
    except GeneratorExit:
        close = getattr(stream, "aclose", None)
        if close is not None:
            await close()
        raise


@contextmanager
def lend_bucket(
    pairs: Iterable[Named], lender: Lender, is_lent: IsLent = any_tensor
) -> Iterator[list[Named]]:
    """Give the list of pairs, each tensor on a lease until the block ends, however it ends."""
    lender.begin(call_site(sys._getframe(1)))
    try:
        yield [lender.lend_pair(pair, is_lent) for pair in pairs]
    finally:
        lender.end(call_site(sys._getframe(1)))


@cache
def _tensor() -> type[torch.Tensor]:
    import torch

    return torch.Tensor


def _as_pair(item: object) -> Named:
    """Return the item; raises TypeError where it is no pair of a name and a tensor."""
    if isinstance(item, tuple) and len(item) == 2 and isinstance(item[1], _tensor()):
        return item
    raise TypeError(f"the loaderlint guard needs (name, tensor) pairs, not {type(item).__name__}")
