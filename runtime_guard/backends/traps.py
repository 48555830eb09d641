"""Traps: the storage of a stale tensor refuses access to its data, through every view and in every thread."""

from __future__ import annotations

import torch

from ..lease import Contract
from .aliasing import alias
from .poke import StorageLayout, find_layout, plant_message

GENERIC_TEXT = "Cannot access data pointer of Storage that is invalid"


def _lend(tensor: torch.Tensor, contract: Contract) -> torch.Tensor:
    return tensor if contract.exclusive else alias(tensor)


class MessageTrap:
    """Uses the function that CUDA builds of torch have for the outputs of overwritten CUDA graphs."""

    name = "trap by torch's own message"
    raises = True

    def __init__(self) -> None:
        self._refuse = torch._C._set_storage_data_ptr_access_error_msg

    def lend(self, tensor: torch.Tensor, contract: Contract) -> torch.Tensor:
        return _lend(tensor, contract)

    def revoke(self, lent: torch.Tensor, message: str) -> None:
        self._refuse(lent.untyped_storage()._cdata, message)


class PokeTrap:
    """Sets the same flags in the C++ object, for builds of torch that lack the function.

    Where the layout of the message is known too, a read raises the message, else torch's generic text.
    """

    raises = True

    def __init__(self) -> None:
        layout = find_layout()
        if layout is None:
            raise RuntimeError("the flags of a storage were not found where they were looked for")
        self._layout: StorageLayout = layout
        self.name = "trap by flags and message" if layout.message else "trap by flags"

    def lend(self, tensor: torch.Tensor, contract: Contract) -> torch.Tensor:
        return _lend(tensor, contract)

    def revoke(self, lent: torch.Tensor, message: str) -> None:
        address = lent.untyped_storage()._cdata
        if self._layout.message:
            plant_message(address + self._layout.message, message)
        self._layout.set_flags(address, True)
