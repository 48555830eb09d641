"""Gates before the readers that a lent tensor was handed to, in other threads.

A thread that hands a tensor on and goes straight to the next item races with the reader; mostly it loses, and
nothing is seen. Behind a gate the reader always loses: it is held back until the lease ends. A thread that
waits for its reader, by whatever means, opens its gates when it begins to wait.
"""

from __future__ import annotations

import functools
import threading
import weakref
from collections.abc import Iterator
from types import FunctionType, MethodType
from typing import TYPE_CHECKING

from .lease import stale

if TYPE_CHECKING:
    import torch

# Seconds after which a reader goes on all the same: its thread may wait in a way that cannot be seen.
_LONGEST_HOLD = 1.0
_DEPTH = 4


class Gate:
    """Closed while the leases of some tensors run and the thread that handed them on does not wait."""

    def __init__(self, tokens: frozenset[str]) -> None:
        self.tokens = tokens
        self.owner = threading.get_ident()
        self._opened = threading.Event()

    def open(self) -> None:
        """Let the reader go on."""
        self._opened.set()

    def pass_through(self) -> None:
        """Wait, as the reader, until the gate is open; the thread that handed on is never held."""
        if threading.get_ident() != self.owner:
            self._opened.wait(_LONGEST_HOLD)


# The running leases by the address of their tensor's storage, and the closed gates.
_running: dict[int, tuple[str, weakref.ref[torch.UntypedStorage]]] = {}
_closed: dict[Gate, None] = {}


def lease_begun(token: str, storage: torch.UntypedStorage) -> None:
    """Note a lease whose tensor may be handed on, to another thread or by another iterator."""
    _running[storage._cdata] = token, weakref.ref(storage)


def leases_ended() -> None:
    """Open the gates of all leases that no longer run."""
    if not _running:
        return
    for address, (token, storage) in list(_running.items()):
        if token in stale or storage() is None:
            del _running[address]
    running = {token for token, _ in _running.values()}
    _open([gate for gate in list(_closed) if not gate.tokens & running])


def is_lent_now(tensor: torch.Tensor) -> bool:
    """Whether the very storage of a tensor is on a lease that was noted here and has not ended."""
    lease = _running.get(tensor.untyped_storage()._cdata)
    return lease is not None and lease[0] not in stale and lease[1]() is not None


def gate_for(*handed: object) -> Gate | None:
    """Return a closed gate if a lent tensor is among what is handed on, or inside of it; else None."""
    tokens = frozenset(_tokens(handed, _DEPTH)) if _running else frozenset()
    if not tokens:
        return None
    gate = Gate(tokens)
    _closed[gate] = None
    return gate


def gate_before(received: object) -> Gate | None:
    """Return the closed gate of what was received from another thread, None if there is none."""
    tokens = set(_tokens(received, _DEPTH)) if _closed else set()
    return next((gate for gate in list(_closed) if gate.tokens & tokens), None)


def thread_waits() -> None:
    """Open the gates of this thread, which begins to wait for something."""
    if _closed:
        thread = threading.get_ident()
        _open([gate for gate in list(_closed) if gate.owner == thread])


def _open(gates: list[Gate]) -> None:
    for gate in gates:
        _closed.pop(gate, None)
        gate.open()


def _tokens(handed: object, depth: int) -> Iterator[str]:
    import torch

    if issubclass(type(handed), torch.Tensor):
        if handed.layout is torch.strided and (handed.is_cpu or handed.is_cuda):
            lease = _running.get(handed.untyped_storage()._cdata)
            if lease is not None:
                yield lease[0]
    elif depth:
        for part in _parts(handed):
            yield from _tokens(part, depth - 1)


def _parts(handed: object) -> Iterator[object]:
    if isinstance(handed, (tuple, list, set, frozenset)):
        yield from list(handed)
    elif isinstance(handed, dict):
        yield from list(handed.values())
    elif isinstance(handed, functools.partial):
        yield from (handed.func, handed.args, handed.keywords)
    elif isinstance(handed, MethodType):
        yield handed.__self__
    elif isinstance(handed, FunctionType):
        yield handed.__defaults__
        for cell in handed.__closure__ or ():
            try:
                yield cell.cell_contents
            except ValueError:
                continue  # a variable that has no value yet
