"""Level paranoid: readers in other threads that race with the stream are found every time, correct ones never."""

from __future__ import annotations

import asyncio
import queue
import threading
import time
from collections.abc import AsyncIterator, Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor, as_completed, wait
from pathlib import Path

import consumers
import numpy as np
import pytest
import torch
from consumers import CORRECT, KEEPING, Named, stream_through
from loaderlint.runtime_guard import activate, guard, report

Loaded = dict[str, torch.Tensor]
COUNT = 200


@pytest.fixture(autouse=True)
def paranoid() -> None:
    activate("paranoid")


def stream(count: int = COUNT) -> Iterator[Named]:
    """A producer that writes each tensor into the same buffer, under the guard."""
    buffer = torch.empty(16)
    return guard(((f"layer.{number}", buffer.fill_(number + 1)) for number in range(count)), "paranoid")


def load(loaded: Loaded, name: str, weight: torch.Tensor) -> None:
    loaded[name] = weight.clone()


def submitting(weights: Iterator[Named]) -> list[Future]:
    with ThreadPoolExecutor(4) as pool:
        return [pool.submit(load, {}, name, weight) for name, weight in weights]


def submitting_lambdas(weights: Iterator[Named]) -> list[Future]:
    def task(weight: torch.Tensor) -> Callable[[], torch.Tensor]:
        return lambda: weight.clone()

    with ThreadPoolExecutor(1) as pool:
        return [pool.submit(task(weight[1:])) for _, weight in weights]


def submitting_pairs(weights: Iterator[Named]) -> list[Future]:
    with ThreadPoolExecutor(4) as pool:
        return [pool.submit(lambda item: item[1].sum(), [name, weight]) for name, weight in weights]


def one_late(weights: Iterator[Named]) -> list[Future]:
    """Waits for the task before, and not for the one just submitted."""
    futures: list[Future] = []
    with ThreadPoolExecutor(2) as pool:
        for name, weight in weights:
            if futures:
                futures[-1].exception()
            futures.append(pool.submit(load, {}, name, weight))
    return futures


def starting_threads(weights: Iterator[Named]) -> list[Future]:
    futures = []
    for _, weight in weights:
        future: Future = Future()

        def read(weight: torch.Tensor = weight, future: Future = future) -> None:
            try:
                future.set_result(weight.sum())
            except RuntimeError as error:
                future.set_exception(error)

        threading.Thread(target=read).start()
        futures.append(future)
    return futures


def queueing(weights: Iterator[Named]) -> list[Future]:
    items: queue.Queue = queue.Queue()
    futures: list[Future] = []

    def read() -> None:
        while (item := items.get()) is not None:
            future: Future = Future()
            try:
                future.set_result(item[1].sum())
            except RuntimeError as error:
                future.set_exception(error)
            futures.append(future)

    reader = threading.Thread(target=read)
    reader.start()
    for item in weights:
        items.put(item)
    items.put(None)
    reader.join()
    return futures


def mapping(weights: Iterator[Named]) -> list[Future]:
    futures = []
    with ThreadPoolExecutor(2) as pool:
        results = pool.map(lambda item: item[1].sum(), weights)
        for _ in range(COUNT):
            future: Future = Future()
            try:
                future.set_result(next(results))
            except RuntimeError as error:
                future.set_exception(error)
            except StopIteration:  # map gives up at the first error
                future.set_exception(futures[0].exception())
            futures.append(future)
    return futures


RACING = [
    submitting,
    submitting_lambdas,
    submitting_pairs,
    one_late,
    starting_threads,
    queueing,
    mapping,
]


@pytest.mark.parametrize("consumer", RACING)
def test_every_race_is_found_in_every_run(consumer: Callable[[Iterator[Named]], list[Future]]) -> None:
    for _ in range(10):
        futures = consumer(stream())
        errors = [future.exception(timeout=10) for future in futures]
        assert len(errors) == COUNT
        assert all(str(error).startswith("LOADERLINT-E101 read-after-advance layer.") for error in errors)
        report.take_stale_reads()


def awaiting(weights: Iterator[Named]) -> Loaded:
    loaded: Loaded = {}
    with ThreadPoolExecutor(4) as pool:
        for name, weight in weights:
            pool.submit(load, loaded, name, weight).result()
    return loaded


def awaiting_parts(weights: Iterator[Named]) -> Loaded:
    loaded: Loaded = {}
    with ThreadPoolExecutor(4) as pool:
        for name, weight in weights:
            loaded[name] = torch.empty_like(weight)
            parts = zip(
                loaded[name].view(torch.uint8).view(-1).split(1000),
                weight.view(torch.uint8).view(-1).split(1000),
            )
            copies = [pool.submit(target.copy_, source) for target, source in parts]
            assert all(future.exception() is None for future in as_completed(copies[::2]))
            wait(copies)
    return loaded


def joining(weights: Iterator[Named]) -> Loaded:
    loaded: Loaded = {}
    for name, weight in weights:
        thread = threading.Thread(target=load, args=(loaded, name, weight))
        thread.start()
        thread.join()
    return loaded


def shutting_down(weights: Iterator[Named]) -> Loaded:
    loaded: Loaded = {}
    for name, weight in weights:
        with ThreadPoolExecutor(1) as pool:
            pool.submit(load, loaded, name, weight)
    return loaded


def queue_joining(weights: Iterator[Named]) -> Loaded:
    loaded: Loaded = {}
    items: queue.Queue = queue.Queue()

    def read() -> None:
        while (item := items.get()) is not None:
            load(loaded, *item)
            items.task_done()

    reader = threading.Thread(target=read)
    reader.start()
    for item in weights:
        items.put(item)
        items.join()
    items.put(None)
    reader.join()
    return loaded


def signalling(weights: Iterator[Named]) -> Loaded:
    loaded: Loaded = {}
    with ThreadPoolExecutor(1) as pool:
        for name, weight in weights:
            done = threading.Event()
            pool.submit(lambda *item: (load(loaded, *item), done.set()), name, weight)
            done.wait()
    return loaded


def submitting_copies(weights: Iterator[Named]) -> Loaded:
    loaded: Loaded = {}
    with ThreadPoolExecutor(4) as pool:
        for name, weight in weights:
            pool.submit(load, loaded, name, weight.clone())
    return loaded


def own_queue(weights: Iterator[Named]) -> Loaded:
    """Puts each tensor into a queue and takes it out again in the same thread."""
    loaded: Loaded = {}
    items: queue.Queue = queue.Queue()
    for item in weights:
        items.put(item)
        load(loaded, *items.get())
    return loaded


WAITING = [
    awaiting,
    awaiting_parts,
    joining,
    shutting_down,
    queue_joining,
    signalling,
    submitting_copies,
    own_queue,
]


@pytest.mark.parametrize("consumer", [*WAITING, *CORRECT])
def test_correct_loaders_load_the_same_bits_hear_nothing_and_are_not_held_up(
    checkpoint_files: list[Path], expected: Loaded, consumer: Callable[[Iterator[Named]], Loaded]
) -> None:
    consumers.set_limit("0")
    began = time.perf_counter()
    loaded = stream_through(checkpoint_files, consumer, owned=False)
    assert time.perf_counter() - began < 60  # one second for each tensor if nothing opened the gates
    assert len(loaded) == (21 if consumer is consumers.stopping_early else len(expected))
    assert consumers.wrong_tensors(loaded, expected) == []
    assert report.stale_reads() == []


@pytest.mark.parametrize("consumer", KEEPING)
def test_paranoid_traps_too(
    checkpoint_files: list[Path], consumer: Callable[[Iterator[Named]], consumers.Reads]
) -> None:
    raised, attempted = consumers.count_raises(stream_through(checkpoint_files, consumer, owned=False))
    assert raised == attempted > 180


def test_what_left_torch_reads_the_pattern() -> None:
    arrays = [weight.numpy() for _, weight in stream(5)]
    assert all(np.isnan(array).all() for array in arrays)


def test_a_reader_whose_thread_waits_in_a_way_that_is_not_seen_goes_on() -> None:
    loaded: Loaded = {}
    with ThreadPoolExecutor(1) as pool:
        for name, weight in stream(2):
            future = pool.submit(load, loaded, name, weight)
            while not future.done():
                time.sleep(0.01)
    assert [weight[0].item() for weight in loaded.values()] == [1, 2]
    assert report.stale_reads() == []


async def _asynchronous(count: int) -> AsyncIterator[Named]:
    buffer = torch.empty(16)
    for number in range(count):
        yield f"layer.{number}", buffer.fill_(number + 1)


def test_awaited_threads_of_asyncio_are_not_held_up() -> None:
    async def consume() -> Loaded:
        loaded: Loaded = {}
        async for name, weight in guard(_asynchronous(COUNT), "paranoid"):
            await asyncio.to_thread(load, loaded, name, weight)
        return loaded

    began = time.perf_counter()
    loaded = asyncio.run(consume())
    assert time.perf_counter() - began < 60
    assert [weight[0].item() for weight in loaded.values()] == list(range(1, COUNT + 1))
    assert report.stale_reads() == []


def test_threads_of_asyncio_that_nobody_awaits_are_found() -> None:
    async def consume() -> list[BaseException]:
        tasks = []
        async for name, weight in guard(_asynchronous(COUNT), "paranoid"):
            tasks.append(asyncio.create_task(asyncio.to_thread(load, {}, name, weight)))
            await asyncio.sleep(0)
        return await asyncio.gather(*tasks, return_exceptions=True)

    for _ in range(10):
        errors = asyncio.run(consume())
        assert [str(error)[:15] for error in errors] == ["LOADERLINT-E101"] * COUNT
        report.take_stale_reads()
