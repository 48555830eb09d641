"""What stands in for a tensor that is lent: a second storage over the same memory, or a copy.

So one tensor can be made stale without its neighbours.
"""

from __future__ import annotations

from functools import cache

import torch

from ..lease import Contract

# The producer's tensor as an attribute of the alias's storage, which so keeps its memory alive.
_OWNER = "_loaderlint_owner"


def can_be_lent(tensor: torch.Tensor) -> bool:
    """Whether the guard can stand in for this tensor without its consumer noticing."""
    return (
        type(tensor) is torch.Tensor
        and tensor.layout is torch.strided
        and (tensor.is_cpu or tensor.is_cuda)
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


def stand_in(tensor: torch.Tensor, contract: Contract) -> torch.Tensor:
    """Return the tensor itself where it alone has its storage, else one over the same memory.

    Pinned memory is copied: torch finds the copies to a device that still read it by the address where a
    block begins, so through an alias it would hand the block out again too early.
    """
    if contract.exclusive:
        return tensor
    return private_copy(tensor) if _is_pinned(tensor) else alias(tensor)


def _is_pinned(tensor: torch.Tensor) -> bool:
    # Nothing is pinned before the device is in use, and asking costs more than knowing that.
    return torch.cuda.is_initialized() and tensor.is_pinned()


def private_copy(tensor: torch.Tensor) -> torch.Tensor:
    """Return a copy with the same attributes, in pinned memory where the tensor is."""
    copy = tensor.clone().pin_memory() if _is_pinned(tensor) else tensor.clone()
    copy_attributes(tensor, copy)
    return copy


def alias(tensor: torch.Tensor) -> torch.Tensor:
    """Return a tensor over the same memory that has a storage of its own, and the same attributes."""
    over = _exchanged if _can_be_exchanged(tensor.dtype) else _constructed
    if torch.is_inference_mode_enabled() == tensor.is_inference():
        twin = over(tensor)
    else:
        with torch.inference_mode(tensor.is_inference()):
            twin = over(tensor)
    copy_attributes(tensor, twin)
    if tensor.is_cuda:
        _forward_record_stream(twin, tensor)
    return twin


def _exchanged(tensor: torch.Tensor) -> torch.Tensor:
    """Return the tensor as DLPack hands it on, which is the quickest way to a second storage."""
    twin = torch._C._from_dlpack(torch._C._to_dlpack(tensor))
    if twin.stride() != tensor.stride():  # DLPack is free to change the strides of dimensions of size one
        twin.as_strided_(tensor.shape, tensor.stride())
    return twin


@cache
def _can_be_exchanged(dtype: torch.dtype) -> bool:
    """Whether DLPack and this torch know the dtype."""
    try:
        sample = torch.empty(1, dtype=dtype, device="cpu")
        return torch._C._from_dlpack(torch._C._to_dlpack(sample)).dtype is dtype
    except (BufferError, RuntimeError):
        return False


def _constructed(tensor: torch.Tensor) -> torch.Tensor:
    storage = torch._C._construct_storage_from_data_pointer(tensor.data_ptr(), tensor.device, extent(tensor))
    setattr(storage, _OWNER, tensor)  # the DLPack way keeps the memory alive without help
    return tensor.new_empty(0).set_(storage, 0, tensor.shape, tensor.stride())


def copy_attributes(source: torch.Tensor, target: torch.Tensor) -> None:
    """Give `target` and its storage the Python attributes of `source` and its storage."""
    target.__dict__.update(source.__dict__)
    target.untyped_storage().__dict__.update(source.untyped_storage().__dict__)


def _forward_record_stream(twin: torch.Tensor, owner: torch.Tensor) -> None:
    """Make `record_stream()` on an alias reach the tensor whose memory it is, which the allocator knows."""
    setattr(twin.untyped_storage(), _OWNER, owner)
    record = torch.Tensor.record_stream
    if hasattr(record, _OWNER):
        return

    def record_stream(self: torch.Tensor, stream: object) -> None:
        record(getattr(self.untyped_storage(), _OWNER, self), stream)

    setattr(record_stream, _OWNER, record)
    torch.Tensor.record_stream = record_stream
