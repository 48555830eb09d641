"""Switches the guard on in this process: for every streamer that it knows, imported already or later."""

from __future__ import annotations

import sys
from functools import partial
from importlib import import_module
from types import ModuleType

from .adapters import ADAPTERS, is_on, set_level
from .hook import after_import, is_awaited
from .levels import (
    OFF,
    GuardSettingError,
    exit_code_from_environment,
    level_from_environment,
    parse_level,
    reaction_from_environment,
)


def activate(level: str = "trap") -> None:
    """Guard the lent streams that this process starts from now on under `level`; the last call holds.

    Raises GuardSettingError for a level that does not exist. Imports neither torch nor a streamer.
    """
    chosen = parse_level(level, "activate(level)")
    set_level(chosen)
    for module, adapter in ADAPTERS.items():
        after_import(module, partial(_install, adapter))


def _install(adapter: str, module: ModuleType) -> None:
    if is_on():
        import_module(f"{__package__}.adapters.{adapter}").install(module)


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
        level, exit_code = level_from_environment(), exit_code_from_environment()
        reaction_from_environment()
    except GuardSettingError as error:
        _refuse_to_stream(error)
        return
    if level == OFF:
        return
    # In a virtual environment `site` reads a .pth file twice.
    if exit_code and at_start and not is_awaited(*ADAPTERS):
        from .exit_status import exit_with

        exit_with(exit_code)
    activate(level)


def _refuse_to_stream(error: GuardSettingError) -> None:
    def refuse(module: ModuleType) -> None:
        raise GuardSettingError(str(error))

    # Here too: the line is for people to read once.
    if sys.stderr is not None and not is_awaited(*ADAPTERS):
        print(f"loaderlint guard: {error}", file=sys.stderr, flush=True)
    for module in ADAPTERS:
        after_import(module, refuse)
