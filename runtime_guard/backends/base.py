"""What every back end does."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    import torch

    from ..lease import Contract


class Backend(Protocol):
    """Hands out tensors that it can make stale.

    `name` goes into reports; `raises` says whether a stale read raises, else it reads the poison pattern.
    `lift(storage, True)` lets a stale tensor be read again and `lift(storage, False)` no longer; None where
    that cannot be done.
    """

    name: str
    raises: bool
    lift: Callable[[torch.UntypedStorage, bool], None] | None

    def lend(self, tensor: torch.Tensor, contract: Contract) -> torch.Tensor:
        """Return what the consumer gets: `tensor` itself or one with the same values and attributes."""

    def revoke(self, lent: torch.Tensor, message: str) -> None:
        """Make a tensor that `lend` returned stale; `message` is what a read raises, where it can raise."""
