"""The part of the pytest plugin that runs when a stream may be guarded."""

from __future__ import annotations

import functools
import os
from collections.abc import Generator
from typing import TYPE_CHECKING, Any

import pytest

from . import reads, report
from .activation import activate
from .levels import OFF, VARIABLE, Setting
from .pytest_plugin import SETTING

if TYPE_CHECKING:
    from pluggy import Result

_COUNT = "loaderlint_stale_reads"


class GuardedRun:
    """Guards each test under its level, and attributes each stale read to the test that is running."""

    def __init__(self, setting: Setting) -> None:
        self._setting = setting
        self._total = 0
        self._fill = pytest.ExceptionInfo.fill_unfilled
        pytest.ExceptionInfo.fill_unfilled = _noting_expected(self._fill)
        report.leave_held_to_caller()
        activate(str(setting))

    def pytest_unconfigure(self) -> None:
        pytest.ExceptionInfo.fill_unfilled = self._fill

    @pytest.hookimpl(hookwrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Generator[None, None, None]:
        setting = item.stash.get(SETTING, None)
        if setting is None:
            yield
            return
        before = os.environ.get(VARIABLE)
        os.environ[VARIABLE] = str(setting)  # for the processes that the test starts
        activate(str(setting))
        yield
        activate(str(self._setting))
        if before is None:
            del os.environ[VARIABLE]
        else:
            os.environ[VARIABLE] = before

    @pytest.hookimpl(hookwrapper=True, tryfirst=True)
    def pytest_runtest_makereport(self, call: pytest.CallInfo[None]) -> Generator[None, Result, None]:
        if call.excinfo is not None:
            reads.observe_chain(call.excinfo.value)
        outcome = yield
        taken = report.take_stale_reads()
        if taken:
            _blame(outcome.get_result(), taken)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        # Here and not where it is made: under pytest-xdist that is another process.
        self._total += getattr(report, _COUNT, 0)

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        if self._setting.level != OFF or self._total:
            level = str(self._setting) if self._setting.level != OFF else "of each marked test"
            terminalreporter.write_line(f"loaderlint guard: level {level}, {self._total} stale read(s)")
        report.look_for_more()
        for held in report.take_held_tensors():
            terminalreporter.write_line(held.text())
        for note in report.notes():
            terminalreporter.write_line(f"loaderlint guard: {note}")


def _noting_expected(fill_unfilled: Any) -> Any:
    """Wrap the method by which pytest.raises keeps an error that it expected."""

    @functools.wraps(fill_unfilled)
    def wrapper(self: Any, exc_info: Any) -> None:
        for stale_read in reads.observe_chain(exc_info[1]):
            report.expect(stale_read)
        fill_unfilled(self, exc_info)

    return wrapper


def _blame(test_report: pytest.TestReport, taken: list[report.StaleRead]) -> None:
    setattr(test_report, _COUNT, sum(stale_read.count for stale_read in taken))
    text = "\n".join(stale_read.text() for stale_read in taken)
    if hasattr(test_report, "wasxfail"):
        test_report.outcome = "skipped"  # how pytest spells a failure that was expected
    elif test_report.outcome != "failed":
        test_report.outcome = "failed"
        test_report.longrepr = text
        return
    test_report.sections.append(("loaderlint guard", text))
