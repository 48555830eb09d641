"""Where one thread hands something to another, and where it waits: gates are closed at the one, opened at the other.

Handed on: tasks of a ThreadPoolExecutor (asyncio.to_thread and run_in_executor come down to them), threads as
they start, items of a queue.Queue. Waiting: every wait on a threading.Condition, which results of futures,
events, queues, semaphores and barriers come down to; a join of a thread; an event loop without anything to do.
"""

from __future__ import annotations

import functools
import queue
import selectors
import threading
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

from .gates import Gate, gate_before, gate_for, thread_waits

_starts = threading.local()


@functools.cache
def install() -> None:
    """Put gates between the threads of this process, once; nothing is held back while no lease runs."""
    wrap(ThreadPoolExecutor, "submit", _submit)
    wrap(threading.Thread, "start", _start)
    wrap(queue.Queue, "put", _put)
    wrap(queue.Queue, "get", _get)
    wrap(threading.Condition, "wait", _wait)
    wrap(threading.Thread, "join", _wait)
    wrap(selectors.DefaultSelector, "select", _wait)


def wrap(owner: type, name: str, around: Callable[..., Any]) -> None:
    """Replace a method by `around(method, self, ...)`."""
    original = getattr(owner, name)

    @functools.wraps(original)
    def wrapper(self: Any, *args: Any, **kwargs: Any) -> Any:
        return around(original, self, *args, **kwargs)

    setattr(owner, name, wrapper)


def _submit(
    submit: Callable[..., Future], self: ThreadPoolExecutor, task: Any, /, *args: Any, **kwargs: Any
) -> Future:
    gate = gate_for(task, args, kwargs)
    return submit(self, task if gate is None else _behind(gate, task), *args, **kwargs)


def _behind(gate: Gate, task: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(task, updated=())
    def held_back(*args: Any, **kwargs: Any) -> Any:
        gate.pass_through()
        return task(*args, **kwargs)

    return held_back


def _start(start: Callable[..., None], self: threading.Thread) -> None:
    gate = gate_for(vars(self))
    if gate is not None:
        run = self.run

        def held_back() -> None:
            del self.run
            gate.pass_through()
            run()

        self.run = held_back
    # To start a thread waits until it runs, which is no waiting for its result.
    _starts.now = True
    try:
        start(self)
    finally:
        _starts.now = False


def _put(put: Callable[..., None], self: queue.Queue, item: Any, *args: Any, **kwargs: Any) -> None:
    gate_for(item)  # what gets it finds the gate by its tensors
    put(self, item, *args, **kwargs)


def _get(get: Callable[..., Any], self: queue.Queue, *args: Any, **kwargs: Any) -> Any:
    item = get(self, *args, **kwargs)
    gate = gate_before(item)
    if gate is not None:
        gate.pass_through()
    return item


def _wait(wait: Callable[..., Any], self: Any, timeout: float | None = None) -> Any:
    # An executor that looks for an idle thread, and a busy event loop, wait for no time at all.
    if (timeout is None or timeout > 0) and not getattr(_starts, "now", False):
        thread_waits()
    return wait(self, timeout)
