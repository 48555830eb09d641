"""The page of a rule: its facts, the docstring of its module, and what its spec file says about it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from functools import cache
from importlib import import_module
from typing import Any

from loaderlint.rules.base import RuleInfo
from loaderlint.rules.specs import Case, Mark, all_cases

_FIRST_SENTENCE = re.compile(r"## What it does\n(.+?\.)(?:\s|$)", re.DOTALL)


def documentation(rule: RuleInfo) -> str:
    """The docstring of the rule's module."""
    return import_module(f"loaderlint.rules.{rule.code.lower()}").__doc__ or ""


def facts(rule: RuleInfo) -> dict[str, Any]:
    """What programs may want to know of a rule."""
    return {
        "code": rule.code,
        "name": rule.name,
        "category": rule.category.value,
        "severity": rule.severity.value,
        "default": "on" if rule.on_by_default else "off",
        "preview": rule.preview,
        "fixable": rule.fixable,
        "since": rule.since,
        "summary": summary(rule),
    }


def summary(rule: RuleInfo) -> str:
    """The first sentence of what it does, on one line."""
    first = _FIRST_SENTENCE.search(documentation(rule))
    return " ".join(first[1].split()) if first else ""


def page(rule: RuleInfo) -> str:
    """The page in Markdown, for docs/rules and for the terminal."""
    head, _, text = documentation(rule).strip().partition("\n")
    parts = [head, _facts(rule), text.strip(), *_limits(rule), *_examples(rule)]
    return "\n\n".join(parts) + "\n"


def state(rule: RuleInfo) -> str:
    """Whether it is on by default, for people."""
    if rule.preview:
        return "off (preview)"
    return "on" if rule.on_by_default else "off"


def repair(rule: RuleInfo) -> str:
    """Whether a repair is ever offered, for people."""
    return "sometimes" if rule.fixable else "none"


def _facts(rule: RuleInfo) -> str:
    row = [rule.category.value, rule.severity.value, state(rule), repair(rule), rule.since]
    return "\n".join(
        [
            "| category | level | by default | repair | since |",
            "|---|---|---|---|---|",
            f"| {' | '.join(row)} |",
        ]
    )


_cases = cache(all_cases)


def _limits(rule: RuleInfo) -> Iterator[str]:
    missed = [(mark, case) for case in _cases() for mark in case.missing if mark.code == rule.code]
    false = [(mark, case) for case in _cases() for mark in case.spurious if mark.code == rule.code]
    if missed or false:
        yield "## Known limits"
    yield from _gaps("Missed, though it is wrong:", missed)
    yield from _gaps("Reported, though it is right, or said in the wrong place:", false)


def _gaps(introduction: str, gaps: Iterable[tuple[Mark, Case]]) -> Iterator[str]:
    for number, (mark, case) in enumerate(gaps):
        lines = case.code.splitlines()
        lines[mark.line - 1] += "  # here"
        told = f"{case.title}: {mark.reason}"
        if not number:
            yield introduction
        yield "\n".join([f"- {told}", "", *(f"      {line}".rstrip() for line in lines)])


def _examples(rule: RuleInfo) -> Iterator[str]:
    mine = [case for case in _cases() if case.file.upper() == rule.code]
    found = [case.title for case in mine if any(mark.code == rule.code for mark in case.found)]
    silent = [case.title for case in mine if not case.reported and not case.missing]
    if mine:
        yield "## Tested examples"
        yield f"The code of each, and what the repairs make of it, is in `rules/{rule.code.lower()}.md`."
        yield "\n".join(["Found:", "", *(f"- {title}" for title in found)])
        yield "\n".join(["Left alone:", "", *(f"- {title}" for title in silent)])
