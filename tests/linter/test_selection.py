"""Which rules are on: settings and options in real runs, and how layers decide."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from conftest import LOADER, Run

from loaderlint.linter.findings import Category
from loaderlint.linter.selection import Layer, is_on
from loaderlint.rules.base import RuleInfo

BOTH, FIRST, SECOND = ["LDR101", "LDR103"], ["LDR101"], ["LDR103"]


def write_settings(folder: Path, text: str) -> Path:
    path = folder / "pyproject.toml"
    path.write_text(f"[tool.loaderlint]\n{text}\n")
    return path


def codes(done: subprocess.CompletedProcess[str]) -> list[str]:
    assert done.returncode in (0, 1), done.stderr
    found = [line.split()[1] for line in done.stdout.splitlines() if line.startswith("loader.py:")]
    assert done.returncode == bool(found)
    return found


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("", BOTH),
        ("select = ['LDR101']", FIRST),
        ("select = ['LDR1']", BOTH),
        ("select = ['LDR2', 'LDR103']", SECOND),
        ("select = []", []),
        ("ignore = ['LDR103']", FIRST),
        ("ignore = ['LDR']", []),
        ("select = ['LDR']\nignore = ['LDR101']", SECOND),
        ("select = ['LDR101']\nignore = ['LDR1']", FIRST),
        ("select = ['LDR101']\nignore = ['LDR101']", []),
        ("select = ['LDR101']\nextend-select = ['LDR103']", BOTH),
    ],
)
def test_settings_say_which_rules_are_on(loader: Path, loaderlint: Run, text: str, found: list[str]) -> None:
    write_settings(loader.parent, text)
    assert codes(loaderlint("loader.py")) == found
    flake8 = subprocess.run(
        [sys.executable, "-m", "flake8", "--isolated", "--select", "LDR", "loader.py"],
        cwd=loader.parent, capture_output=True, text=True, timeout=60,
    )  # fmt: skip
    assert codes(flake8) == found


def test_flake8s_own_selection_comes_on_top(loader: Path) -> None:
    write_settings(loader.parent, "ignore = ['LDR103']")
    command = [sys.executable, "-m", "flake8", "--isolated", "--select", "LDR103", "loader.py"]
    done = subprocess.run(command, cwd=loader.parent, capture_output=True, text=True, timeout=60)
    assert codes(done) == []


@pytest.mark.parametrize(
    ("text", "options", "found"),
    [
        ("", ("--select", "LDR101"), FIRST),
        ("", ("--select", "LDR101,LDR103"), BOTH),
        ("", ("--select", "LDR101", "--select", " LDR103"), BOTH),
        ("", ("--ignore", "LDR101"), SECOND),
        ("select = ['LDR101']", ("--extend-select", "LDR103"), BOTH),
        ("select = ['LDR101']", ("--select", "LDR103"), SECOND),
        ("select = ['LDR101']", ("--ignore", "LDR101"), []),
        # What is asked for now goes before what the file says.
        ("ignore = ['LDR101', 'LDR103']", ("--select", "LDR101"), FIRST),
        ("ignore = ['LDR101', 'LDR103']", ("--extend-select", "LDR103"), SECOND),
    ],
)
def test_options_go_on_top(
    loader: Path, loaderlint: Run, text: str, options: tuple[str, ...], found: list[str]
) -> None:
    write_settings(loader.parent, text)
    assert codes(loaderlint("loader.py", *options)) == found


def test_what_is_off_is_not_repaired(loader: Path, loaderlint: Run) -> None:
    loaderlint("--fix", "--unsafe-fixes", "--ignore", "LDR103", "loader.py")
    first, second = LOADER.split("def load_late")
    assert loader.read_text() == first.replace("list(weights)", "weights") + "def load_late" + second


def test_a_repair_does_not_touch_what_is_off(loader: Path, loaderlint: Run) -> None:
    loader.write_text(
        "def load_weights(self, weights):\n"
        "    kept, pairs = [], {}\n"
        "    for name, weight in weights:\n"
        "        if name in self.pairs:\n"
        "            pairs[name] = weight\n"
        "        else:\n"
        "            kept.append(weight)\n"
        "    self.load(pairs, kept)\n"
    )
    loaderlint("--fix", "--unsafe-fixes", "--select", "LDR102", "loader.py")
    text = loader.read_text()
    assert "pairs[name] = weight\n" in text and "copy=True" in text


@pytest.mark.parametrize(
    ("text", "line", "message"),
    [
        ("select = ['LDR102', 'LDR1O2']", 2, "no rule code begins with 'LDR1O2'; did you mean LDR102?"),
        ("ignore = [\n  'E501',\n]", 2, "no rule code begins with 'E501'"),
        ("\nextend-select = ['']", 3, "no rule code begins with ''"),
        ("select = 'LDR102'", 2, "`select` has to be a list of codes"),
        ("ignore = [102]", 2, "`ignore` has to be a list of codes"),
        ("extend_select = ['LDR1']", 2, "unknown key `extend_select`"),
    ],
)
def test_a_wrong_setting_is_shown_with_its_place(
    loader: Path, loaderlint: Run, text: str, line: int, message: str
) -> None:
    path = write_settings(loader.parent, text)
    done = loaderlint("loader.py")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith(f"{path}:{line}: {message}")


@pytest.mark.parametrize("option", ["--select", "--extend-select", "--ignore"])
def test_a_wrong_option_is_explained(loader: Path, loaderlint: Run, option: str) -> None:
    done = loaderlint(option, "LDR101,LDR1O2", "loader.py")
    assert (done.returncode, done.stdout) == (2, "")
    assert f"{option}: no rule code begins with 'LDR1O2'; did you mean LDR102?" in done.stderr


# How layers decide, about rules of each kind


def rule(category: Category, code: str = "LDR777", **what: bool) -> RuleInfo:
    return RuleInfo(code, "some-rule", category, "0.1.0", False, **what)


PEDANTIC, HAZARD = rule(Category.PEDANTIC), rule(Category.HAZARD)
PREVIEW, FAILURE = rule(Category.CORRECTNESS, preview=True), rule(Category.HAZARD, "LDR978", always=True)


@pytest.mark.parametrize("category", Category)
def test_the_category_decides_the_default(category: Category) -> None:
    assert is_on(rule(category), []) is (category is not Category.PEDANTIC)
    assert not is_on(rule(category, preview=True), [])


@pytest.mark.parametrize(
    ("about", "layers", "on"),
    [
        (PEDANTIC, [Layer(extend_select=("LDR7",))], True),
        (PEDANTIC, [Layer(select=("LDR",))], True),
        (PEDANTIC, [Layer(select=("LDR",)), Layer(ignore=("LDR7",))], False),
        (PEDANTIC, [Layer(select=("LDR7",)), Layer(select=("LDR1",))], False),
        (HAZARD, [Layer(ignore=("LDR7",)), Layer()], False),
        (HAZARD, [Layer(ignore=("LDR7",)), Layer(extend_select=("LDR7",))], True),
        (HAZARD, [Layer(ignore=("LDR77",), extend_select=("LDR777",))], True),
        (HAZARD, [Layer(ignore=("LDR777",), extend_select=("LDR77",))], False),
        # A rule in preview is on only if it is meant: an update must not bring its false alarms.
        (PREVIEW, [Layer(select=("LDR7", "LDR77"))], False),
        (PREVIEW, [Layer(select=("LDR777",))], True),
        (PREVIEW, [Layer(extend_select=("LDR777",), ignore=("LDR77",))], True),
        # Selecting something else must not hide that a function was not analysed.
        (FAILURE, [Layer(select=("LDR1",))], True),
        (FAILURE, [Layer(select=())], True),
        (FAILURE, [Layer(ignore=("LDR978",))], False),
    ],
)
def test_layers(about: RuleInfo, layers: list[Layer], on: bool) -> None:
    assert is_on(about, layers) is on
