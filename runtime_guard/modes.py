"""Puts function modes of torch below all that threads run.

A mode belongs to one thread. Those of the guard are entered by the thread of a stream, by threads that begin
after it, and by older ones as they take something from another thread.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable
from types import FrameType

import torch
from torch.overrides import TorchFunctionMode, _len_torch_function_stack, _pop_mode, _push_mode

from .takers import when_taking

# What makes each mode that the threads of this process run under, by its kind: the first of a kind stays.
_makers: dict[type[TorchFunctionMode], Callable[[], TorchFunctionMode]] = {}
_of_thread = threading.local()


class _Leaving:
    """Empties the stack of a thread that ends, of whose variables it is one.

    What stays on the stack is freed after Python's last word, by code of C++ that then waits for the
    interpreter's lock; a process that ends meanwhile is aborted.
    """

    def __del__(
        self, stack_size: Callable[[], int] = _len_torch_function_stack, pop: Callable[[], object] = _pop_mode
    ) -> None:
        while stack_size():
            pop()


def run_under(kind: type[TorchFunctionMode], make: Callable[[], TorchFunctionMode]) -> None:
    """Let this thread run under a mode of that kind, and the others as soon as they can be reached."""
    if kind not in _makers:
        _makers[kind] = make
        when_taking(_catch_up)
        if threading.getprofile() is None:
            threading.setprofile(_begin)
    _catch_up()


def _begin(frame: FrameType, event: str, argument: object) -> None:
    """Called by a new thread, once, before all that it does."""
    sys.setprofile(None)
    _catch_up()


def _catch_up() -> None:
    """Enter in this thread the modes that it does not run under yet."""
    entered = getattr(_of_thread, "entered", 0)
    if entered < len(_makers):
        makers = list(_makers.values())
        if not entered:
            _of_thread.leaving = _Leaving()
        _of_thread.entered = len(makers)
        for make in makers[entered:]:
            _enter(make())


def _enter(mode: TorchFunctionMode) -> None:
    """Put the mode below all others, which leave the stack in their own order.

    Only the context of torch.set_default_device() has to stay lowest.
    """
    above = [_pop_mode() for _ in range(_len_torch_function_stack())]
    if above and above[-1] is getattr(torch._GLOBAL_DEVICE_CONTEXT, "device_context", None):
        _push_mode(above.pop())
    _push_mode(mode)
    for other in reversed(above):
        _push_mode(other)
