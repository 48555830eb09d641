"""LDR901: comments that name our codes and silence nothing, and what is left of them."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from conftest import Run

from loaderlint.rules.codes import rule_codes

LOADER = """\
def load_late(model, weights):
    kept = {}
    for name, weight in weights:
        kept[name] = weight
    model.head.copy_(kept["head"])
"""
# What is found at the end of this line is LDR103; its repair is unsafe.
KEPT = "        kept[name] = weight"
IDLE = "    kept = {}"
ON = ("--extend-select", ",".join(rule_codes()))


def found(done: subprocess.CompletedProcess[str]) -> list[str]:
    assert done.returncode in (0, 1), done.stderr
    return [line for line in done.stdout.splitlines() if line.startswith("loader.py:") and " LDR901 " in line]


@pytest.mark.parametrize(
    ("comment", "left"),
    [
        ("# noqa: LDR102", ""),
        ("# NOQA:ldr102", ""),
        ("# noqa: LDR1", ""),
        ("# noqa: LDR799", ""),
        ("# noqa: LDR102, LDR103", ""),
        ("# noqa: E501, LDR102", "  # noqa: E501"),
        ("# noqa: LDR102, E501", "  # noqa: E501"),
        ("# noqa: E501,LDR102,W291 LDR103", "  # noqa: E501,W291"),
        ("# noqa: LDR102 because the stream owns it", "  # because the stream owns it"),
        ("# noqa: E501, LDR102 because it is long", "  # noqa: E501 because it is long"),
        ("# noqa: LDR102 - owned", "  # owned"),
        ("# type: ignore  # noqa: LDR102", "  # type: ignore"),
        ("# noqa: LDR102  # type: ignore", "  # type: ignore"),
        ("# first  # noqa: LDR102 then", "  # first  # then"),
    ],
)
def test_exactly_the_unused_codes_go(loader: Path, loaderlint: Run, comment: str, left: str) -> None:
    loader.write_text(LOADER.replace(IDLE, f"{IDLE}  {comment}"))
    (finding,) = found(loaderlint("check", *ON, "loader.py"))
    column = len(IDLE) + 3 + comment.lower().rindex("# noqa")
    assert finding.startswith(f"loader.py:2:{column} LDR901 `")
    loaderlint("check", *ON, "--fix", "loader.py")
    assert loader.read_text() == LOADER.replace(IDLE, IDLE + left)
    assert not found(loaderlint("check", *ON, "loader.py"))


@pytest.mark.parametrize(
    ("line", "comment"),
    [
        (KEPT, "# noqa: LDR103"),
        (KEPT, "# noqa: LDR10, E501"),
        (KEPT, "# noqa"),
        (IDLE, "# noqa"),
        (IDLE, "# noqa: E501"),
        (IDLE, "# noqa: LDR"),
        (IDLE, "# noqa: LDR900"),
        (IDLE, "# noqa: LDR102, LDR901"),
        (IDLE, "# see LDR102"),
    ],
)
def test_these_comments_are_left(loader: Path, loaderlint: Run, line: str, comment: str) -> None:
    text = LOADER.replace(line, f"{line}  {comment}")
    loader.write_text(text)
    assert not found(loaderlint("check", *ON, "loader.py"))
    loaderlint("check", *ON, "--fix", "loader.py")
    assert loader.read_text() == text


def test_it_is_off_until_it_is_selected(loader: Path, loaderlint: Run) -> None:
    loader.write_text(LOADER.replace(IDLE, f"{IDLE}  # noqa: LDR102"))
    assert not found(loaderlint("loader.py"))
    assert found(loaderlint("--extend-select", "LDR901", "loader.py"))
    assert found(loaderlint("--extend-select", "LDR9", "loader.py"))
    flake8 = [sys.executable, "-m", "flake8", "--isolated", "--select", "LDR", "loader.py"]
    (loader.parent / "pyproject.toml").write_text("[tool.loaderlint]\nextend-select = ['LDR901']\n")
    done = subprocess.run(flake8, cwd=loader.parent, capture_output=True, text=True, timeout=60)
    assert (done.stderr, "LDR103" in done.stdout, "LDR901" in done.stdout) == ("", True, False)


@pytest.mark.parametrize("comment", ["# noqa: LDR103", "# noqa: LDR1", "# noqa: LDR103, LDR201"])
def test_what_is_off_cannot_tell(loader: Path, loaderlint: Run, comment: str) -> None:
    loader.write_text(LOADER.replace(KEPT, f"{KEPT}  {comment}"))
    done = loaderlint("--select", "LDR901,LDR102", "loader.py")
    assert not any("LDR103`" in line or "LDR1`" in line for line in found(done))


def test_the_other_findings_of_the_file_are_repaired_too(loader: Path, loaderlint: Run) -> None:
    loader.write_text(
        LOADER.replace(IDLE, f"{IDLE}  # noqa: LDR102").replace(KEPT, f"{KEPT}  # noqa: LDR102")
    )
    before = loader.read_text()
    done = loaderlint(*ON, "--diff", "--unsafe-fixes", "loader.py")
    assert (len(found(loaderlint(*ON, "loader.py"))), loader.read_text()) == (2, before)
    assert "would repair 3 findings in 1 file" in done.stderr
    done = loaderlint(*ON, "--fix", "--unsafe-fixes", "loader.py")
    assert "repaired 3 findings in 1 file" in done.stderr and found(done) == []
    assert loader.read_text() == LOADER.replace("= weight", '= weight.detach().to("cpu", copy=True)')


def test_what_only_a_caller_shows_is_silenced(loader: Path, loaderlint: Run) -> None:
    helper = loader.parent / "helper.py"
    helper.write_text(
        "def keep(kept, name, weight):\n"
        "    kept[name] = weight  # noqa: LDR103\n"
        "\n"
        "def other(model, weights):\n"
        "    for name, weight in weights:  # noqa: LDR101\n"
        "        model.load(name, weight)\n"
    )
    loader.write_text("from helper import keep\n" + LOADER.replace(KEPT, "        keep(kept, name, weight)"))
    done = loaderlint(*ON, "--fix", ".")
    assert done.returncode == 0, done.stdout
    # The comment that silences nothing is gone, and the other one is not.
    assert (helper.read_text().count("LDR103"), helper.read_text().count("LDR101")) == (1, 0)


def test_a_comment_in_a_joined_line(loader: Path, loaderlint: Run) -> None:
    joined = KEPT.replace("kept[", "kept \\\n            [")
    loader.write_text(LOADER.replace(KEPT, f"{joined}  # noqa: LDR103, LDR102"))
    (finding,) = found(loaderlint(*ON, "loader.py"))
    assert "`LDR102` in" in finding and finding.startswith("loader.py:5:")
    loaderlint(*ON, "--fix", "loader.py")
    assert loader.read_text() == LOADER.replace(KEPT, f"{joined}  # noqa: LDR103")


@pytest.mark.parametrize("newline", ["\n", "\r\n"])
def test_a_comment_on_a_line_of_its_own(loader: Path, loaderlint: Run, newline: str) -> None:
    text = LOADER.replace(IDLE, f"    # noqa: LDR102\n{IDLE}") + "# noqa: LDR102"
    loader.write_bytes(text.replace("\n", newline).encode())
    loaderlint(*ON, "--fix", "loader.py")
    assert loader.read_bytes() == LOADER.replace(IDLE, f"\n{IDLE}").replace("\n", newline).encode()
