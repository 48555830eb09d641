"""Where a thread takes what another one handed it: a task of an executor, an item of a queue, a signal.

The hooks have to be set before a thread begins to wait; one that waits already is noticed at its next wait.
"""

from __future__ import annotations

import concurrent.futures.thread
import functools
import queue
import threading
from collections.abc import Callable
from typing import Any

from .handoffs import wrap

_acts: list[Callable[[], None]] = []


def when_taking(act: Callable[[], None]) -> None:
    """Let every thread that takes something call `act` first, in itself."""
    install()
    if act not in _acts:
        _acts.append(act)


@functools.cache
def install() -> None:
    """Set the hooks, once."""
    wrap(concurrent.futures.thread._WorkItem, "run", _before)
    wrap(queue.Queue, "get", _after)
    # Results of futures, events, semaphores and barriers come down to it.
    wrap(threading.Condition, "wait", _after)
    wrap(threading.Thread, "join", _after)


def _before(run: Callable[..., Any], self: Any, *args: Any, **kwargs: Any) -> Any:
    for act in _acts:
        act()
    return run(self, *args, **kwargs)


def _after(take: Callable[..., Any], self: Any, *args: Any, **kwargs: Any) -> Any:
    taken = take(self, *args, **kwargs)
    for act in _acts:
        act()
    return taken
