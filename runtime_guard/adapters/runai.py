"""RunAI Model Streamer, 0.14 and newer: which tensors of a SafetensorsStreamer are lent, and the hook.

Up to 0.16 every tensor of a host stream is a view of a buffer that the streamer writes again. From 0.17 on
`stream_files(owned=...)` decides, and hands every tensor over by default.
"""

from __future__ import annotations

import inspect
import os
from collections.abc import Callable, Iterator
from types import ModuleType
from typing import TYPE_CHECKING, Any

from ..lease import Contract
from ..lending import Named, any_tensor, lend_stream
from . import is_on
from .common import hook, known_form, new_lender, version_beside

if TYPE_CHECKING:
    import torch

_DISTRIBUTION = "runai-model-streamer"
_LIMIT = "RUNAI_STREAMER_MEMORY_LIMIT"
_OWNED_ATTRIBUTE = "_loaderlint_owned"

_GetTensors = Callable[[Any], Iterator[Named]]


def install(module: ModuleType) -> None:
    """Make the streamer class of the imported module guard its lent streams."""
    streamer = known_form(module, _DISTRIBUTION, "SafetensorsStreamer", "stream_files", "get_tensors")
    if streamer is None:
        return
    version = version_beside(module, _DISTRIBUTION)
    hook(streamer, "stream_files", _remembering_owned)
    hook(streamer, "get_tensors", lambda get_tensors: _guarding(get_tensors, version))


def _remembering_owned(stream_files: Callable[..., None]) -> Callable[..., None]:
    signature = inspect.signature(stream_files)

    def wrapper(self: Any, *args: Any, **kwargs: Any) -> None:
        result = stream_files(self, *args, **kwargs)
        bound = signature.bind(self, *args, **kwargs)
        bound.apply_defaults()
        setattr(self, _OWNED_ATTRIBUTE, bound.arguments.get("owned"))
        return result

    return wrapper


def _guarding(get_tensors: _GetTensors, version: str) -> _GetTensors:
    def wrapper(self: Any) -> Iterator[Named]:
        tensors = get_tensors(self)
        if not is_on() or getattr(self, _OWNED_ATTRIBUTE, None) is True:
            return tensors
        return _lent(self, tensors, version)

    return wrapper


def _lent(streamer: Any, tensors: Iterator[Named], version: str) -> Iterator[Named]:
    distributed = getattr(streamer.file_streamer, "is_distributed", False)
    contract = _contract(version, getattr(streamer, _OWNED_ATTRIBUTE, None), distributed)
    return lend_stream(tensors, new_lender(contract), any_tensor if distributed else _views_the_buffer)


def _views_the_buffer(tensor: torch.Tensor) -> bool:
    """Whether a tensor of a stream of one process is a view of the ring: the streamer makes it from numpy.

    Tensors moved to a device, and copies made because an address did not fit the dtype, own their memory;
    torch can resize that, but not what it was lent.
    """
    return not tensor.untyped_storage().resizable()


def _contract(version: str, owned: bool | None, distributed: bool) -> Contract:
    limit = os.environ.get(_LIMIT, "unset")
    flag = "no owned flag before 0.17" if owned is None else f"owned={owned}"
    why = "this version always lends" if owned is None else f"the stream was started with owned={owned}"
    buffer = "a staging buffer of the distributed stream" if distributed else "the streamer's host buffer"
    return Contract(
        producer=f"{_DISTRIBUTION} {version}",
        facts=f"{flag}, limit={limit}" + (", distributed" if distributed else ""),
        reason=f"{why}: each tensor is a view of {buffer}, which may be written again at the next step",
        free_on_advance=not distributed,
        exclusive=not distributed,
    )
