"""The tensors of this process that are alive."""

from __future__ import annotations

import gc
from collections.abc import Iterator

import torch


def living_tensors() -> Iterator[torch.Tensor]:
    """Yield every living tensor that has a storage in host or device memory."""
    for one in gc.get_objects():
        # Not isinstance: that asks the object, and some load a module to answer.
        if issubclass(type(one), torch.Tensor) and one.layout is torch.strided and not one.is_meta:
            try:
                one.untyped_storage()
            except RuntimeError:
                continue  # a subclass without a storage of its own
            yield one
