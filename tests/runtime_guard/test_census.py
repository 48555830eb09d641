"""The census: after a load on a real stream, who still holds what it lent; and nothing about correct loaders."""

from __future__ import annotations

import gc
import os
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any

import consumers
import pytest
import torch
from consumers import CORRECT, Named, stream_through
from loaderlint.runtime_guard import activate, census, guard, report


@pytest.fixture(autouse=True)
def census_on() -> Iterator[None]:
    gc.collect()
    activate("census")
    yield
    census()
    report.take_held_tensors()


class Model:
    shared: dict[str, torch.Tensor] = {}

    def __init__(self) -> None:
        self.pending: dict[str, Any] = {}

    def keep_rows(self, stream: Iterator[Named]) -> None:
        for name, weight in stream:
            self.pending[name] = (weight[0],)


def _tasks(stream: Iterator[Named]) -> Callable[[], None]:
    pool = ThreadPoolExecutor(1)
    release = threading.Event()
    pool.submit(release.wait)
    for name, weight in stream:
        pool.submit(Model.keep_rows, name, weight)
    return release.set


def _partials(stream: Iterator[Named]) -> list[Callable[[], Any]]:
    return [partial(Model.keep_rows, name, weight) for name, weight in stream]


def _closures(stream: Iterator[Named]) -> list[Callable[[], Any]]:
    def reader(weight: torch.Tensor) -> Callable[[], Any]:
        return lambda: weight.sum()

    return [reader(weight) for _, weight in stream]


def _generators(stream: Iterator[Named]) -> list[Iterator[Any]]:
    def waiting(weight: torch.Tensor) -> Iterator[Any]:
        yield None
        yield weight.sum()

    waiters = [waiting(weight) for _, weight in stream]
    for waiter in waiters:
        next(waiter)
    return waiters


KEEPERS: dict[str, tuple[Callable[[Iterator[Named]], Any], str, str]] = {
    "dictionary": (dict, "kept['model.", "variable"),
    "list": (lambda stream: [weight for _, weight in stream], "kept[", "variable"),
    "parameters": (
        lambda stream: [torch.nn.Parameter(weight, requires_grad=False) for _, weight in stream],
        "kept[",
        "variable",
    ),
    "closures": (_closures, "weight", "closure of _closures.<locals>.reader.<locals>.<lambda>"),
    "partials": (_partials, "Model.keep_rows.args[1]", "partial"),
    "tasks": (_tasks, "Model.keep_rows.args[1]", "waiting task"),
    "generators": (_generators, "weight", "variable of a suspended generator"),
}


@pytest.mark.parametrize(("keep", "way", "what"), KEEPERS.values(), ids=KEEPERS)
def test_the_holder_is_named(
    checkpoint_files: list[Path], keep: Callable[[Iterator[Named]], Any], way: str, what: str
) -> None:
    kept = stream_through(checkpoint_files[:1], keep, owned=False)
    found = census()
    assert sum(len(held.leases) for held in found) > 180
    assert len(found) == 1
    first = found[0].holders[0]
    assert (first.name + first.path).startswith(way)
    assert first.what == what
    assert len(found[0].holders) == 3
    if keep is _tasks:
        kept()


def test_attributes_of_objects_and_classes(checkpoint_files: list[Path]) -> None:
    model = Model()
    stream_through(checkpoint_files, model.keep_rows, owned=False)
    (held,) = census()
    name = next(iter(model.pending))
    assert (
        held.text()
        .splitlines()[1]
        .startswith(f"  held by      Model.pending['{name}'][0]: attribute of an object, ")
    )
    assert "\n               and 368 more in the same way\n" in held.text()
    assert len(held.leases) == 371 and held.size > 19 * 2**20
    assert held.fields()["yielded"][0]["source"] == "for name, weight in stream:"
    report.take_held_tensors()
    Model.shared.update(stream_through(checkpoint_files, dict, owned=False))
    (held,) = census()
    assert held.holders[0].name + held.holders[0].path == f"Model.shared['{next(iter(Model.shared))}']"
    assert held.holders[0].what == "class attribute"
    Model.shared.clear()


def test_a_numpy_array_is_told_apart(checkpoint_files: list[Path]) -> None:
    kept = stream_through(
        checkpoint_files[:1], lambda stream: [w.view(torch.uint8).numpy() for _, w in stream], owned=False
    )
    (held,) = census()
    assert "numpy array or C++ code: no object that Python's garbage collector knows" in held.text()
    assert len(kept) == len(held.leases)


def _raising(stream: Iterator[Named]) -> None:
    try:
        for _, weight in stream:
            last = [weight]
        raise KeyError(len(last))
    except KeyError as error:
        raise ValueError("unknown name") from error


def lingering(stream: Iterator[Named]) -> dict[str, torch.Tensor]:
    """Leaves the last tensor, and a few before it, in plain variables of a function that goes on."""
    loaded = {}
    for name, weight in stream:
        if name.endswith("norm.weight"):
            norm = weight
        loaded[name] = weight.clone()
    assert norm is not None
    assert census() == []
    return loaded


@pytest.mark.parametrize(
    "consumer", [one for one in CORRECT if one is not consumers.names_kept] + [lingering]
)
def test_correct_loaders_hear_nothing(
    checkpoint_files: list[Path],
    expected: dict[str, torch.Tensor],
    consumer: Callable[[Iterator[Named]], Any],
) -> None:
    for limit in (None, "0"):
        consumers.set_limit(limit)
        loaded = stream_through(checkpoint_files, consumer, owned=False)
        assert consumers.wrong_tensors(loaded, expected) == []
        assert census() == []


def test_what_an_error_left_behind_is_no_holder(checkpoint_files: list[Path]) -> None:
    with pytest.raises(ValueError, match="unknown name") as caught:
        stream_through(checkpoint_files, _raising, owned=False)
    assert census() == []
    assert caught.value.__cause__ is not None


def test_what_is_dropped_before_the_census_is_not_held(checkpoint_files: list[Path]) -> None:
    kept = stream_through(checkpoint_files, dict, owned=False)
    kept.clear()
    assert census() == []


def test_shared_memory_is_counted_tensor_by_tensor() -> None:
    shared = torch.arange(1000.0)
    stream = iter([("all", shared), ("part", shared[:10]), ("rest", shared[10:])])
    kept = [weight for name, weight in guard(stream, "census") if name == "part"]
    (held,) = census()
    assert (len(held.leases), held.size) == (1, 40)
    assert kept[0].sum() == 45


_SERVER = """
import sys, time
from runai_model_streamer import SafetensorsStreamer
from loaderlint.runtime_guard import activate
activate("census")
kept = {}
def load():
    with SafetensorsStreamer() as streamer:
        streamer.stream_files(sys.argv[2:], owned=sys.argv[1] == "owned")
        for name, weight in streamer.get_tensors():
            if weight.numel() < 1000:
                kept[name] = weight
load()
for _ in range(100):
    time.sleep(0.1)
    if sys.argv[1] == "owned":
        break
"""


def _serve(ownership: str, checkpoint_files: list[Path]) -> subprocess.Popen[str]:
    command = [sys.executable, "-c", _SERVER, ownership, *map(str, checkpoint_files)]
    environment = {**os.environ, "RUNAI_STREAMER_RING_BUFFERS": "2"}
    return subprocess.Popen(command, stderr=subprocess.PIPE, text=True, env=environment)


def test_a_process_that_goes_on_tells_soon_after_the_load(checkpoint_files: list[Path]) -> None:
    with _serve("lent", checkpoint_files) as process:
        line = process.stderr.readline()
        process.kill()
    assert line.startswith("LOADERLINT-W201 held-after-load model.")


def test_slabs_of_an_owning_stream_that_small_views_pin_are_noted(checkpoint_files: list[Path]) -> None:
    with _serve("owned", checkpoint_files) as process:
        text = process.stderr.read()
    assert process.returncode == 0
    assert "slab(s) of runai-model-streamer, " in text
    assert "such as kept['model." in text
    assert "LOADERLINT" not in text
