"""`loaderlint --show-ownership FILE:LINE`."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner

from loaderlint.linter.cli import main

LOADER = """\
def load_weights(self, weights):
    names, kept, scale = [], {}, None
    for name, weight in weights:
        names.append(name)
        owned = weight.clone()
        maybe = weight.to(self.device)
        if name == "scale":
            scale = weight
        kept[name] = (owned, weight.t())
        self.step()
    self.load(names, kept, scale)
"""


@pytest.fixture
def shown(tmp_path: Path):
    path = tmp_path / "loader.py"
    path.write_text(LOADER)

    def show(place: str) -> tuple[int, dict[str, str]]:
        result = CliRunner().invoke(main, ["check", "--show-ownership", f"{path}:{place}"])
        lines = [line.replace(f"{path}:", "") for line in result.stdout.splitlines()]
        return result.exit_code, dict(line.split(": ", 1) for line in lines)

    return show


def test_inside_the_step(shown) -> None:
    status, variables = shown("10")
    assert status == 0
    assert variables["weight"] == "lent tensor (borrowed at 3:5, kept at 3:9)"
    assert variables["owned"] == "copy of a lent tensor"
    assert variables["maybe"] == "lent tensor (borrowed at 3:5, kept at 6:9), or a copy of it"
    assert variables["names"] == "list of text"
    assert variables["weights"] == "weight stream"


def test_after_the_stream_has_ended(shown) -> None:
    _, variables = shown("11")
    assert variables["scale"] == "stale tensor (borrowed at 3:5, kept at 8:13)"
    assert variables["kept"] == "dict of (copy of a lent tensor, stale tensor (borrowed at 3:5, kept at 9:9))"


@pytest.mark.parametrize("place", ["1", "99"])
def test_a_line_without_a_statement_of_a_loader(shown, place: str) -> None:
    assert shown(place) == (2, {})


@pytest.mark.parametrize("place", ["loader.py", "loader.py:", ":3", "loader.py:three"])
def test_not_a_place(place: str) -> None:
    result = CliRunner().invoke(main, ["--show-ownership", place])
    assert result.exit_code == 2
    assert "needs FILE:LINE" in result.stderr


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    result = CliRunner().invoke(main, ["--show-ownership", f"{tmp_path / 'no.py'}:3"])
    assert result.exit_code == 2
    assert "cannot read" in result.stderr
