"""The levels of the guard, and the value of LOADERLINT_GUARD that selects one."""

from __future__ import annotations

import os

VARIABLE = "LOADERLINT_GUARD"
REPORT_VARIABLE = "LOADERLINT_GUARD_REPORT"
REACTION_VARIABLE = "LOADERLINT_GUARD_ON"
EXIT_VARIABLE = "LOADERLINT_GUARD_EXITCODE"

OFF = "off"
CENSUS = "census"
POISON = "poison"
TRAP = "trap"
PARANOID = "paranoid"

# What a stale read does where it can be seen: raise, or go on after it was told at once or is told at the end.
RAISE = "raise"
WARN = "warn"
RECORD = "record"

_SPELLINGS = {
    "": OFF,
    "0": OFF,
    "off": OFF,
    "census": CENSUS,
    "poison": POISON,
    "trap": TRAP,
    "1": TRAP,
    "paranoid": PARANOID,
}


class GuardSettingError(ValueError):
    """The guard was asked for something that does not exist."""


def parse_level(value: str, source: str = VARIABLE) -> str:
    """Return the level for what a user wrote; `source` names the place in the error.

    Raises GuardSettingError with one line that names the value and the valid ones.
    """
    level = _SPELLINGS.get(value.strip().lower())
    if level is None:
        valid = "trap (or 1), paranoid, poison, census, off (or 0)"
        raise GuardSettingError(f"{source}={value!r} is not a level of the loaderlint guard; valid: {valid}")
    return level


def level_from_environment() -> str:
    """Return the level that LOADERLINT_GUARD selects; raises GuardSettingError."""
    return parse_level(os.environ.get(VARIABLE, ""))


def reaction_from_environment() -> str:
    """Return RAISE, WARN or RECORD, as LOADERLINT_GUARD_ON says; raises GuardSettingError."""
    value = os.environ.get(REACTION_VARIABLE, "")
    reaction = value.strip().lower() or RAISE
    if reaction not in (RAISE, WARN, RECORD):
        raise GuardSettingError(f"{REACTION_VARIABLE}={value!r} is unknown; valid: {RAISE}, {WARN}, {RECORD}")
    return reaction


def exit_code_from_environment() -> int:
    """Return the exit status that LOADERLINT_GUARD_EXITCODE asks for, 0 for none; raises GuardSettingError."""
    value = os.environ.get(EXIT_VARIABLE, "").strip()
    if value and not (value.isascii() and value.isdigit() and int(value) < 256):
        raise GuardSettingError(f"{EXIT_VARIABLE}={value!r} is no exit status; valid: 0 to 255")
    return int(value or 0)
