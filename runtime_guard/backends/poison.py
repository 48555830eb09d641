"""Poison: patterns that no weight has, the back ends that write them, and the check that finds them."""

from __future__ import annotations

import ctypes
from collections.abc import Iterable
from typing import NamedTuple

import torch

from ..lease import Contract
from .aliasing import alias, extent, private_copy

_NAN = 0xFF  # every byte of it set is NaN in all floating types but the fnuz kinds
_PATTERNS = {
    torch.float8_e4m3fnuz: 0x80,
    torch.float8_e5m2fnuz: 0x80,
    torch.int16: 0xA5,  # not -1: as an index it has to be out of range
    torch.int32: 0xA5,
    torch.int64: 0xA5,
    torch.uint16: 0xA5,
    torch.uint32: 0xA5,
    torch.uint64: 0xA5,
    torch.bool: 0x01,  # any other byte in a bool is undefined behaviour
}
_LEAST_BYTES = 64  # a shorter run of 0xFF bytes may well be data


def pattern_of(dtype: torch.dtype) -> int:
    """Return the byte that poisons memory of this dtype."""
    return _PATTERNS.get(dtype, _NAN)


def fill(tensor: torch.Tensor) -> None:
    """Overwrite a tensor, and what lies between its elements, with the pattern of its dtype."""
    pattern, size = pattern_of(tensor.dtype), extent(tensor)
    if tensor.device.type == "cpu":
        ctypes.memset(tensor.data_ptr(), pattern, size)
        return
    start = tensor.storage_offset() * tensor.element_size()
    memory = torch.empty(0, dtype=torch.uint8, device=tensor.device)
    memory.set_(tensor.untyped_storage(), start, (size,)).fill_(pattern)


class InPlacePoison:
    """Overwrites the producer's own memory where its adapter declares that free, else a private copy."""

    name = "poison in place"
    raises = False
    lift = None

    def lend(self, tensor: torch.Tensor, contract: Contract) -> torch.Tensor:
        return tensor if contract.free_on_advance else private_copy(tensor)

    def revoke(self, lent: torch.Tensor, message: str) -> None:
        fill(lent)


class CopyPoison:
    """Hands out private copies and overwrites them; works with any torch, costs a copy of every tensor."""

    name = "poison in a private copy"
    raises = False
    lift = None

    def lend(self, tensor: torch.Tensor, contract: Contract) -> torch.Tensor:
        return private_copy(tensor)

    def revoke(self, lent: torch.Tensor, message: str) -> None:
        fill(lent)


class SwapPoison:
    """Hands out aliases, and points them at a region full of the pattern; needs torch 2.13 or newer."""

    name = "poison by a swapped data pointer"
    raises = False
    lift = None

    def __init__(self) -> None:
        self._regions: dict[tuple[int, torch.device], torch.Tensor] = {}
        self._outgrown: list[torch.Tensor] = []

    def lend(self, tensor: torch.Tensor, contract: Contract) -> torch.Tensor:
        return alias(tensor)

    def revoke(self, lent: torch.Tensor, message: str) -> None:
        size = extent(lent)
        region = self._region(pattern_of(lent.dtype), lent.device, size)
        stand_in = torch._C._construct_storage_from_data_pointer(region.data_ptr(), lent.device, size)
        lent.untyped_storage()._swap_data_ptr_(stand_in)

    def _region(self, pattern: int, device: torch.device, size: int) -> torch.Tensor:
        region = self._regions.get((pattern, device))
        if region is None or region.numel() < size:
            if region is not None:
                self._outgrown.append(region)  # stale tensors still point into it
            region = torch.full((2 * size,), pattern, dtype=torch.uint8, device=device)
            self._regions[pattern, device] = region
        return region


class Poisoned(NamedTuple):
    """A tensor that holds the poison pattern in `elements` of its `total` elements."""

    name: str
    elements: int
    total: int


def poisoned(named_tensors: Iterable[tuple[str, torch.Tensor]]) -> list[Poisoned]:
    """Return which of the loaded tensors, such as `model.named_parameters()`, hold the poison pattern.

    Floating tensors: every NaN counts, since a conversion between floating types keeps only that. Integers
    of 16 bits and more: the value 0xA5A5... itself. 8-bit integers: rows of at least 64 bytes that are 0xFF
    throughout. bool has no value to tell poison by and is never named.
    """
    found = []
    for name, tensor in named_tensors:
        elements = _count(tensor.detach())
        if elements:
            found.append(Poisoned(name, elements, tensor.numel()))
    return found


def _count(tensor: torch.Tensor) -> int:
    if tensor.dtype is torch.bool or tensor.numel() == 0 or tensor.device.type == "meta":
        return 0
    if tensor.is_floating_point() or tensor.is_complex():
        return _count_nan(tensor)
    if tensor.element_size() == 1:
        return _count_rows(tensor)
    signed = {2: torch.int16, 4: torch.int32, 8: torch.int64}[tensor.element_size()]
    pattern = int.from_bytes(b"\xa5" * tensor.element_size(), "little", signed=True)
    return int((tensor.view(signed) == pattern).sum())


def _count_nan(tensor: torch.Tensor) -> int:
    if tensor.element_size() > 1:
        return int(tensor.isnan().sum())
    try:
        return int(tensor.to(torch.float32).isnan().sum())
    except (RuntimeError, TypeError):  # packed four-bit types convert to nothing
        return _count_rows(tensor.view(torch.uint8))


def _count_rows(tensor: torch.Tensor) -> int:
    rows = tensor.view(torch.uint8).reshape(tensor.shape[0] if tensor.dim() > 1 else 1, -1)
    if rows.shape[1] < _LEAST_BYTES:
        return 0
    return int((rows == _NAN).all(dim=1).sum()) * rows.shape[1]
