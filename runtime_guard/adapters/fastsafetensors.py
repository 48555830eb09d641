"""fastsafetensors, 0.2 and newer: tensors are views of one buffer for each file, freed by `close()`.

Up to 0.4 every view of that buffer is lent until its FilesBufferOnDevice is closed. From 0.5 on the views
share ownership of the buffer, unless `borrowed_tensors=True` was asked for. Conversions, and what a group of
several processes sends around, are copies; they lie outside the buffer and are owned in every version.
ParallelLoader closes the buffer of a batch before the next one.
"""

from __future__ import annotations

import copy
import sys
from collections.abc import Callable, Iterator
from types import ModuleType
from typing import Any

from ..lease import Contract
from ..lending import Lender
from ..sites import call_site
from . import is_on
from .common import hook, known_form, new_lender, version_beside

_DISTRIBUTION = "fastsafetensors"
_LENDER = "_loaderlint_lender"


def install(module: ModuleType) -> None:
    """Make the buffers of the imported module lend their tensors until they are closed."""
    buffer = known_form(module, _DISTRIBUTION, "FilesBufferOnDevice", "get_sharded_wrapped", "close")
    if buffer is None:
        return
    version = version_beside(module, _DISTRIBUTION)
    # get_tensor, get_sharded and get_tensor_wrapped come through here.
    hook(buffer, "get_sharded_wrapped", lambda function: _lending_one(function, version))
    hook(buffer, "push_tensor", lambda function: _lending_one(function, version))
    hook(buffer, "as_dict", lambda function: _lending_dict(function, version))
    if hasattr(buffer, "iter_local_tensors"):
        hook(buffer, "iter_local_tensors", lambda function: _lending_each(function, version))
    hook(buffer, "close", _ending)


def _lending_one(function: Callable[..., Any], version: str) -> Callable[..., Any]:
    def wrapper(self: Any, tensor_name: str, *args: Any, **kwargs: Any) -> Any:
        # Asked before: a buffer of several processes may be freed by the call itself.
        memory = _memory_of(self, tensor_name)
        return _lend(self, version, tensor_name, function(self, tensor_name, *args, **kwargs), memory)

    return wrapper


def _lending_dict(function: Callable[..., Any], version: str) -> Callable[..., Any]:
    def wrapper(self: Any, *args: Any, **kwargs: Any) -> dict[str, Any]:
        tensors = function(self, *args, **kwargs)
        return {
            name: _lend(self, version, name, value, _memory_of(self, name)) for name, value in tensors.items()
        }

    return wrapper


def _lending_each(function: Callable[..., Any], version: str) -> Callable[..., Any]:
    def wrapper(self: Any, *args: Any, **kwargs: Any) -> Iterator[tuple[str, Any]]:
        for name, value in function(self, *args, **kwargs):
            yield name, _lend(self, version, name, value, _memory_of(self, name))

    return wrapper


def _ending(close: Callable[[Any], None]) -> Callable[[Any], None]:
    def wrapper(self: Any) -> None:
        lender = self.__dict__.pop(_LENDER, None)
        if lender is not None:
            lender.end(call_site(sys._getframe(1)))
        close(self)

    return wrapper


def _memory_of(buffer: Any, name: str) -> range:
    """Return the addresses that closing the buffer frees under the tensor of that name."""
    rank, index = buffer.key_to_rank_lidx.get(name, (None, None))
    factories = buffer.rank_loaders.get(rank)
    memory = factories[index].gbuf if factories else None
    if memory is None:
        return range(0)
    return range(memory.get_base_address(), memory.get_base_address() + memory.get_length())


def _lend(buffer: Any, version: str, name: str, value: Any, memory: range) -> Any:
    """Return what the consumer gets for `value`, a tensor or fastsafetensors' wrapper around one."""
    import torch

    if not is_on() or not _frees_under_tensors(buffer):
        return value
    wrapped = getattr(value, "real_tensor", None)
    tensor = value if isinstance(value, torch.Tensor) else wrapped
    if not isinstance(tensor, torch.Tensor) or tensor.numel() == 0 or tensor.data_ptr() not in memory:
        return value
    lent = _lender(buffer, version).lend(name, tensor, call_site(sys._getframe(1)))
    if tensor is value:
        return lent
    wrapper = copy.copy(value)  # the buffer hands out the same one again
    wrapper.real_tensor = lent
    return wrapper


def _frees_under_tensors(buffer: Any) -> bool:
    return getattr(buffer, "borrowed_tensors", True)


def _lender(buffer: Any, version: str) -> Lender:
    if _LENDER not in buffer.__dict__:
        buffer.__dict__[_LENDER] = new_lender(_contract(version, hasattr(buffer, "borrowed_tensors")))
    return buffer.__dict__[_LENDER]


def _contract(version: str, has_flag: bool) -> Contract:
    why = (
        "borrowed_tensors=True was asked for"
        if has_flag
        else "before 0.5 the tensors of a buffer never own it"
    )
    return Contract(
        producer=f"{_DISTRIBUTION} {version}",
        facts="borrowed_tensors=True" if has_flag else "no shared ownership before 0.5",
        reason=f"{why}: each tensor is a view of the buffer of its file, which close() frees",
        ends="its buffer is closed, which ParallelLoader does at the end of a batch",
        gone_on_advance=True,
    )
