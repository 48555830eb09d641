"""Switches the guard on in this process: for every streamer that it knows, imported already or later."""

from __future__ import annotations

import sys
from importlib import import_module
from types import ModuleType

from .adapters import ADAPTERS, is_on, is_strict, set_guard
from .adapters.iterator_table import ITERATORS
from .hook import after_import, is_awaited
from .levels import (
    OFF,
    PARANOID,
    RAISE,
    TRAP,
    GuardSettingError,
    exit_code_from_environment,
    parse_setting,
    reaction_from_environment,
    setting_from_environment,
)


def activate(level: str = "trap") -> None:
    """Guard the lent streams that this process starts from now on under `level`; the last call holds.

    `level` is spelled as in LOADERLINT_GUARD: a level, or one with `,strict`. Raises GuardSettingError for
    another, or a reaction in the environment that does not exist. Imports neither torch nor a streamer.
    """
    setting = parse_setting(level, "activate(level)")
    set_guard(setting)
    if setting.level in (TRAP, PARANOID) and reaction_from_environment() != RAISE:
        from .takers import install

        install()  # before there are threads that wait for work
    for module in {**ADAPTERS, **ITERATORS}:
        after_import(module, _install)


def _install(module: ModuleType) -> None:
    adapter = ADAPTERS.get(module.__name__)
    if is_on() and adapter is not None:
        import_module(f"{__package__}.adapters.{adapter}").install(module)
    if is_strict() and module.__name__ in ITERATORS:
        import_module(f"{__package__}.adapters.weights_iterators").install(module)


def activate_from_environment() -> None:
    """Do what LOADERLINT_GUARD says as the interpreter starts; never raises.

    A value that is no level is one line on stderr, and the import of a streamer fails with the same line: a
    process that streams no weights is not disturbed, one that does never runs unguarded by mistake.
    """
    _activate_as_told(at_start=True)


def activate_in_engine() -> None:
    """Do what LOADERLINT_GUARD says in a process of an inference engine, which calls this as its plugin.

    Leaves the exit status alone, which can only be chosen as the interpreter starts. Raises GuardSettingError
    for a value that is no level where a streamer is imported already.
    """
    _activate_as_told(at_start=False)


def _activate_as_told(at_start: bool) -> None:
    try:
        setting, exit_code = setting_from_environment(), exit_code_from_environment()
        reaction_from_environment()
    except GuardSettingError as error:
        _refuse_to_stream(error)
        return
    if setting.level == OFF:
        return
    # In a virtual environment `site` reads a .pth file twice.
    if exit_code and at_start and not is_awaited(*ADAPTERS):
        from .exit_status import exit_with

        exit_with(exit_code)
    activate(str(setting))


def _refuse_to_stream(error: GuardSettingError) -> None:
    def refuse(module: ModuleType) -> None:
        raise GuardSettingError(str(error))

    # Here too: the line is for people to read once.
    if sys.stderr is not None and not is_awaited(*ADAPTERS):
        print(f"loaderlint guard: {error}", file=sys.stderr, flush=True)
    for module in ADAPTERS:
        after_import(module, refuse)
