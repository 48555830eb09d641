"""Paranoid on a GPU: what reads a lent tensor while the stream goes on begins late.

A copy from pinned memory that nobody waits for, and a read on a side stream, race with the producer, and mostly
win. Held back on the reader's own CUDA stream they lose each time: they find the pattern that the private copy
holds by then. A reader that is waited for computes what it does without the guard, only later.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import torch
from torch.overrides import TorchFunctionMode

from .gates import is_lent_now
from .modes import run_under

_CYCLES = 20_000_000  # about a hundredth of a second: longer than it takes to advance
_MOVES = {"copy_", "to", "cuda"}

# The CUDA stream under which tensors were last lent on each device: what runs on it is in order with the pattern.
_lending: dict[torch.device, int] = {}


def delay_readers(lent: torch.Tensor) -> None:
    """Delay, from now on, what reads this tensor or others that are lent without their stream being waited for."""
    if lent.is_cuda:
        _lending[lent.device] = torch.cuda.current_stream(lent.device).cuda_stream
    run_under(DelayReaders, DelayReaders)


class DelayReaders(TorchFunctionMode):
    """Lets the CUDA stream of a reader sleep before it reads."""

    def __torch_function__(
        self, function: Callable[..., Any], types: Any, args: Any = (), kwargs: Any = None
    ) -> Any:
        kwargs = kwargs or {}
        race = race_of(function, args, kwargs)
        if race is not None:
            with torch.cuda.device(race.device):
                torch.cuda._sleep(_CYCLES)
            if race.tensor.is_cuda:
                # Else the memory may be in use for the next tensor by the time that the reader comes to it.
                race.tensor.record_stream(torch.cuda.current_stream(race.device))
        return function(*args, **kwargs)


class Race(NamedTuple):
    """A lent tensor, and the device whose current stream is about to read it while the producer may go on."""

    tensor: torch.Tensor
    device: torch.device


def race_of(function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Race | None:
    """Return what an operation reads from lent memory that may change before it does; None for no such thing."""
    name = getattr(function, "__name__", "")
    if name == "__get__":  # an attribute
        return None
    values = [*_flat(args), *kwargs.values()]
    for tensor in values:
        if not isinstance(tensor, torch.Tensor) or not is_lent_now(tensor):
            continue
        if tensor.is_cuda and torch.cuda.current_stream(tensor.device).cuda_stream != _lending.get(
            tensor.device
        ):
            return Race(tensor, tensor.device)
        # `True` among the arguments of these is `non_blocking`, or asks for a copy, which costs only time here.
        if name in _MOVES and any(value is True for value in values) and tensor.is_pinned():
            device = _target(name, tensor, values)
            return None if device is None else Race(tensor, device)
    return None


def _target(name: str, source: torch.Tensor, values: list[Any]) -> torch.device | None:
    """Return the CUDA device that a copy goes to, None where it goes elsewhere."""
    for value in values:
        if isinstance(value, torch.Tensor) and value is not source and value.is_cuda:
            return value.device
        if isinstance(value, (str, torch.device)) and torch.device(value).type == "cuda":
            return torch.device(value)
        if type(value) is int:
            return torch.device("cuda", value)
    return torch.device("cuda", torch.cuda.current_device()) if name == "cuda" else None


def _flat(values: tuple[Any, ...]) -> Iterator[Any]:
    for value in values:
        if isinstance(value, (list, tuple)):
            yield from value
        else:
            yield value
