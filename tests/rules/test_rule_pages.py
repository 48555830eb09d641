"""The pages of the rules: what is generated is up to date, and is what the command prints."""

from __future__ import annotations

import json
import runpy
import subprocess
from pathlib import Path

import forked
import pytest

from loaderlint.rules.registry import BY_CODE

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / "docs" / "rules"


def loaderlint(*arguments: str) -> subprocess.CompletedProcess[str]:
    return forked.run("loaderlint.linter", *arguments)


def test_the_pages_are_up_to_date() -> None:
    files = runpy.run_path(str(ROOT / "docs" / "make_rule_pages.py"))["written"]()
    stale = [str(path.relative_to(ROOT)) for path, text in files.items() if _text(path) != text]
    stale += [str(path.relative_to(ROOT)) for path in FOLDER.iterdir() if path not in files]
    assert not stale, "run: python docs/make_rule_pages.py"


def _text(path: Path) -> str:
    return path.read_text("utf-8") if path.exists() else ""


def test_each_rule_has_a_page_and_a_row_in_both_tables() -> None:
    assert {path.stem for path in FOLDER.glob("LDR*.md")} == set(BY_CODE)
    for table, folder in ((FOLDER / "README.md", ""), (ROOT / "README.md", "docs/rules/")):
        rows = [line for line in table.read_text("utf-8").splitlines() if line.startswith("| [LDR")]
        assert [row.split(" | ")[:2] for row in rows] == [
            [f"| [{code}]({folder}{code}.md)", rule.name] for code, rule in BY_CODE.items()
        ]
        # Each row says something of its own.
        assert len({row.split(" | ")[2] for row in rows}) == len(BY_CODE)


def test_explain_prints_the_pages() -> None:
    done = loaderlint("explain", *BY_CODE)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == "\n".join((FOLDER / f"{code}.md").read_text("utf-8") for code in BY_CODE)


@pytest.mark.parametrize("named", ["LDR102", "ldr102", "borrowed-tensor-in-list"])
def test_a_rule_is_explained_by_its_code_or_its_name(named: str) -> None:
    done = loaderlint("explain", named)
    assert done.stdout == (FOLDER / "LDR102.md").read_text("utf-8")


@pytest.mark.parametrize(
    ("named", "meant"),
    [("LDR1O2", "; did you mean LDR102?"), ("ldr109x", "; did you mean LDR10"), ("102", "LDR102?")]
    + [("borowed-tensor-in-lists", "; did you mean borrowed-tensor-in-list?"), ("F811", "'F811'\n")],
)
def test_a_rule_that_there_is_not(named: str, meant: str) -> None:
    done = loaderlint("explain", "LDR101", named)
    assert (done.returncode, done.stdout) == (2, "")
    assert f"there is no rule '{named}'" in done.stderr and meant in done.stderr


def test_explain_needs_to_be_told_what() -> None:
    done = loaderlint("explain")
    assert (done.returncode, "Missing argument" in done.stderr) == (2, True)


def test_the_list_of_rules() -> None:
    done = loaderlint("rules")
    assert (done.returncode, done.stderr) == (0, "")
    rows = [line.split() for line in done.stdout.splitlines()[1:]]
    assert [(row[0], row[1], row[2], row[3]) for row in rows] == [
        (code, rule.name, rule.category.value, "on" if rule.on_by_default else "off")
        for code, rule in BY_CODE.items()
    ]


def test_the_list_of_rules_for_programs() -> None:
    done = loaderlint("rules", "--output-format", "json")
    listed = json.loads(done.stdout)
    assert listed["version"] == 1
    assert [rule["code"] for rule in listed["rules"]] == list(BY_CODE)
    first = listed["rules"][0]
    assert first.pop("summary").startswith("Finds a weight stream that is turned into a list")
    assert first == {
        "code": "LDR101", "name": "stream-materialized", "category": "correctness", "severity": "error",
        "default": "on", "preview": False, "fixable": True, "since": "0.1.0",
    }  # fmt: skip
