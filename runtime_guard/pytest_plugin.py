"""pytest plugin: `--loaderlint-guard=LEVEL` guards the streams of a test run and fails the guilty tests."""

from __future__ import annotations

import os
from collections.abc import Generator
from typing import TYPE_CHECKING

import pytest

from .levels import OFF, VARIABLE, GuardSettingError, parse_level

if TYPE_CHECKING:
    from pluggy import Result

    from .report import StaleRead

_OPTION = "--loaderlint-guard"
_COUNT = "loaderlint_stale_reads"


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.getgroup("loaderlint").addoption(
        _OPTION,
        metavar="LEVEL",
        help=f"guard weight streams: trap, paranoid, poison, census or off (default: the variable {VARIABLE}, else off)",
    )


def pytest_configure(config: pytest.Config) -> None:
    option = config.getoption(_OPTION)
    source, value = (VARIABLE, os.environ.get(VARIABLE, "")) if option is None else (_OPTION, option)
    try:
        level = parse_level(value, source)
    except GuardSettingError as error:
        raise pytest.UsageError(str(error)) from None
    if option is not None:
        os.environ[VARIABLE] = level  # the processes that tests start inherit it
    if level != OFF:
        config.pluginmanager.register(_Guard(level), "loaderlint-guard-run")


class _Guard:
    """Attributes each stale read to the test that is running."""

    def __init__(self, level: str) -> None:
        # Not at the top of the module: pytest loads the plugin in every run, and nearly all leave it off.
        from . import reads, report
        from .activation import activate

        self._level = level
        self._reads, self._report = reads, report
        self._total = 0
        activate(level)

    @pytest.hookimpl(hookwrapper=True, tryfirst=True)
    def pytest_runtest_makereport(self, call: pytest.CallInfo[None]) -> Generator[None, Result, None]:
        if call.excinfo is not None:
            self._reads.observe_chain(call.excinfo.value)
        outcome = yield
        taken = self._report.take_stale_reads()
        if taken:
            self._blame(outcome.get_result(), taken)

    def _blame(self, test_report: pytest.TestReport, taken: list[StaleRead]) -> None:
        setattr(test_report, _COUNT, sum(stale_read.count for stale_read in taken))
        text = "\n".join(stale_read.text() for stale_read in taken)
        if hasattr(test_report, "wasxfail"):
            test_report.outcome = "skipped"  # how pytest spells a failure that was expected
        elif test_report.outcome != "failed":
            test_report.outcome = "failed"
            test_report.longrepr = text
            return
        test_report.sections.append(("loaderlint guard", text))

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        # Here and not where it is made: under pytest-xdist that is another process.
        self._total += getattr(report, _COUNT, 0)

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        terminalreporter.write_line(f"loaderlint guard: level {self._level}, {self._total} stale read(s)")
        for note in self._report.notes():
            terminalreporter.write_line(f"loaderlint guard: {note}")
