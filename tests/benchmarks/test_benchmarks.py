"""The benchmark commands as they are run, on a wheel of a few lines instead of a release."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"
Corpus = Callable[..., subprocess.CompletedProcess[str]]

LOADER = """\
raise SystemExit("imported")


def load_weights(model, weights):
    for name, weight in list(weights):
        model.params[name].copy_(weight)
"""


@pytest.fixture
def corpus(tmp_path: Path) -> Corpus:
    """Runs a copy of the command, whose records lie beside it, where pip sees the wheel tiny-1.0 only."""
    wheels = tmp_path / "wheels"
    wheels.mkdir()
    with zipfile.ZipFile(wheels / "tiny-1.0-py3-none-any.whl", "w") as wheel:
        wheel.writestr("tiny/load.py", LOADER)
        wheel.writestr("tiny/data.bin", b"\0")
        wheel.writestr("../outside.py", "")
        wheel.writestr("tiny-1.0.dist-info/METADATA", "Metadata-Version: 2.1\nName: tiny\nVersion: 1.0\n")
        wheel.writestr("tiny-1.0.dist-info/WHEEL", "Wheel-Version: 1.0\nTag: py3-none-any\n")
        wheel.writestr("tiny-1.0.dist-info/RECORD", "")
    command = shutil.copy(BENCHMARKS / "corpus.py", tmp_path)

    def run(*arguments: str) -> subprocess.CompletedProcess[str]:
        environment = {
            **os.environ,
            "PIP_NO_INDEX": "1",
            "PIP_FIND_LINKS": str(wheels),
            "PIP_CONFIG_FILE": os.devnull,
        }
        return subprocess.run(
            [sys.executable, command, *arguments],
            cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=120,
        )  # fmt: skip

    return run


def test_findings_are_recorded_and_a_difference_is_shown(corpus: Corpus, tmp_path: Path) -> None:
    # Settings that lie above the unpacked release must change nothing.
    (tmp_path / "pyproject.toml").write_text("[tool.loaderlint]\nassume = 'owned'\n")
    done = corpus("--update", "releases", "tiny-1.0")
    assert (done.returncode, done.stderr) == (0, "")
    record = tmp_path / "corpus" / "tiny-1.0.jsonl"
    row = {
        "path": "tiny/load.py",
        "line": 5,
        "code": "LDR101",
        "severity": "error",
        "function": "load_weights",
    }
    assert [json.loads(line) for line in record.read_text().splitlines()] == [row]
    unpacked = [str(path.relative_to(tmp_path)) for path in tmp_path.rglob("*.*") if "releases" in str(path)]
    assert sorted(path for path in unpacked if not path.endswith("-1.0")) == [
        "releases/tiny-1.0/outside.py",
        "releases/tiny-1.0/tiny/load.py",
    ]

    done = corpus("releases", "tiny-1.0")
    assert (done.returncode, done.stdout) == (
        0,
        "tiny-1.0: 1 findings (1 errors, 0 warnings), 0 added, 0 removed\n",
    )
    record.write_text(json.dumps({**row, "line": 6}) + "\n")
    done = corpus("releases", "tiny-1.0")
    assert done.returncode == 1
    assert done.stdout.splitlines() == [
        "+ tiny/load.py:5 LDR101 error load_weights",
        "- tiny/load.py:6 LDR101 error load_weights",
        "tiny-1.0: 1 findings (1 errors, 0 warnings), 1 added, 1 removed",
    ]


def test_what_cannot_be_compared_is_said(corpus: Corpus) -> None:
    done = corpus("releases", "tiny-1.0", "tiny-2.0", "tiny")
    assert (done.returncode, done.stdout) == (2, "")
    assert "tiny-1.0: nothing is recorded; --update records it" in done.stderr
    assert "tiny==2.0: pip cannot download a wheel" in done.stderr
    assert "tiny: a release is named project-version" in done.stderr


def test_the_cost_is_a_ratio_of_two_processes(tmp_path: Path) -> None:
    (tmp_path / "load.py").write_text(LOADER)
    (tmp_path / "broken.py").write_text("def f(:\n")
    command = [sys.executable, str(BENCHMARKS / "cost.py"), str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert (done.returncode, done.stderr) == (0, "")
    first, *figures = done.stdout.splitlines()
    assert first == f"{tmp_path}: 2 files, 7 lines, 1 findings, 0 errors"
    parsing, linting, ratio = (float(line.split()[1]) for line in figures)
    assert ratio == pytest.approx(linting / parsing, rel=0.2)
    assert subprocess.run([*command[:2], "nowhere"], capture_output=True).returncode == 2


def test_repairs_are_counted(tmp_path: Path) -> None:
    release = tmp_path / "tiny-1.0"
    release.mkdir()
    (release / "load.py").write_text(LOADER)
    label = {"release": "tiny-1.0", "path": "load.py", "stmt_start": 5, "stmt_end": 5, "label": "BUG"}
    labels = tmp_path / "labels.jsonl"
    labels.write_text(json.dumps({**label, "fix": "generator", "group": "list"}) + "\n")
    command = [
        sys.executable,
        str(BENCHMARKS / "repairs.py"),
        str(tmp_path),
        "tiny-1.0",
        "--labels",
        str(labels),
    ]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert (done.returncode, done.stderr) == (0, "")
    assert "error findings repaired                    1.00 (1/1; goal 0.90)" in done.stdout
    assert "labelled to be streamed, streamed          1.00 (1/1; goal 0.60)" in done.stdout
    assert (release / "load.py").read_text() == LOADER
