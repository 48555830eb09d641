"""The levels of the guard, and the value of LOADERLINT_GUARD that selects one."""

from __future__ import annotations

import os
from typing import NamedTuple

VARIABLE = "LOADERLINT_GUARD"
REPORT_VARIABLE = "LOADERLINT_GUARD_REPORT"
REACTION_VARIABLE = "LOADERLINT_GUARD_ON"
EXIT_VARIABLE = "LOADERLINT_GUARD_EXITCODE"

OFF = "off"
CENSUS = "census"
POISON = "poison"
TRAP = "trap"
PARANOID = "paranoid"
# Beside a level, not one itself.
STRICT = "strict"

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


class Setting(NamedTuple):
    """A level, and whether every weights iterator counts as lent whatever its producer promises."""

    level: str
    strict: bool = False

    def __str__(self) -> str:
        """Return the setting as LOADERLINT_GUARD spells it."""
        return f"{self.level},{STRICT}" if self.strict else self.level


def parse_setting(value: str, source: str = VARIABLE) -> Setting:
    """Return the setting that a user wrote as LEVEL or LEVEL,strict; `strict` alone means trap,strict.

    Raises GuardSettingError as parse_level does.
    """
    words = [word.strip().lower() for word in value.split(",")]
    levels = [word for word in words if word != STRICT]
    if len(levels) == len(words):
        return Setting(parse_level(value, source))
    if len(levels) > 1:
        raise GuardSettingError(f"{source}={value!r} has more than one level of the loaderlint guard")
    level = parse_level(levels[0], source) if levels else TRAP
    return Setting(level, strict=level != OFF)


def setting_from_environment() -> Setting:
    """Return what LOADERLINT_GUARD selects; raises GuardSettingError."""
    return parse_setting(os.environ.get(VARIABLE, ""))


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
