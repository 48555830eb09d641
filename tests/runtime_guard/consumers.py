"""Loaders that keep streamed tensors, and loaders that do not; for this process and beside old streamers."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any

import torch
from torch import nn

Named = tuple[str, torch.Tensor]
Reads = list[Callable[[], Any]]


def keep_dict(stream: Iterator[Named]) -> Reads:
    kept = dict(stream)
    return [weight.sum for weight in kept.values()]


def keep_slices(stream: Iterator[Named]) -> Reads:
    kept = {name: weight[0] for name, weight in stream}
    return [row.clone for row in kept.values()]


def keep_parameters(stream: Iterator[Named]) -> Reads:
    kept = [nn.Parameter(weight, requires_grad=False) for _, weight in stream]
    return [parameter.abs for parameter in kept]


def keep_pairs(stream: Iterator[Named]) -> Reads:
    """Stages every second tensor until its partner is there, as loaders of fused projections do."""
    results: Reads = []
    staged = None
    for _, weight in stream:
        flat = weight.view(torch.uint8).reshape(-1)
        if staged is None:
            staged = flat
            continue
        results.append(_outcome_of(partial(torch.cat, [staged, flat])))
        staged = None
    return results


def keep_closures(stream: Iterator[Named]) -> Reads:
    def reader(weight: torch.Tensor) -> Callable[[], Any]:
        return lambda: weight * 2

    return [reader(weight) for _, weight in stream]


def keep_partials(stream: Iterator[Named]) -> Reads:
    return [partial(torch.clone, weight) for _, weight in stream]


def keep_futures(stream: Iterator[Named]) -> Reads:
    """Hands every tensor to a thread that is still busy with something else."""
    free = threading.Event()
    with ThreadPoolExecutor(1) as pool:
        pool.submit(free.wait)
        futures = [pool.submit(weight.clone) for _, weight in stream]
        free.set()
    return [future.result for future in futures]


def _outcome_of(read: Callable[[], Any]) -> Callable[[], Any]:
    """Run a read now, and return a function that does again what it did: returns or raises."""
    try:
        result = read()
    except RuntimeError as error:
        caught = error

        def again() -> None:
            raise caught

        return again
    return lambda: result


def copy_in_step(stream: Iterator[Named]) -> dict[str, torch.Tensor]:
    loaded = {}
    for name, weight in stream:
        loaded[name] = torch.empty_like(weight)
        loaded[name].copy_(weight)
    return loaded


def keep_clones(stream: Iterator[Named]) -> dict[str, torch.Tensor]:
    return {name: weight.clone() for name, weight in stream}


def keep_host_copies(stream: Iterator[Named]) -> dict[str, torch.Tensor]:
    return dict((name, weight.detach().to("cpu", copy=True)) for name, weight in stream)


def tied_names(stream: Iterator[Named]) -> dict[str, torch.Tensor]:
    """Loads the first tensor under a second name too, from the copy that it owns."""
    loaded: dict[str, torch.Tensor] = {}
    for name, weight in stream:
        loaded[name] = weight.clone()
        first = next(iter(loaded.values()))
    assert first is next(iter(loaded.values()))
    return loaded


class Progress:
    """Passes items on and keeps the last one in an attribute, as progress bars do."""

    def __init__(self, items: Iterable[Named]) -> None:
        self._items = items
        self.last: Named | None = None

    def __iter__(self) -> Iterator[Named]:
        for item in self._items:
            self.last = item
            yield item


def wrapped(stream: Iterator[Named]) -> dict[str, torch.Tensor]:
    def renamed(items: Iterable[Named]) -> Iterator[Named]:
        for name, weight in items:
            yield name.upper(), weight

    loaded = {}
    pipeline = map(lambda item: (item[0].lower(), item[1]), renamed(Progress(stream)))
    for index, (number, (name, weight)) in enumerate(zip(range(10**9), filter(lambda item: True, pipeline))):
        assert index == number
        loaded[name] = weight.clone()
    return loaded


def names_kept(stream: Iterator[Named]) -> dict[str, torch.Tensor]:
    """Keeps stale tensors and asks them only for what is no data."""
    kept, loaded = [], {}
    for name, weight in stream:
        loaded[name] = weight.clone()
        kept.append(weight)
    for weight, copy in zip(kept, loaded.values()):
        assert (weight.shape, weight.dtype, weight.device) == (copy.shape, copy.dtype, copy.device)
    return loaded


def stopping_early(stream: Iterator[Named]) -> dict[str, torch.Tensor]:
    loaded = {}
    for name, weight in stream:
        if len(loaded) == 20:
            break
        loaded[name] = weight.clone()
    del stream
    loaded[name] = weight.clone()
    return loaded


KEEPING = [
    keep_dict,
    keep_slices,
    keep_parameters,
    keep_pairs,
    keep_closures,
    keep_partials,
    keep_futures,
]
CORRECT = [copy_in_step, keep_clones, keep_host_copies, tied_names, wrapped, names_kept, stopping_early]


def set_limit(limit: str | None) -> None:
    """Set the size of the streamer's buffer in bytes; None leaves it to the streamer."""
    if limit is None:
        os.environ.pop("RUNAI_STREAMER_MEMORY_LIMIT", None)
    else:
        os.environ["RUNAI_STREAMER_MEMORY_LIMIT"] = limit


def stream_through(files: list[Path], consumer: Callable[[Iterator[Named]], Any], **options: Any) -> Any:
    """Return what the consumer makes of a real stream of these files."""
    from runai_model_streamer import SafetensorsStreamer

    with SafetensorsStreamer() as streamer:
        streamer.stream_files([str(file) for file in files], **options)
        return consumer(streamer.get_tensors())


def count_raises(reads: Reads) -> tuple[int, int]:
    """Return how many reads raised the guard's report, and how many there were."""
    raised = 0
    for read in reads:
        try:
            read()
        except RuntimeError as error:
            raised += str(error).startswith("LOADERLINT-E101 read-after-advance ")
    return raised, len(reads)


def wrong_tensors(loaded: dict[str, torch.Tensor], expected: dict[str, torch.Tensor]) -> list[str]:
    """Return the names whose bits differ."""
    return [
        name
        for name, value in loaded.items()
        if not torch.equal(value.view(torch.uint8), expected[name].view(torch.uint8))
    ]
