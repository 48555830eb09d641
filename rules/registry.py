"""Every rule, by code."""

from __future__ import annotations

from loaderlint.linter.interpreter.events import Retention
from loaderlint.rules import ldr101, ldr102, ldr103, ldr104, ldr105, ldr106, ldr107, ldr201, ldr301
from loaderlint.rules.base import Rule

RULES: tuple[Rule, ...] = tuple(
    module.RULE for module in (ldr101, ldr102, ldr103, ldr104, ldr105, ldr106, ldr107, ldr201, ldr301)
)


def rule_for(event: Retention) -> Rule | None:
    """The rule that reports an event; their matches exclude each other."""
    return next((rule for rule in RULES if rule.matches(event)), None)
