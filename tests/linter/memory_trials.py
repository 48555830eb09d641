"""Runs library functions on real tensors and arrays, and looks at whose memory they return."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from enum import Enum, auto
from typing import Any

import numpy as np
import torch

# Ask the user, never return, or change how torch works: not called.
_NOT_CALLED = {
    "index", "dims", "backward", "retain_grad", "register_hook", "register_post_accumulate_grad_hook", "module_load",
    "apply_", "map_", "map2_", "reinforce", "cuda", "xpu", "npu", "ipu", "hpu", "mtia", "save", "load", "savez",
    "savez_compressed", "savetxt", "loadtxt", "genfromtxt", "fromfile", "fromregex", "memmap", "tofile", "dump", "info",
    "source", "test", "show_config", "show_runtime", "setbufsize", "seterr", "seterrcall", "set_printoptions",
    "printoptions", "errstate", "compile", "vmap", "cond", "while_loop", "fork", "wait", "from_file", "manual_seed",
    "seed", "init_num_threads", "use_deterministic_algorithms", "share_memory_", "bmat", "lobpcg",
}  # fmt: skip


class Fact(Enum):
    """What one call did: it returned its receiver's memory, other memory, or none; it wrote into its receiver."""

    SHARES = auto()
    ANOTHER = auto()
    NO_MEMORY = auto()
    WRITES = auto()


Trials = dict[str, set[Fact]]


def public(space: object, prefix: str = "") -> Iterator[tuple[str, Callable[..., Any]]]:
    """The public functions of a module or class, by name."""
    for name in dir(space):
        found = getattr(space, name)
        hidden = name.startswith(("_", "set_", "import_", "parse_")) and name != "set_"
        if callable(found) and not isinstance(found, type) and not hidden and name not in _NOT_CALLED:
            yield prefix + name, found


def tensors() -> list[torch.Tensor]:
    """Receivers of several shapes, layouts and types."""
    return [
        torch.arange(16.0).reshape(4, 4),
        torch.arange(1, 9.0).reshape(2, 2, 2),
        torch.arange(4.0),
        torch.arange(16.0).reshape(4, 4).t(),
        torch.complex(torch.ones(2, 2), torch.ones(2, 2)),
        torch.arange(4),
        torch.tensor([True, False]),
        torch.ones(1, 2, 1),
        torch.tensor([[4.0, 1.0], [1.0, 3.0]]),
        torch.arange(4, dtype=torch.uint8),
        torch.zeros(()),
    ]


def tensor_arguments(tensor: torch.Tensor) -> list[tuple[object, ...]]:
    """What may follow a receiver: of these some fit any function."""
    ones, zero = torch.ones_like(tensor), torch.zeros(1, dtype=torch.int64)
    flat, mask, places = (
        ones.flatten(),
        torch.ones(tensor.shape, dtype=torch.bool),
        torch.zeros_like(ones).long(),
    )
    first = ones[:1] if tensor.dim() else ones
    return [
        (), (0,), (1,), (2,), (0, 1), (0, 0), (0, 0, 1), (0, 1, 1), (1, 1), (0.5,), (0, 1.0), (1, 0, 0), (1, 0, 1),
        (ones,), (ones, ones), (0, ones), (ones, 0), (0, zero), (zero,), (0, zero, 1.0), ((2, 2),), ((1,),), (2, 0),
        ([1, 1], 0), ((2, 2), (1, 1)), (torch.float32,), (torch.float64,), ("cpu",), (torch.uint8,), (mask,),
        (mask, ones), (mask, 0), (mask, flat), (0, zero, first), (tuple(tensor.shape),), (*tensor.shape,),
        (0, (1, tensor.shape[0])) if tensor.dim() else (), ((zero,), flat[:1]), ([0], [0]), ((0,), (0,)), (0, 0, [0]),
        (0, places, ones), (0, places, 1.0), (flat, flat), (places,), (0, places, ones, "sum"),
        (0, zero, first, "mean"), (tensor.untyped_storage(),), (torch.Tensor,), (1.0, 0, torch.per_tensor_affine),
        (ones.reshape(-1, 1) if tensor.dim() == 1 else ones[0] if tensor.dim() else ones, flat[: tensor.shape[-1]])
        if tensor.dim() else (),
    ]  # fmt: skip


@contextmanager
def _unwarned() -> Iterator[None]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


def try_tensors(functions: Iterator[tuple[str, Callable[..., Any]]]) -> Trials:
    """What each function did with every receiver and all arguments that it took."""
    found: Trials = {}
    with _unwarned():
        for name, function in functions:
            facts = found[name] = set()
            for base in tensors():
                for arguments in tensor_arguments(base):
                    facts |= _try_tensor(function, base.clone(), arguments)
    return found


def _try_tensor(
    function: Callable[..., Any], tensor: torch.Tensor, arguments: tuple[object, ...]
) -> set[Fact]:
    own, version = _storages(tensor), tensor._version
    try:
        result = function(tensor, *arguments)
    except Exception:
        return set()  # These arguments are none for this function.
    facts = {Fact.WRITES} if tensor._version > version else set()
    memory = _storages(result)
    if result is tensor or memory & own:
        return facts | {Fact.SHARES}
    return facts | {Fact.ANOTHER if memory else Fact.NO_MEMORY}


def _storages(value: object) -> set[int]:
    """The addresses of all memory that a result holds."""
    if isinstance(value, torch.Tensor) and value.layout is torch.strided and value.device.type == "cpu":
        return {value.untyped_storage().data_ptr()} if value.numel() else set()
    if isinstance(value, torch.UntypedStorage):
        return {value.data_ptr()}
    if isinstance(value, torch.TypedStorage):
        return {value._untyped_storage.data_ptr()}
    if isinstance(value, np.ndarray):
        while isinstance(value.base, np.ndarray):
            value = value.base
        return {value.__array_interface__["data"][0]} if value.size else set()
    return set().union(*map(_storages, value)) if isinstance(value, (list, tuple)) else set()


def arrays() -> list[np.ndarray]:
    """Receivers of several shapes, layouts and types."""
    return [
        np.arange(16.0).reshape(4, 4),
        np.arange(8.0).reshape(2, 2, 2),
        np.arange(4.0),
        np.ones((1, 2, 1)),
        np.arange(4),
        np.ones((2, 2), complex),
        np.arange(16.0).reshape(4, 4).T,
        np.array([True, False]),
    ]


def array_arguments(array: np.ndarray) -> list[tuple[object, ...]]:
    """What may follow an array."""
    ones = np.ones_like(array)
    return [
        (), (0,), (1,), (2,), (0, 1), (1, 0), (ones,), (ones, ones), ((array.size,),), (array.shape,), ((1, 0),),
        (np.float32,), (array.dtype,), ([1],), ([1], 0), (0, 0), ((1, 0), (0, 1)), (-1, 1), (2, 2),
        ((2, *array.shape),),
    ]  # fmt: skip


def try_arrays(functions: Iterator[tuple[str, Callable[..., Any]]]) -> Trials:
    """What each function did with every array and all arguments that it took."""
    found: Trials = {}
    with _unwarned():
        for name, function in functions:
            facts = found[name] = set()
            for base in arrays():
                for arguments in array_arguments(base):
                    facts |= _try_array(function, base.copy(order="K"), arguments)
    return found


def _try_array(function: Callable[..., Any], array: np.ndarray, arguments: tuple[object, ...]) -> set[Fact]:
    try:
        result = function(array, *arguments)
    except Exception:
        return set()  # These arguments are none for this function.
    parts = [part for part in _arrays(result) if part.size]
    if any(np.shares_memory(part, array) for part in parts):
        return {Fact.SHARES}
    return {Fact.ANOTHER if parts else Fact.NO_MEMORY}


def _arrays(value: object) -> Iterator[np.ndarray]:
    if isinstance(value, np.ndarray):
        yield value
    elif isinstance(value, (list, tuple)):
        for part in value:
            yield from _arrays(part)
