"""Switches the guard on in this process: for every streamer that it knows, imported already or later."""

from __future__ import annotations

import sys
from types import ModuleType

from .hook import after_import, is_awaited
from .levels import (
    OFF,
    GuardSettingError,
    exit_code_from_environment,
    level_from_environment,
    parse_level,
    reaction_from_environment,
)

_RUNAI = "runai_model_streamer.safetensors_streamer.safetensors_streamer"
_RUNAI_SLOTS = "runai_model_streamer.file_streamer.slot_pool"


def activate(level: str = "trap") -> None:
    """Guard the lent streams that this process starts from now on under `level`; the last call holds.

    Raises GuardSettingError for a level that does not exist. Imports neither torch nor a streamer.
    """
    chosen = parse_level(level, "activate(level)")
    after_import(_RUNAI, lambda module: _guard_runai(module, chosen))
    after_import(_RUNAI_SLOTS, lambda module: _watch_runai_slabs(module, chosen))


def _guard_runai(module: ModuleType, level: str) -> None:
    from .adapters import runai

    runai.install(module, level)


def _watch_runai_slabs(module: ModuleType, level: str) -> None:
    from .adapters import runai_slabs

    runai_slabs.install(module, level)


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
    if exit_code and at_start and not is_awaited(_RUNAI):
        from .exit_status import exit_with

        exit_with(exit_code)
    activate(level)


def _refuse_to_stream(error: GuardSettingError) -> None:
    def refuse(module: ModuleType) -> None:
        raise GuardSettingError(str(error))

    # Here too: the line is for people to read once.
    if sys.stderr is not None and not is_awaited(_RUNAI):
        print(f"loaderlint guard: {error}", file=sys.stderr, flush=True)
    after_import(_RUNAI, refuse)
