"""Room for recursion: LibCST writes code and finds positions recursively, and users' expressions can be deep."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable
from typing import TypeVar

Result = TypeVar("Result")

_STACK_BYTES = 512 << 20
_FRAMES = 200_000


def with_deep_stack(run: Callable[[], Result]) -> Result:
    """Call `run` in a thread whose stack is large enough for any file that Python itself can parse.

    Raises what `run` raises.
    """
    results: list[Result] = []
    errors: list[BaseException] = []

    def work() -> None:
        try:
            results.append(run())
        except BaseException as error:  # Handed on to the caller's thread.
            errors.append(error)

    frames, stack = sys.getrecursionlimit(), threading.stack_size(_STACK_BYTES)
    sys.setrecursionlimit(_FRAMES)
    try:
        thread = threading.Thread(target=work)
        thread.start()
        thread.join()
    finally:
        threading.stack_size(stack)
        sys.setrecursionlimit(frames)
    if errors:
        raise errors[0]
    return results[0]
