"""Which repairs are made, and with whose function: --fix-only, --interactive, own-helper; as a user runs them."""

from __future__ import annotations

from pathlib import Path

import pytest
from conftest import LOADER, Run

STREAMED = LOADER.replace("list(weights)", "weights")
OWNED = LOADER.replace("= weight\n", '= weight.detach().to("cpu", copy=True)\n')


def test_only_the_named_codes_are_repaired(loader: Path, loaderlint: Run) -> None:
    done = loaderlint("--fix", "--unsafe-fixes", "--fix-only", "LDR103,LDR2", "loader.py")
    assert loader.read_text() == OWNED
    assert done.returncode == 1 and "LDR101" in done.stdout and "LDR103" not in done.stdout
    done = loaderlint("--diff", "--fix-only", "LDR101", "loader.py")
    assert "+    for name, weight in weights:" in done.stdout
    assert loader.read_text() == OWNED


def test_unused_suppressions_are_left_if_only_others_are_repaired(loader: Path, loaderlint: Run) -> None:
    text = LOADER.replace("import torch\n", "import torch  # noqa: LDR103\n")
    loader.write_text(text)
    options = ("--fix", "--extend-select", "LDR901", "loader.py")
    loaderlint(*options, "--fix-only", "LDR101")
    assert loader.read_text() == text.replace("list(weights)", "weights")
    loaderlint(*options, "--fix-only", "LDR901")
    assert loader.read_text() == STREAMED


@pytest.mark.parametrize(
    ("answers", "text"),
    [
        ("y\nn\n", STREAMED),
        ("n\ny\n", OWNED),
        ("n\nn\n", LOADER),
        ("\nyes\n", OWNED),
        ("perhaps\ny\nn\n", STREAMED),
    ],
)
def test_each_repair_is_shown_and_asked_for(loader: Path, loaderlint: Run, answers: str, text: str) -> None:
    done = loaderlint("--fix", "--unsafe-fixes", "--interactive", "loader.py", input=answers)
    assert loader.read_text() == text
    assert "-    for name, weight in list(weights):\n+    for name, weight in weights:" in done.stdout
    assert "LDR101" in done.stdout.split("--- a/loader.py")[0]
    assert done.returncode == 1


def test_without_an_answer_nothing_is_written(loader: Path, loaderlint: Run) -> None:
    done = loaderlint("--fix", "--interactive", "loader.py", input="")
    assert done.returncode != 0
    assert loader.read_text() == LOADER


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--interactive", "."), "--interactive needs --fix"),
        (("--interactive", "--fix", "--diff", "."), "--interactive needs --fix, without --diff"),
        (("--interactive", "--fix", "-"), "standard input"),
        (("--fix-only", "LDR101", "."), "--fix-only needs --fix"),
        (("--fix", "--fix-only", "LDR777", "."), "--fix-only: no rule code begins with 'LDR777'"),
    ],
)
def test_what_does_not_go_together_is_refused(
    loader: Path, loaderlint: Run, options: tuple[str, ...], message: str
) -> None:
    done = loaderlint(*options)
    assert done.returncode == 2 and message in done.stderr
    assert loader.read_text() == LOADER


HEADS = {
    "imports": ("import torch\n", "import torch\nfrom engine.memory import own\n", "own"),
    "imported": ("from engine.memory import own\n", None, "own"),
    "under another name": ("from engine.memory import own as mine\n", None, "mine"),
    "by its module": ("import engine.memory as memory\n", None, "memory.own"),
    "a docstring": ('"""Loads."""\n', '"""Loads."""\nfrom engine.memory import own\n', "own"),
    "the future": (
        "from __future__ import annotations\n\nimport torch\n",
        "from __future__ import annotations\n\nimport torch\nfrom engine.memory import own\n",
        "own",
    ),
    "for type checkers only": (
        "from typing import TYPE_CHECKING\n\nif TYPE_CHECKING:\n    from engine.memory import own\n",
        "from typing import TYPE_CHECKING\nfrom engine.memory import own\n\n"
        "if TYPE_CHECKING:\n    from engine.memory import own\n",
        "own",
    ),
}
BODY = """

def load_weights(self, weights):
    first = {}
    for name, weight in weights:
        first[name] = weight
    self.load(first)


def load_others(self, weights):
    for name, weight in weights:
        if name in self.last:
            self.merge(self.last.pop(name))
        self.last[name] = weight.t()
"""


@pytest.mark.parametrize("name", HEADS)
def test_the_projects_own_helper_is_imported_once(tmp_path: Path, loaderlint: Run, name: str) -> None:
    head, after, call = HEADS[name]
    (tmp_path / "pyproject.toml").write_text('[tool.loaderlint]\nown-helper = "engine.memory:own"\n')
    path = tmp_path / "loader.py"
    path.write_text(head + BODY)
    loaderlint("--fix", "--unsafe-fixes", "loader.py")
    repaired = BODY.replace("= weight\n", f"= {call}(weight)\n").replace(
        "weight.t()\n", "weight.t().clone()\n"
    )
    assert path.read_text() == (after or head) + repaired
    loaderlint("--fix", "--unsafe-fixes", "loader.py")
    assert path.read_text() == (after or head) + repaired


def test_two_functions_share_one_import(tmp_path: Path, loaderlint: Run) -> None:
    (tmp_path / "pyproject.toml").write_text('[tool.loaderlint]\nown-helper = "engine.memory:own"\n')
    path = tmp_path / "loader.py"
    twice = BODY.partition("\n\n\ndef load_others")[0] + "\n"
    path.write_bytes(
        ("import torch\n" + twice + twice.replace("load_w", "load_other_w")).replace("\n", "\r\n").encode()
    )
    loaderlint("--fix", "--unsafe-fixes", "loader.py")
    text = path.read_bytes().decode()
    assert text.startswith("import torch\r\nfrom engine.memory import own\r\n")
    assert text.count("import own") == 1 and text.count("own(weight)") == 2
    assert text.count("\n") == text.count("\r\n")


def test_the_helpers_own_file_does_not_import_itself(tmp_path: Path, loaderlint: Run) -> None:
    (tmp_path / "pyproject.toml").write_text('[tool.loaderlint]\nown-helper = "engine.memory:own"\n')
    path = tmp_path / "engine" / "memory.py"
    path.parent.mkdir()
    helper = "def own(tensor):\n    return tensor.clone()\n"
    path.write_text(helper + BODY)
    loaderlint("--fix", "--unsafe-fixes", ".")
    assert path.read_text().startswith(helper + BODY[:80]) and "= own(weight)\n" in path.read_text()


@pytest.mark.parametrize("value", ['"own"', '"engine.memory"', "3", '"engine.memory:own()"', '["a:b"]'])
def test_a_helper_that_is_none_is_refused(loader: Path, loaderlint: Run, value: str) -> None:
    (loader.parent / "pyproject.toml").write_text(f"[tool.loaderlint]\nown-helper = {value}\n")
    done = loaderlint("loader.py")
    assert done.returncode == 2
    assert "pyproject.toml:2: `own-helper` is" in done.stderr
