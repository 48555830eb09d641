"""A lease: one tensor that a stream has lent, and what a report says about it."""

from __future__ import annotations

import itertools
import os
import weakref
from collections import deque
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

from .sites import Site, describe

if TYPE_CHECKING:
    import torch

CODE = "LOADERLINT-E101"
# Stands in the message until the exception is seen with its traceback.
READ_UNKNOWN = "the line that raised, see the traceback"

_numbers = itertools.count(1)
_process = os.getpid()  # known, for to ask the system costs more than all else that a token needs

# The stale leases of this process by token, while any view of their tensor is alive, with its storage.
stale: dict[str, tuple[Lease, weakref.ref[torch.UntypedStorage]]] = {}
# Those whose last view went a moment ago: perhaps with the very expression whose error is being looked at.
_departed: deque[Lease] = deque(maxlen=64)


@dataclass(frozen=True, slots=True, eq=False)  # compared by identity, for its hash is taken for every tensor
class Contract:
    """Why the tensors of one stream count as borrowed.

    `ends` says what ends a lease. The flags are what the producer's adapter declares. `free_on_advance`:
    nobody reads the lent memory once the stream is asked for its next item, so it may be overwritten in
    place. `exclusive`: every tensor has a storage of its own, so the storage itself may be made to refuse
    access. `gone_on_advance`: the memory may be unmapped by then, so a stale read must never be let through.
    """

    producer: str
    facts: str
    reason: str
    ends: str = "the next step"
    free_on_advance: bool = False
    exclusive: bool = False
    gone_on_advance: bool = False

    def repair(self) -> str:
        """Return what the author of the loader can do about a stale read."""
        return f'use the tensor before {self.ends}, or keep a copy: tensor.detach().to("cpu", copy=True)'


@dataclass(slots=True)
class Lease:
    """One lent tensor. `token` is unique among processes; `advanced` is empty while the lease runs."""

    token: str
    name: str
    shape: tuple[int, ...]
    dtype: str
    contract: Contract
    guard: str
    yielded: Site
    advanced: Site = ()

    def tensor_fields(self) -> dict[str, object]:
        """Return the tensor for machines."""
        return {"name": self.name, "shape": list(self.shape), "dtype": self.dtype}

    def header(self) -> str:
        """Return the stable one-line summary, without the newline."""
        source = f"via {self.contract.producer} [{self.contract.facts}]"
        return f"{CODE} read-after-advance {self.name} {self.shape} {self.dtype} {source}"

    def message(self, read: str = READ_UNKNOWN) -> str:
        """Return the whole report as text; `read` is the place of the stale read."""
        return f"{self.header()}\n  read at      {read}\n{self._tail()}{self.token}"

    def _tail(self) -> str:
        return _tail(self.advanced, self.yielded, self.contract, self.guard)


@lru_cache(maxsize=1024)
def _tail(advanced: Site, yielded: Site, contract: Contract, guard: str) -> str:
    return (
        f"  advanced at  {describe(advanced)}\n"
        f"  yielded at   {describe(yielded)}\n"
        f"  borrowed     {contract.reason}\n"
        f"  repair       {contract.repair()}\n"
        f"  guard        {guard}, lease "
    )


def new_token() -> str:
    """Return a name for a lease that no other process gives."""
    return f"{_process}-{next(_numbers)}"


def _begin_process() -> None:
    global _process
    _process = os.getpid()


os.register_at_fork(after_in_child=_begin_process)


class _StaleStorage(weakref.ref):
    """The storage of a stale tensor, with what has to be told once the last view of it is gone."""

    __slots__ = ("held", "token")
    held: set[str]
    token: str


def remember(lease: Lease, storage: torch.UntypedStorage, held: set[str]) -> None:
    """Note in `stale` and in `held` that this lease has ended, until the last view of its tensor is gone."""
    reference = _StaleStorage(storage, _forget)
    reference.token, reference.held = lease.token, held
    held.add(lease.token)
    stale[lease.token] = lease, reference


def _forget(gone: _StaleStorage) -> None:
    _departed.append(stale.pop(gone.token)[0])
    gone.held.discard(gone.token)


def find(token: str) -> Lease | None:
    """Return the stale lease of that token, if this process knows it."""
    entry = stale.get(token)
    if entry is not None:
        return entry[0]
    return next((lease for lease in _departed if lease.token == token), None)
