from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import click
import pytest

from loaderlint.linter.findings import (
    Applicability,
    Category,
    Edit,
    FileError,
    Finding,
    Fix,
    NoFix,
    Severity,
    Step,
)
from loaderlint.linter.reading.source import SourceFile, source_from_bytes
from loaderlint.linter.reporting.excerpts import Excerpts
from loaderlint.linter.reporting.json import render_json
from loaderlint.linter.reporting.text import render_error, render_finding, render_withdrawal

SOURCE = """\
class Model:
    def load_weights(self, weights):
        kept = []
        for name, weight in weights:
            if name:
                kept.append((name, weight))
        self._load(kept)
"""
FINDING = Finding(
    code="LDR102",
    name="borrowed-tensor-in-list",
    category=Category.CORRECTNESS,
    severity=Severity.ERROR,
    path="model.py",
    line=6,
    column=17,
    end_line=6,
    end_column=44,
    function="Model.load_weights",
    message="streamed tensor `weight` is kept in `kept`",
    steps=(
        Step("borrowed", "model.py", 4, 9, "borrowed here, valid until the next step"),
        Step("kept", "model.py", 6, 17, "kept here"),
        Step("read", "model.py", 7, 9, "read here"),
    ),
    assumptions=("`self._load` reads its argument",),
    consequences=("corrupts with: InstantTensor copy=False", "otherwise: holds every tensor in host memory"),
    fix=Fix(Applicability.UNSAFE, "own it on the host", (Edit(6, 36, 6, 42, "weight.clone()"),)),
)


def text_of(finding: Finding, source: str = SOURCE) -> str:
    sources: dict[str, SourceFile] = {"model.py": source_from_bytes("model.py", source.encode())}
    return click.unstyle(render_finding(finding, Excerpts(sources)))


def test_a_finding_as_text() -> None:
    assert text_of(FINDING).splitlines() == [
        "model.py:6:17 LDR102 streamed tensor `weight` is kept in `kept`",
        "     4 |  for name, weight in weights:         borrowed here, valid until the next step",
        "     6 |          kept.append((name, weight))  kept here",
        "     7 |  self._load(kept)                     read here",
        "  corrupts with: InstantTensor copy=False",
        "  otherwise: holds every tensor in host memory",
        "  assumes: `self._load` reads its argument",
        "  fix (unsafe): own it on the host",
    ]


def test_a_finding_without_a_repair_says_why() -> None:
    assert text_of(replace(FINDING, fix=NoFix("`kept` is returned"))).endswith(
        "\n  no fix: `kept` is returned"
    )


def test_a_step_in_another_file_is_shown_with_its_path(tmp_path: Path) -> None:
    other = tmp_path / "helpers.py"
    other.write_text("def keep(w):\n\tcache.append(w)\n")
    steps = (
        FINDING.steps[0],
        Step("kept", str(other), 2, 2, "kept here"),
        Step("read", "gone.py", 9, 1, "read here"),
    )
    lines = text_of(replace(FINDING, steps=steps)).splitlines()[1:4]
    assert lines[0].endswith(
        " 4 |      for name, weight in weights:  borrowed here, valid until the next step"
    )
    assert lines[1] == f"  {other}:2 |  cache.append(w)                   kept here"
    assert lines[2].lstrip().startswith("gone.py:9 | ")
    assert lines[2].endswith("  read here")
    assert len({line.index("|") for line in lines}) == 1


def test_a_long_line_is_cut() -> None:
    long = SOURCE.replace("weight))", "weight), " + "x" * 500 + ")")
    assert max(map(len, text_of(FINDING, long).splitlines())) < 150
    assert "xxx...  kept here" in text_of(FINDING, long)


@pytest.mark.parametrize("line", ["\x1b[31mred = '\x9b\x07'", "a = '\u202e'", "\f\tb = 1"])
def test_source_cannot_steer_the_terminal(line: str) -> None:
    shown = text_of(replace(FINDING, steps=(Step("kept", "model.py", 1, 1, "here"),)), line)
    assert all(char.isprintable() or char == "\n" for char in shown)


def test_a_line_that_is_no_longer_there_leaves_the_step() -> None:
    assert "\n     6 |    kept here" in text_of(FINDING, "")


def test_an_error_names_its_line_where_it_has_one() -> None:
    assert click.unstyle(render_error(FileError("a.py", 3, "syntax error"))) == "a.py:3: error: syntax error"
    assert click.unstyle(render_error(FileError("a", 0, "no such file"))) == "a: error: no such file"


def test_a_repair_that_was_taken_back_is_a_note() -> None:
    note = FileError("a.py", 3, "repair of LDR101 not applied: why")
    assert click.unstyle(render_withdrawal(note)) == "a.py:3: note: repair of LDR101 not applied: why"


def test_the_json_object() -> None:
    report = json.loads(
        render_json([FINDING, replace(FINDING, fix=NoFix("r"))], 3, [FileError("b.py", 2, "bad")])
    )
    assert list(report) == ["version", "findings", "files", "errors"]
    assert (report["version"], report["files"]) == (1, 3)
    assert report["errors"] == [{"path": "b.py", "line": 2, "message": "bad"}]
    first, second = report["findings"]
    assert second == {**first, "fix": None}
    assert first == {
        "code": "LDR102",
        "name": "borrowed-tensor-in-list",
        "category": "correctness",
        "severity": "error",
        "path": "model.py",
        "line": 6,
        "column": 17,
        "end_line": 6,
        "end_column": 44,
        "function": "Model.load_weights",
        "message": "streamed tensor `weight` is kept in `kept`",
        "steps": [
            {"kind": "borrowed", "path": "model.py", "line": 4, "column": 9, "text": FINDING.steps[0].text},
            {"kind": "kept", "path": "model.py", "line": 6, "column": 17, "text": "kept here"},
            {"kind": "read", "path": "model.py", "line": 7, "column": 9, "text": "read here"},
        ],
        "assumptions": ["`self._load` reads its argument"],
        "fix": {
            "applicability": "unsafe",
            "title": "own it on the host",
            "edits": [{"line": 6, "column": 36, "end_line": 6, "end_column": 42, "text": "weight.clone()"}],
        },
    }
