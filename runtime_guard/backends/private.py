"""The back end of level paranoid: private copies, overwritten and trapped."""

from __future__ import annotations

import torch

from ..lease import Contract
from .aliasing import private_copy
from .poison import fill
from .traps import FlagTrap, MessageTrap


class PrivateTrap:
    """Hands out private copies; a stale one holds the pattern, for what reads it without torch, and is trapped."""

    raises = True

    def __init__(self, trap: MessageTrap | FlagTrap) -> None:
        self._trap = trap
        self.name = f"{trap.name} of private copies"
        self.lift = trap.lift

    def lend(self, tensor: torch.Tensor, contract: Contract) -> torch.Tensor:
        return private_copy(tensor)

    def revoke(self, lent: torch.Tensor, message: str) -> None:
        fill(lent)
        self._trap.revoke(lent, message)
