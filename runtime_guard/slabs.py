"""Memory that a producer hands over in large pieces, each of which lives as long as any view of it.

To keep one small tensor of such a slab is no defect, but it keeps the whole slab: the census notes it.
"""

from __future__ import annotations

import weakref
from dataclasses import dataclass

import torch

from . import report
from .holders import HolderSearch
from .living import living_tensors
from .sites import show_place

_USED_SHARE = 4  # a slab of which a quarter is in use is not worth a note
_LEAST_SIZE = 1 << 20  # bytes


@dataclass(frozen=True, slots=True, eq=False)
class _Slab:
    memory: weakref.ref[object]
    start: int
    size: int
    producer: str

    def holds(self, storage: torch.UntypedStorage) -> bool:
        return self.start <= storage.data_ptr() < self.start + self.size


_slabs: list[_Slab] = []


def watch_slab(memory: object, address: int, size: int, producer: str) -> None:
    """Remember a slab of `size` bytes at `address` for as long as `memory`, which owns it, lives."""
    if size >= _LEAST_SIZE:
        _slabs.append(_Slab(weakref.ref(memory), address, size, producer))


def note_pinned_slabs() -> None:
    """Note, for each producer, the slabs that views of less than a quarter of them keep alive."""
    _slabs[:] = [slab for slab in _slabs if slab.memory() is not None]
    for producer in dict.fromkeys(slab.producer for slab in _slabs):
        pinned = {}
        for slab in _slabs:
            views = _views(slab) if slab.producer == producer else {}
            if views and _used(views) * _USED_SHARE < slab.size:
                pinned[slab] = views
        if pinned:
            report.note(_line(producer, pinned))


def _views(slab: _Slab) -> dict[int, torch.Tensor]:
    """Return a tensor for each storage inside the slab, by the address of the storage."""
    found = {}
    for tensor in living_tensors():
        storage = tensor.untyped_storage()
        if storage.nbytes() and slab.holds(storage):
            found[storage._cdata] = tensor
    return found


def _used(views: dict[int, torch.Tensor]) -> int:
    return sum(view.untyped_storage().nbytes() for view in views.values())


def _line(producer: str, pinned: dict[_Slab, dict[int, torch.Tensor]]) -> str:
    size = sum(slab.size for slab in pinned)
    used = sum(map(_used, pinned.values()))
    example = next(iter(next(iter(pinned.values())).values()))
    holders = HolderSearch([example]).holders(example)
    held = f", such as {holders[0].name}{holders[0].path} ({show_place(holders[0].place)})" if holders else ""
    return (
        f"{len(pinned)} slab(s) of {producer}, {size} bytes, are kept alive by tensors of {used} bytes{held}: "
        "a copy of these would free the rest"
    )


report.look_before_the_end(note_pinned_slabs)
