"""The levels of the guard, and the value of LOADERLINT_GUARD that selects one."""

from __future__ import annotations

import os

VARIABLE = "LOADERLINT_GUARD"
REPORT_VARIABLE = "LOADERLINT_GUARD_REPORT"

OFF = "off"
POISON = "poison"
TRAP = "trap"

_SPELLINGS = {"": OFF, "0": OFF, "off": OFF, "poison": POISON, "trap": TRAP, "1": TRAP}


class GuardSettingError(ValueError):
    """The guard was asked for a level that does not exist."""


def parse_level(value: str, source: str = VARIABLE) -> str:
    """Return OFF, POISON or TRAP for what a user wrote; `source` names the place in the error.

    Raises GuardSettingError with one line that names the value and the valid ones.
    """
    level = _SPELLINGS.get(value.strip().lower())
    if level is None:
        valid = "trap (or 1), poison, off (or 0)"
        raise GuardSettingError(f"{source}={value!r} is not a level of the loaderlint guard; valid: {valid}")
    return level


def level_from_environment() -> str:
    """Return the level that LOADERLINT_GUARD selects; raises GuardSettingError."""
    return parse_level(os.environ.get(VARIABLE, ""))
