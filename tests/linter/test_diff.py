from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from loaderlint.linter.diff import unified_diff
from loaderlint.linter.reading.source import SourceFile

CASES = [
    (b"a\nb\nc\n", b"a\nB\nc\n"),
    (b"a\r\nb\r\n", b"a\r\nx\r\nb\r\n"),
    (b"a\nb", b"a\nB"),
    (b"a\nb", b"a\nb\n"),
    (b"a\nb\n", b"a\nb"),
    (b"a\rb\n\x0cc\n", b"a\rB\n\x0cc\n"),
    (b"\xef\xbb\xbfa\n\xe9\xff\n", b"\xef\xbb\xbfA\n\xe9\xff\n"),
    (b"-- x\n++ y\n", b"++ x\n-- y\n"),
]


def diff(before: bytes, after: bytes, path: str = "f.py") -> bytes:
    return unified_diff(SourceFile(path, before, "", "utf-8"), SourceFile(path, after, "", "utf-8"))


def applied(folder: Path, command: list[str], path: str, before: bytes, after: bytes) -> bytes:
    (folder / path).parent.mkdir(exist_ok=True)
    (folder / path).write_bytes(before)
    subprocess.run(
        command, cwd=folder, check=True, input=diff(before, after, path), stdout=subprocess.DEVNULL
    )
    return (folder / path).read_bytes()


PATCH = pytest.param(
    ["patch", "-p1", "--binary"],
    marks=pytest.mark.skipif(shutil.which("patch") is None, reason="needs the command patch"),
)


@pytest.mark.parametrize("command", [["git", "apply", "--whitespace=nowarn"], PATCH])
@pytest.mark.parametrize(("before", "after"), CASES)
@pytest.mark.parametrize("path", ["f.py", "a dir/f é.py"])
def test_git_and_patch_apply_it(
    tmp_path: Path, command: list[str], before: bytes, after: bytes, path: str
) -> None:
    assert applied(tmp_path, command, path, before, after) == after


lines = st.lists(st.sampled_from([b"a", b"b", b"\r", b"\r\n", b"\n", b"\n", b"\xff"]), max_size=30).map(
    b"".join
)


@settings(max_examples=25, deadline=None)
@given(before=lines.filter(bool), after=lines.filter(bool))
def test_git_applies_any_change(
    tmp_path_factory: pytest.TempPathFactory, before: bytes, after: bytes
) -> None:
    if before != after:
        folder = tmp_path_factory.mktemp("diff")
        assert applied(folder, ["git", "apply", "--whitespace=nowarn"], "f.py", before, after) == after


def test_no_change_is_no_diff() -> None:
    assert diff(b"a\n", b"a\n") == b""


def test_an_absolute_path_can_be_applied_from_the_root() -> None:
    assert diff(b"a\n", b"b\n", "/src/f.py").startswith(b"--- a/src/f.py\n+++ b/src/f.py\n")


def test_a_path_that_is_no_text_stays_as_it_is() -> None:
    assert diff(b"a\n", b"b\n", os.fsdecode(b"\xff.py")).startswith(b"--- a/\xff.py\n")
