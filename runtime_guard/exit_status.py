"""Ends a guarded process with the exit status of LOADERLINT_GUARD_EXITCODE when it reported something."""

from __future__ import annotations

import atexit
import functools
import gc
import io
import os
import sys
from types import ModuleType

from .hook import after_import


def exit_with(code: int) -> None:
    """Let this process, and the workers that multiprocessing starts, end with `code` after a report.

    To be called as the interpreter starts: what is registered first with atexit runs last, and what was
    registered before this call would not run.
    """
    atexit.register(_leave, code)
    after_import("multiprocessing.process", lambda module: _wrap_workers(module, code))


def _something_was_reported() -> bool:
    report = sys.modules.get(f"{__package__}.report")
    return report is not None and report.anything_reported()


def _leave(code: int) -> None:
    if code and _something_was_reported():
        _flush_files()
        os._exit(code)


def _flush_files() -> None:
    """Do what the rest of the interpreter's end would do for files that nobody closed."""
    for found in gc.get_objects():
        if type(found) in (io.TextIOWrapper, io.BufferedWriter, io.BufferedRandom) and not found.closed:
            try:
                found.flush()
            except (OSError, ValueError):
                continue  # as Python does with a file that it can no longer write


def _wrap_workers(module: ModuleType, code: int) -> None:
    bootstrap = module.BaseProcess._bootstrap

    @functools.wraps(bootstrap)
    def wrapper(*args: object, **kwargs: object) -> int:
        status = bootstrap(*args, **kwargs)
        return code if code and _something_was_reported() else status

    module.BaseProcess._bootstrap = wrapper
