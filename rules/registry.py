"""Every rule, by code. A rule is a module `ldr*.py` of this package with a `RULE`: it needs no entry elsewhere."""

from __future__ import annotations

from collections.abc import Iterator
from importlib import import_module
from pkgutil import iter_modules
from typing import Any

from loaderlint import rules
from loaderlint.linter.interpreter.events import Event
from loaderlint.rules.base import Rule


def rule_modules() -> list[str]:
    """The names of the rules' modules, sorted; none is imported."""
    return sorted(module.name for module in iter_modules(rules.__path__) if module.name.startswith("ldr"))


def _rules() -> Iterator[Rule[Any]]:
    for name in rule_modules():
        yield import_module(f"{rules.__name__}.{name}").RULE


RULES: tuple[Rule[Any], ...] = tuple(_rules())


def rule_for(event: Event) -> Rule[Any] | None:
    """The rule that reports an event; the matches of the rules of one fact exclude each other."""
    return next((rule for rule in RULES if rule.fact is event.fact and rule.matches(event)), None)
