"""Sees the errors of stale reads, also those that the loader swallows.

Uncaught errors pass the excepthooks. For the others Python 3.12 and newer tell of every raise at no cost until
one happens. Older ones have only the trace function, which is not free: it runs from the moment a stream's
consumer holds more stale tensors than a correct one can, until they are gone.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable
from types import CodeType, FrameType, TracebackType

from . import report
from .lease import stale
from .reads import observe_raise, observe_uncaught
from .sites import is_user_file

_TOOL_NAME = "loaderlint"
_monitored = False


def install() -> None:
    """Begin to watch for errors of stale reads; may be called again."""
    global _monitored
    if _monitored:
        return
    _monitored = True
    sys.excepthook = _then(sys.excepthook)
    _install_in_threads()
    if sys.version_info >= (3, 12):
        _monitor_raises()


def _then(
    hook: Callable[[type[BaseException], BaseException, TracebackType | None], object],
) -> Callable[[type[BaseException], BaseException, TracebackType | None], object]:
    def excepthook(kind: type[BaseException], error: BaseException, traceback: TracebackType | None) -> object:
        _mark_shown(error)
        return hook(kind, error, traceback)

    return excepthook


def _install_in_threads() -> None:
    hook = threading.excepthook

    def excepthook(arguments: threading.ExceptHookArgs) -> object:
        _mark_shown(arguments.exc_value)
        return hook(arguments)

    threading.excepthook = excepthook


def _mark_shown(error: BaseException | None) -> None:
    for stale_read in observe_uncaught(error):
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
    observe_raise(error, sys._getframe(1))


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
        observe_raise(argument[1], frame)
    elif event == "call":
        if not is_user_file(frame.f_code.co_filename):
            return None
        frame.f_trace_lines = False
    return _trace
