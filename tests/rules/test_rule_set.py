"""The rules agree with what is written about them: spec files, their own documentation, the changelog."""

from __future__ import annotations

import ast
import re
from importlib import import_module
from pathlib import Path

import pytest
from spec_cases import ALL_RULES, SPEC_FILES, Case, read_cases

from loaderlint.linter.engine import check_file
from loaderlint.linter.findings import Category, Fix
from loaderlint.linter.interpreter.events import Fact
from loaderlint.linter.reading.source import source_from_bytes
from loaderlint.rules.base import Rule, RuleInfo
from loaderlint.rules.registry import BY_CODE, RULES

RULES_FOLDER = Path(__file__).parents[2] / "rules"
CHANGELOG = RULES_FOLDER.parent / "CHANGELOG.md"
HEADINGS = [
    "## What it does",
    "## Why is this bad?",
    "## Example",
    "## Use instead",
    "## Fix safety",
    "## References",
]
CASES = {path.stem.upper(): read_cases(path) for path in SPEC_FILES}

each_rule = pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.code)
each_code = pytest.mark.parametrize("rule", BY_CODE.values(), ids=lambda rule: rule.code)


def documentation(rule: RuleInfo) -> str:
    return import_module(f"loaderlint.rules.{rule.code.lower()}").__doc__ or ""


def test_codes_and_names_are_unique() -> None:
    assert len({rule.name for rule in BY_CODE.values()}) == len(BY_CODE)
    assert [rule.code for rule in BY_CODE.values()] == sorted(BY_CODE) == list(BY_CODE)


def test_each_rule_file_is_registered_and_each_rule_about_loaders_has_a_spec() -> None:
    assert {path.stem.upper() for path in RULES_FOLDER.glob("ldr*.py")} == set(BY_CODE)
    assert set(CASES) == {rule.code for rule in RULES} == {code for code in BY_CODE if code < "LDR9"}


@each_code
def test_names_and_codes(rule: RuleInfo) -> None:
    assert re.fullmatch(r"LDR[1-9]\d\d", rule.code)
    assert re.fullmatch(r"[a-z]+(-[a-z]+)+", rule.name)
    assert re.fullmatch(r"\d+\.\d+\.\d+", rule.since)


@each_code
def test_the_documentation_has_its_headings(rule: RuleInfo) -> None:
    text = documentation(rule)
    assert text.startswith(f"# {rule.name} ({rule.code})\n")
    assert re.findall(r"^## .*$", text, re.MULTILINE) == HEADINGS
    assert all(part.strip() for part in re.split(r"^#.*$", text, flags=re.MULTILINE)[1:] if part != "\n\n")


@each_rule
def test_the_spec_is_the_rules_own(rule: Rule) -> None:
    first = (RULES_FOLDER / f"{rule.code.lower()}.md").read_text("utf-8").splitlines()[0]
    assert first == f"# {rule.code} {rule.name}"
    cases = CASES[rule.code]
    positive = [case for case in cases if any(mark.code == rule.code for mark in case.found)]
    negative = [case for case in cases if not case.reported and not case.missing]
    assert len(set(map(shape, positive))) >= 8
    assert len(set(map(shape, negative))) >= 8


def shape(case: Case) -> str:
    """The code of a case without what its variables are called, and what its texts say."""
    tree, names = ast.parse(case.code), dict[str, str]()
    for node in ast.walk(tree):
        for field in ("id", "arg", "name"):
            name = getattr(node, field, None)
            if isinstance(name, str):
                setattr(node, field, names.setdefault(name, f"name{len(names)}"))
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            node.value = ""
    return ast.dump(tree)


def test_the_changelog_names_every_rule() -> None:
    text = CHANGELOG.read_text("utf-8")
    named = set(re.findall(r"LDR\d{3}", text))
    for first, last in re.findall(r"LDR(\d{3}) to LDR(\d{3})", text):
        named |= {f"LDR{number}" for number in range(int(first), int(last) + 1)}
    assert set(BY_CODE) <= named


@each_rule
def test_what_a_finding_says(rule: Rule) -> None:
    found = [
        finding
        for case in CASES[rule.code]
        for finding in check_file(source_from_bytes("loader.py", case.code.encode()), ALL_RULES)
        if finding.code == rule.code
    ]
    assert found
    assert any(isinstance(finding.fix, Fix) for finding in found) is rule.fixable
    for finding in found:
        message = finding.message
        assert "\n" not in message and len(message) < 200
        assert not message.endswith(".")
        assert message[0].islower() or message[0] == "`", message
        assert message.count("`") % 2 == 0 and "`" in message
        assert (finding.name, finding.category, finding.severity) == (rule.name, rule.category, rule.severity)
        kinds = [step.kind for step in finding.steps]
        assert kinds == ["borrowed", "kept", "advanced", "read"] if rule.fact is Fact.RETAINED else kinds


def test_correctness_is_an_error_and_a_hazard_a_warning() -> None:
    for rule in BY_CODE.values():
        assert (rule.severity.value == "error") is (rule.category is Category.CORRECTNESS)
