"""Sees the errors of stale reads, also those that the loader swallows.

Uncaught errors pass the excepthooks. For the others Python 3.12 and newer tell of every raise, at no cost
until one happens. Older ones have only the trace function, which is not free: it runs from the moment a
stream's consumer holds more stale tensors than a correct one can, until they are gone.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable
from types import CodeType, FrameType, TracebackType

from . import report
from .lease import stale
from .reads import observe, observe_chain
from .sites import is_user_file

_TOOL_NAME = "loaderlint"
_installed = False


def install() -> None:
    """Begin to watch for errors of stale reads; may be called again."""
    global _installed
    if _installed:
        return
    _installed = True
    _before_hooks()
    if sys.version_info >= (3, 12):
        _monitor_raises()


def _before_hooks() -> None:
    of_process, of_threads = sys.excepthook, threading.excepthook

    def excepthook(kind: type[BaseException], error: BaseException, where: TracebackType | None) -> None:
        _mark_shown(error)
        of_process(kind, error, where)

    def thread_excepthook(arguments: threading.ExceptHookArgs) -> None:
        _mark_shown(arguments.exc_value)
        of_threads(arguments)

    sys.excepthook, threading.excepthook = excepthook, thread_excepthook


def _mark_shown(error: BaseException | None) -> None:
    for stale_read in observe_chain(error):
        stale_read.shown = True  # the traceback that follows carries the report as the error's message


def _monitor_raises() -> None:
    monitoring = sys.monitoring
    for tool in (4, 3, 5, 2):
        try:
            monitoring.use_tool_id(tool, _TOOL_NAME)
        except ValueError:
            continue
        monitoring.register_callback(tool, monitoring.events.RAISE, _on_raise)
        monitoring.set_events(tool, monitoring.events.RAISE)
        return
    report.note("all monitoring tools of Python are taken: stale reads whose error is caught are not seen")


def _on_raise(code: CodeType, offset: int, error: BaseException) -> None:
    observe(error, sys._getframe(1))


def trace_reads() -> None:
    """On Python before 3.12, trace this thread and new ones until no stale tensor is held any more."""
    if sys.version_info >= (3, 12) or sys.gettrace() is _trace:
        return
    if sys.gettrace() is not None:
        report.note("another trace function is active: stale reads whose error is caught are not seen")
        return
    threading.settrace(_trace)
    sys.settrace(_trace)
    frame: FrameType | None = sys._getframe(1)
    while frame is not None:
        if is_user_file(frame.f_code.co_filename) and frame.f_trace is None:
            frame.f_trace, frame.f_trace_lines = _trace, False
        frame = frame.f_back


def _trace(frame: FrameType, event: str, argument: object) -> Callable[..., object] | None:
    if not stale:
        sys.settrace(None)
        threading.settrace(None)
        return None
    if event == "exception":
        observe(argument[1], frame)
    elif event == "call":
        if not is_user_file(frame.f_code.co_filename):
            return None
        frame.f_trace_lines = False
    return _trace
