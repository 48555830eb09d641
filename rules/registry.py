"""Every rule, by code."""

from __future__ import annotations

from collections.abc import Iterable
from importlib import import_module
from typing import Any

from loaderlint.linter.interpreter.events import Event, Fact
from loaderlint.linter.selection import Layer, is_on
from loaderlint.rules.base import Rule, RuleInfo
from loaderlint.rules.codes import rule_codes

BY_CODE: dict[str, RuleInfo] = {
    code: import_module(f"loaderlint.rules.{code.lower()}").RULE for code in rule_codes()
}
"""All that can be reported, in the order of the codes; also what is said about loaderlint's own work (LDR9)."""

RULES: tuple[Rule[Any], ...] = tuple(rule for rule in BY_CODE.values() if isinstance(rule, Rule))
"""The rules about loaders: each is for events of one fact."""


def facts_on(layers: Iterable[Layer]) -> frozenset[Fact]:
    """The facts that some rule reports under these settings."""
    chosen = tuple(layers)
    return frozenset(rule.fact for rule in RULES if is_on(rule, chosen))


def rule_for(event: Event) -> Rule[Any] | None:
    """The rule that reports an event; the matches of the rules of one fact exclude each other."""
    return next((rule for rule in RULES if rule.fact is event.fact and rule.matches(event)), None)
