"""A second storage over the same memory, so that one tensor can be made stale without its neighbours."""

from __future__ import annotations

import torch

# Keeps the producer's tensor, and so its memory, alive for as long as any view of the alias lives.
_OWNER = "_loaderlint_owner"


def can_be_lent(tensor: torch.Tensor) -> bool:
    """Whether the guard can stand in for this tensor without its consumer noticing.

    Device memory is left alone: an alias would hide it from the allocator's bookkeeping of streams.
    """
    return (
        type(tensor) is torch.Tensor
        and tensor.layout is torch.strided
        and tensor.device.type == "cpu"
        and not tensor.requires_grad
        and not tensor.is_conj()
        and not tensor.is_neg()
    )


def extent(tensor: torch.Tensor) -> int:
    """Return the bytes from the first to the last element of a strided tensor, both included."""
    if tensor.is_contiguous():
        return tensor.nbytes
    steps = zip(tensor.shape, tensor.stride(), strict=True)
    return (sum((size - 1) * stride for size, stride in steps) + 1) * tensor.element_size()


def alias(tensor: torch.Tensor) -> torch.Tensor:
    """Return a tensor over the same memory that has a storage of its own, and the same attributes."""
    storage = torch._C._construct_storage_from_data_pointer(tensor.data_ptr(), tensor.device, extent(tensor))
    if torch.is_inference_mode_enabled() == tensor.is_inference():
        twin = _over(storage, tensor)
    else:
        with torch.inference_mode(tensor.is_inference()):
            twin = _over(storage, tensor)
    copy_attributes(tensor, twin)
    setattr(storage, _OWNER, tensor)
    return twin


def _over(storage: torch.UntypedStorage, like: torch.Tensor) -> torch.Tensor:
    # The device is named because a loader may run under `torch.device(...)`, which changes the default.
    return torch.empty(0, dtype=like.dtype, device=like.device).set_(storage, 0, like.shape, like.stride())


def copy_attributes(source: torch.Tensor, target: torch.Tensor) -> None:
    """Give `target` and its storage the Python attributes of `source` and its storage."""
    target.__dict__.update(source.__dict__)
    target.untyped_storage().__dict__.update(source.untyped_storage().__dict__)
