"""Every example of the rules' spec files: what is found in it, and what the repairs make of it."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest
from spec_cases import ALL_RULES, Case, Mark, all_cases

from loaderlint.linter.engine import Report, check_paths
from loaderlint.linter.findings import Finding
from loaderlint.linter.fix_run import SAFE_AND_UNSAFE, Choice, FixRun, fix

CASES = all_cases()


def check(path: Path) -> Report:
    report = check_paths([str(path)], ALL_RULES)
    assert report.errors == []
    return report


def repaired(path: Path) -> tuple[Report, FixRun]:
    report = check(path)
    run = fix(report, Choice(SAFE_AND_UNSAFE))
    assert report.errors == []
    return report, run


def without_cost(report: Report, case: Case) -> list[Finding]:
    """What is left after repairs. One that owns much of a stream is right, and what it costs is found afterwards."""
    costs = {"LDR302", "LDR305"} - {mark.code for mark in case.reported}
    return [finding for finding in report.findings if finding.code not in costs]


def places(report: Report, columns: dict[tuple[int, str], int]) -> list[Mark]:
    """What was found, with the columns where the spec names them."""
    return sorted(
        Mark(one.line, one.code, one.column if columns.get((one.line, one.code)) else 0)
        for one in report.findings
    )


@pytest.fixture
def loader(case: Case, tmp_path: Path) -> Path:
    path = tmp_path / "loader.py"
    path.write_text(case.code, "utf-8")
    for name, text in case.beside:
        (tmp_path / name).write_text(text, "utf-8")
    return path


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.id)
def test_findings(case: Case, loader: Path) -> None:
    columns = {(mark.line, mark.code): mark.column for mark in (*case.found, *case.spurious)}
    assert places(check(loader), columns) == list(case.reported), f"rules/{case.file}.md:{case.line}"


@pytest.mark.parametrize(
    "case", [case for case in CASES if case.missing or case.spurious], ids=lambda c: c.id
)
def test_a_known_gap_is_still_one(case: Case, loader: Path) -> None:
    found = {(one.line, one.code) for one in check(loader).findings}
    closed = [mark for mark in case.missing if (mark.line, mark.code) in found]
    closed += [mark for mark in case.spurious if (mark.line, mark.code) not in found]
    assert not closed, f"rules/{case.file}.md:{case.line}: change these marks, the gap is closed"


@pytest.mark.parametrize("case", [case for case in CASES if case.fixed is not None], ids=lambda case: case.id)
def test_repairs(case: Case, loader: Path) -> None:
    before = len(check(loader).findings)
    report, run = repaired(loader)
    assert loader.read_text("utf-8") == case.fixed
    assert run.withdrawn == []
    # A block that is the same as the code says that there is no repair: better none than a wrong one.
    assert (run.findings > 0) is (case.fixed != case.code)
    # What was repaired is found no more, and a second run changes nothing.
    assert len(check(loader).findings) == len(report.findings)
    assert len(without_cost(report, case)) == before - run.findings
    repaired(loader)
    assert loader.read_text("utf-8") == case.fixed


@pytest.mark.parametrize("case", [case for case in CASES if case.fixed is None], ids=lambda case: case.id)
def test_whatever_is_repaired_still_parses_and_stays_repaired(case: Case, loader: Path) -> None:
    before = len(check(loader).findings)
    report, run = repaired(loader)
    once = loader.read_text("utf-8")
    ast.parse(once)
    assert len(without_cost(report, case)) <= before - run.findings
    if not case.reported:
        assert once == case.code
    repaired(loader)
    assert loader.read_text("utf-8") == once
