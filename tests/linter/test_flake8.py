"""The plugin in a real flake8, beside which it is installed."""

from __future__ import annotations

import subprocess
import sys
import textwrap
from pathlib import Path

import pytest
from conftest import LOADER


def flake8(folder: Path, *arguments: str, text: str | None = None) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "flake8", "--isolated", "--select", "LDR", *arguments]
    return subprocess.run(command, cwd=folder, input=text, capture_output=True, text=True, timeout=60)


def codes(done: subprocess.CompletedProcess[str]) -> list[str]:
    assert done.stderr == ""
    return [" ".join(line.split()[:2]) for line in done.stdout.splitlines()]


def test_flake8_shows_the_findings(loader: Path) -> None:
    done = flake8(loader.parent, "loader.py")
    assert done.returncode == 1
    assert codes(done) == ["loader.py:7:25: LDR101", "loader.py:14:9: LDR103"]


def test_flake8_names_the_plugin(tmp_path: Path) -> None:
    assert "loaderlint" in flake8(tmp_path, "--version").stdout


@pytest.mark.parametrize("name", [(), ("--stdin-display-name", "loader.py")])
def test_standard_input(tmp_path: Path, name: tuple[str, ...]) -> None:
    shown = name[-1] if name else "stdin"
    done = flake8(tmp_path, *name, "-", text=LOADER)
    assert codes(done) == [f"{shown}:7:25: LDR101", f"{shown}:14:9: LDR103"]


def test_flake8s_own_noqa_counts_and_can_be_disabled(loader: Path) -> None:
    loader.write_text(LOADER.replace("list(weights):", "list(weights):  # noqa: LDR1"))
    assert codes(flake8(loader.parent, "loader.py")) == ["loader.py:14:9: LDR103"]
    assert len(codes(flake8(loader.parent, "--disable-noqa", "loader.py"))) == 2


@pytest.mark.parametrize("encoding", ["utf-8-sig", "latin-1"])
@pytest.mark.parametrize("newline", ["\n", "\r\n"])
def test_encodings_and_line_ends(loader: Path, encoding: str, newline: str) -> None:
    text = f"# coding: {encoding.removesuffix('-sig')}\nname = 'é\f'\n\f\n{LOADER}".replace("    ", "\t")
    loader.write_bytes(text.replace("\n", newline).encode(encoding))
    assert codes(flake8(loader.parent, "loader.py")) == ["loader.py:10:22: LDR101", "loader.py:17:3: LDR103"]


@pytest.mark.parametrize("content", [b"", b"\xef\xbb\xbf", b"x = 1", b"def f(:\n", b"x = '\xe9'\n"])
def test_no_file_makes_it_fail(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "f.py").write_bytes(content)
    assert codes(flake8(tmp_path, "f.py")) == []


def test_a_file_without_a_loader_costs_no_import(tmp_path: Path) -> None:
    script = """
        import ast, sys
        from loaderlint.linter.flake8_plugin import Flake8Plugin

        text = "x = [1, 2]\\n"
        assert list(Flake8Plugin(ast.parse(text), "f.py", [text]).run()) == []
        print([name for name in ("libcst", "click", "loaderlint.linter.engine") if name in sys.modules])
    """
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(script)], capture_output=True, text=True, cwd=tmp_path
    )
    assert (done.stdout, done.stderr) == ("[]\n", "")


@pytest.mark.parametrize("selected", ["LDR", "LDR102", "E"])
def test_a_wrong_setting_ends_the_run_whatever_is_selected(loader: Path, selected: str) -> None:
    (loader.parent / "pyproject.toml").write_text('[tool.loaderlint]\nignroe = ["LDR103"]\n')
    done = flake8(loader.parent, "--select", selected, "loader.py")
    assert done.returncode == 1
    assert "pyproject.toml:2: unknown key `ignroe`" in done.stdout
    assert "loader.py" not in done.stdout
