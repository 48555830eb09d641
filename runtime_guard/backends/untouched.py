"""The back end of the census: nothing is made unreadable, only who holds what can be told apart."""

from __future__ import annotations

import torch

from ..lease import Contract
from .aliasing import stand_in


class Untouched:
    """Hands out the producer's own tensor where that has a storage of its own, else an alias."""

    name = "nothing is touched"
    raises = False
    lift = None

    def lend(self, tensor: torch.Tensor, contract: Contract) -> torch.Tensor:
        return stand_in(tensor, contract)

    def revoke(self, lent: torch.Tensor, message: str) -> None:
        """Nothing: a stale tensor reads what its memory now holds, as without the guard."""
