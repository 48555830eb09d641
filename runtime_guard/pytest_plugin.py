"""pytest plugin: `--loaderlint-guard=LEVEL` guards the streams of a test run and fails the guilty tests.

This module is imported in every run of pytest, and nearly all of them leave the guard off: what guards is in
`pytest_guard`, and is imported when there is something to guard.
"""

from __future__ import annotations

import os

import pytest

from .levels import OFF, VARIABLE, GuardSettingError, Setting, parse_setting

_OPTION = "--loaderlint-guard"
_MARKER = "loaderlint_guard"
_PLUGIN = "loaderlint-guard-run"


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.getgroup("loaderlint").addoption(
        _OPTION,
        metavar="LEVEL",
        help="guard weight streams: trap, paranoid, poison, census or off; with ,strict every "
        f"iterator counts as lent (default: the variable {VARIABLE}, else off)",
    )


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line(
        "markers", f"{_MARKER}(level): guard the weight streams of this test under a level"
    )
    option = config.getoption(_OPTION)
    source, value = (VARIABLE, os.environ.get(VARIABLE, "")) if option is None else (_OPTION, option)
    setting = _setting(value, source)
    if option is not None:
        os.environ[VARIABLE] = str(setting)  # the processes that tests start inherit it
    if setting.level != OFF:
        _guard(config, setting)


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    for item in items:
        marker = item.get_closest_marker(_MARKER)
        if marker is None:
            continue
        if len(marker.args) != 1 or marker.kwargs:
            raise pytest.UsageError(f"{item.nodeid}: the marker {_MARKER} takes one level")
        item.stash[SETTING] = _setting(str(marker.args[0]), f"{item.nodeid}: {_MARKER}")
        if not config.pluginmanager.has_plugin(_PLUGIN):
            _guard(config, Setting(OFF))


# How a marked test is guarded.
SETTING = pytest.StashKey[Setting]()


def _setting(value: str, source: str) -> Setting:
    try:
        return parse_setting(value, source)
    except GuardSettingError as error:
        raise pytest.UsageError(str(error)) from None


def _guard(config: pytest.Config, setting: Setting) -> None:
    from .pytest_guard import GuardedRun

    try:
        run = GuardedRun(setting)
    except GuardSettingError as error:
        raise pytest.UsageError(str(error)) from None
    config.pluginmanager.register(run, _PLUGIN)
