"""pytest plugin: `--loaderlint-guard=LEVEL` guards the streams of a test run and fails the guilty tests.

This module is imported in every run of pytest, and nearly all of them leave the guard off: what guards is in
`pytest_guard`, and is imported when there is something to guard.
"""

from __future__ import annotations

import os

import pytest

from .levels import OFF, VARIABLE, GuardSettingError, parse_level

_OPTION = "--loaderlint-guard"
_MARKER = "loaderlint_guard"
_PLUGIN = "loaderlint-guard-run"


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.getgroup("loaderlint").addoption(
        _OPTION,
        metavar="LEVEL",
        help="guard weight streams: trap, paranoid, poison, census or off "
        f"(default: the variable {VARIABLE}, else off)",
    )


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line(
        "markers", f"{_MARKER}(level): guard the weight streams of this test under a level"
    )
    option = config.getoption(_OPTION)
    source, value = (VARIABLE, os.environ.get(VARIABLE, "")) if option is None else (_OPTION, option)
    level = _level(value, source)
    if option is not None:
        os.environ[VARIABLE] = level  # the processes that tests start inherit it
    if level != OFF:
        _guard(config, level)


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    for item in items:
        marker = item.get_closest_marker(_MARKER)
        if marker is None:
            continue
        if len(marker.args) != 1 or marker.kwargs:
            raise pytest.UsageError(f"{item.nodeid}: the marker {_MARKER} takes one level")
        item.stash[LEVEL] = _level(str(marker.args[0]), f"{item.nodeid}: {_MARKER}")
        if not config.pluginmanager.has_plugin(_PLUGIN):
            _guard(config, OFF)


# The level of a marked test.
LEVEL = pytest.StashKey[str]()


def _level(value: str, source: str) -> str:
    try:
        return parse_level(value, source)
    except GuardSettingError as error:
        raise pytest.UsageError(str(error)) from None


def _guard(config: pytest.Config, level: str) -> None:
    from .pytest_guard import GuardedRun

    config.pluginmanager.register(GuardedRun(level), _PLUGIN)
