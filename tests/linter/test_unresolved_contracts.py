"""LDR902: contracts in pyproject.toml that name what the project does not have, and what must stay silent."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from conftest import Run

MEMORY = """\
import torch
from .pools import borrow as borrowed

try:
    import fast
except ImportError:
    fast = None

if torch.cuda.is_available():
    def pin(weight): ...
else:
    pin = None

for late in (1, 2):
    pass

def own(weight):
    global made
    made = weight

class Reader:
    kind: str

    def __init__(self):
        self.opened = None

    def tensors(self): ...

class Derived(Reader):
    pass
"""


@pytest.fixture
def project(tmp_path: Path) -> Path:
    (tmp_path / "engine").mkdir()
    (tmp_path / "engine" / "__init__.py").write_text("")
    (tmp_path / "engine" / "memory.py").write_text(MEMORY)
    return tmp_path


def state(project: Path, contracts: str) -> None:
    (project / "pyproject.toml").write_text(
        f"[project]\nname = 'engine'\ndependencies = ['fast-disk>=1']\n{contracts}\n"
    )


def copying(*names: str) -> str:
    return f"[tool.loaderlint.contracts.functions]\ncopy = {list(names)}"


def reported(loaderlint: Run, *arguments: str) -> list[str]:
    done = loaderlint(*arguments, ".")
    assert done.returncode in (0, 1), done.stderr
    lines = [line for line in done.stdout.splitlines() if " LDR902 " in line]
    assert done.returncode == bool(lines)
    return lines


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("engine.memory.owned", "`engine.memory` has no `owned`; did you mean `own`?"),
        ("engine.memory.borrow", "`engine.memory` has no `borrow`; did you mean `borrowed`?"),
        ("engine.memry.own", "`engine` has no `memry`"),
        ("engine.memory.Reader.tensor", "`engine.memory.Reader` has no `tensor`; did you mean `tensors`?"),
        ("engine.memory.weight", "`engine.memory` has no `weight`"),
    ],
)
def test_a_name_that_leads_nowhere(project: Path, loaderlint: Run, name: str, message: str) -> None:
    state(project, copying("engine.memory.own", name))
    (line,) = reported(loaderlint)
    column = len("copy = ['engine.memory.own', ") + 1
    assert line == f"pyproject.toml:5:{column} LDR902 the contract for `{name}` has no effect: {message}"


@pytest.mark.parametrize(
    "name",
    [
        *(f"engine.memory.{name}" for name in ("own", "borrowed", "fast", "pin", "late", "made", "torch")),
        *(f"engine.memory.Reader.{name}" for name in ("tensors", "kind", "opened")),
        "engine.memory.Reader",
        "engine.memory.Derived.whatever",
        "engine.memory.fast.copy",
        "engine.memory",
        "engine",
        # Others' packages: not here, required, or known to loaderlint.
        "elsewhere.memory.own",
        "fast_disk.own",
        "torch.cat",
        "own",
    ],
)
def test_names_that_exist_or_belong_to_others(project: Path, loaderlint: Run, name: str) -> None:
    # What lies beside is found first, as Python does; it may be a stand-in for tests all the same.
    for package in ("fast_disk", "torch"):
        (project / package).mkdir()
        (project / package / "__init__.py").write_text("")
    state(project, copying(name))
    assert reported(loaderlint) == []


@pytest.mark.parametrize(
    "text",
    [
        "def __getattr__(name): ...",
        "from .kernels import *",
        "globals()['owned'] = 3",
        "import sys\nsetattr(sys.modules[__name__], 'owned', 3)",
        "def broken(:",
    ],
)
def test_what_may_be_made_at_run_time_or_cannot_be_read(project: Path, loaderlint: Run, text: str) -> None:
    (project / "engine" / "__init__.py").write_text(text)
    state(project, copying("engine.owned"))
    assert reported(loaderlint) == []


@pytest.mark.parametrize("file", ["kernels.cpython-311-x86_64-linux-gnu.so", "kernels.pyx", "kernels/own.py"])
def test_what_lies_in_the_package_but_is_no_module_of_source(
    project: Path, loaderlint: Run, file: str
) -> None:
    (project / "engine" / file).parent.mkdir(exist_ok=True)
    (project / "engine" / file).write_text("")
    state(project, copying("engine.kernels.anything"))
    assert reported(loaderlint) == []


def test_every_table_of_qualified_names_counts(project: Path, loaderlint: Run) -> None:
    prefix = "[tool.loaderlint.contracts"
    state(
        project,
        f"[{prefix}.producer]]\ncalls = ['engine.memory.Reader.tensors']\n"
        f"[{prefix}.producer]]\ncalls = [\n  'engine.a',\n]\n"
        f"{prefix}.functions]\nkeep = ['engine.b']\n"
        f"{prefix}.classes]\ndict = ['engine.c']\n"
        f"{prefix}.lazy]\n'engine.d' = 'same'\n"
        f"{prefix}.eager]\n'engine.e' = 'list'\n"
        # Bare names: methods of anything.
        f"{prefix}.methods]\nkeep = ['enlist']\n",
    )
    assert [line.split(" ")[0] for line in reported(loaderlint)] == [
        "pyproject.toml:8:3", "pyproject.toml:11:9", "pyproject.toml:13:9", "pyproject.toml:15:1",
        "pyproject.toml:17:1",
    ]  # fmt: skip


def test_a_project_below_src(project: Path, loaderlint: Run) -> None:
    (project / "src").mkdir()
    (project / "engine").rename(project / "src" / "engine")
    state(project, copying("engine.memory.owned"))
    assert len(reported(loaderlint)) == 1


def test_it_is_a_warning_that_can_be_ignored_and_is_not_repaired(project: Path, loaderlint: Run) -> None:
    state(project, copying("engine.memory.owned"))
    before = (project / "pyproject.toml").read_text()
    assert len(reported(loaderlint, "--fix", "--unsafe-fixes")) == 1
    assert (project / "pyproject.toml").read_text() == before
    assert reported(loaderlint, "--ignore", "LDR902") == []
    listed = json.loads(loaderlint("--output-format", "json", "engine").stdout)["findings"]
    assert [(one["path"], one["severity"], one["line"], one["fix"]) for one in listed] == [
        ("pyproject.toml", "warning", 5, None)
    ]
