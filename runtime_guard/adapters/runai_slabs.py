"""RunAI Model Streamer from 0.17 on: the ring slots that an owning stream gives away, for the census."""

from __future__ import annotations

from collections.abc import Callable
from types import ModuleType
from typing import Any

from ..levels import CENSUS
from . import current_level
from .common import hook


def install(module: ModuleType) -> None:
    """Make the pools of the imported module tell of the slots they allocate, under the census."""
    pool = getattr(module, "SlotPool", None)
    if pool is not None:
        hook(pool, "__init__", _telling)


def _telling(init: Callable[..., None]) -> Callable[..., None]:
    def wrapper(self: Any, depth: int, alloc: Callable[[], Any], owned: bool) -> None:
        init(self, depth, _watched(alloc) if owned and current_level() == CENSUS else alloc, owned)

    return wrapper


def _watched(alloc: Callable[[], Any]) -> Callable[[], Any]:
    from ..slabs import watch_slab

    def watched() -> Any:
        slot = alloc()
        watch_slab(_owner(slot.memory), slot.address, slot.memory.nbytes, "runai-model-streamer")
        return slot

    return watched


def _owner(array: Any) -> Any:
    """Return the array that owns the memory: views of views refer to it, and not to the one between."""
    while isinstance(getattr(array, "base", None), type(array)):
        array = array.base
    return array
