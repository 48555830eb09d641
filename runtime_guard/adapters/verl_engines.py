"""verl's checkpoint engines: the asynchronous generators `receive_weights` lend until the next step.

Small weights are views of one of two receive buffers, which take turns; with some engines the next rank is
still reading them, so they are never written to. A weight larger than a bucket is put together in memory of
its own, and owned.
"""

from __future__ import annotations

import inspect
from collections.abc import AsyncIterator, Callable
from types import ModuleType
from typing import TYPE_CHECKING, Any

from ..lease import Contract
from ..lending import Named, lend_async_stream
from . import is_on
from .common import hook, new_lender, version_beside

if TYPE_CHECKING:
    import torch

_DISTRIBUTION = "verl"
_METHOD = "receive_weights"


def install(module: ModuleType) -> None:
    """Make the engines that the imported module defines lend what they receive."""
    version = version_beside(module, _DISTRIBUTION)
    for engine in list(vars(module).values()):
        if inspect.isclass(engine) and _is_async_generator(vars(engine).get(_METHOD)):
            hook(engine, _METHOD, lambda receive: _guarding(receive, version))


def _is_async_generator(function: Any) -> bool:
    # Under torch.no_grad() it is a plain function around one.
    return callable(function) and inspect.isasyncgenfunction(inspect.unwrap(function))


def _guarding(receive: Callable[..., Any], version: str) -> Callable[..., Any]:
    def wrapper(self: Any, *args: Any, **kwargs: Any) -> AsyncIterator[Named]:
        stream = receive(self, *args, **kwargs)
        if not is_on():
            return stream
        contract = Contract(
            producer=f"{_DISTRIBUTION} {version}",
            facts=type(self).__name__,
            reason="each tensor is a view of a receive buffer, which may be written again at the next step",
        )
        return lend_async_stream(stream, new_lender(contract), lambda tensor: _views_a_buffer(self, tensor))

    return wrapper


def _views_a_buffer(engine: Any, tensor: torch.Tensor) -> bool:
    """Whether the tensor is a view of something larger, or of a tensor that the engine keeps."""
    import torch

    storage = tensor.untyped_storage()
    if storage.nbytes() != tensor.nbytes:
        return True
    kept = (value for value in vars(engine).values() if isinstance(value, torch.Tensor))
    return any(buffer.untyped_storage().data_ptr() == storage.data_ptr() for buffer in kept)
