"""Every rule, by code."""

from __future__ import annotations

from typing import Any

from loaderlint.linter.interpreter.events import Event
from loaderlint.rules import ldr101, ldr102, ldr103, ldr104, ldr105, ldr106, ldr107, ldr201, ldr301
from loaderlint.rules.base import Rule

RULES: tuple[Rule[Any], ...] = tuple(
    module.RULE for module in (ldr101, ldr102, ldr103, ldr104, ldr105, ldr106, ldr107, ldr201, ldr301)
)


def rule_for(event: Event) -> Rule[Any] | None:
    """The rule that reports an event; the matches of the rules of one fact exclude each other."""
    return next((rule for rule in RULES if rule.fact is event.fact and rule.matches(event)), None)
