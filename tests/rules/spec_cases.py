"""The cases of the rules' spec files, and the settings that they are checked with."""

from __future__ import annotations

from loaderlint.linter.selection import Layer
from loaderlint.linter.settings import Settings
from loaderlint.rules.registry import RULES
from loaderlint.rules.specs import SPEC_FILES, Case, Mark, all_cases, read_cases

__all__ = ["ALL_RULES", "SPEC_FILES", "Case", "Mark", "all_cases", "read_cases"]

# A case says all that is found in it: also what is off by default, and what a rule in preview reports.
ALL_RULES = Settings(layers=(Layer(select=tuple(rule.code for rule in RULES)),))
