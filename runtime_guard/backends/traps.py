"""Traps: the storage of a stale tensor refuses access to its data, through every view and in every thread."""

from __future__ import annotations

from collections.abc import Callable

import torch

from ..lease import Contract
from .aliasing import stand_in
from .poke import StorageLayout, find_layout, find_message, plant_message

Lift = Callable[[torch.UntypedStorage, bool], None]


def _lifting(layout: StorageLayout) -> Lift:
    def lift(storage: torch.UntypedStorage, lifted: bool) -> None:
        layout.set_flags(storage._cdata, not lifted)

    return lift


class MessageTrap:
    """Uses the function that CUDA builds of torch have for the outputs of overwritten CUDA graphs."""

    name = "trap by torch's own message"
    raises = True

    def __init__(self) -> None:
        self._refuse = torch._C._set_storage_data_ptr_access_error_msg
        layout = find_layout()
        self.lift = _lifting(layout) if layout is not None else None

    def lend(self, tensor: torch.Tensor, contract: Contract) -> torch.Tensor:
        return stand_in(tensor, contract)

    def revoke(self, lent: torch.Tensor, message: str) -> None:
        self._refuse(lent.untyped_storage()._cdata, message)


class FlagTrap:
    """Sets the same flags in the C++ object, for builds that lack the function.

    A read raises torch's generic text, so which tensor was read has to be found out afterwards.
    """

    name = "trap by flags"
    raises = True
    lift: Lift | None = None

    def __init__(self) -> None:
        layout = find_layout()
        if layout is None:
            raise RuntimeError("the flags of a storage were not found where they were looked for")
        self._layout = layout

    def lend(self, tensor: torch.Tensor, contract: Contract) -> torch.Tensor:
        return stand_in(tensor, contract)

    def revoke(self, lent: torch.Tensor, message: str) -> None:
        self._layout.set_flags(lent.untyped_storage()._cdata, True)


class PokeTrap(FlagTrap):
    """Plants the message in the C++ object too, where its layout is known."""

    name = "trap by flags and message"

    def __init__(self) -> None:
        super().__init__()
        self._message = find_message(self._layout)
        if not self._message:
            raise RuntimeError("the message of a storage was not found where it was looked for")
        self.lift = _lifting(self._layout)

    def revoke(self, lent: torch.Tensor, message: str) -> None:
        address = lent.untyped_storage()._cdata
        plant_message(address + self._message, message)
        self._layout.set_flags(address, True)
