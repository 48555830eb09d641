"""What the tests of the linter share: the command in a process of its own, and a loader with two defects."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import forked
import pytest

Run = Callable[..., subprocess.CompletedProcess[str]]

# Line 7 keeps the whole stream in a list, which is safe to repair; line 14 collects tensors, which is unsafe.
LOADER = """\
from collections.abc import Iterable

import torch


def load_all(model, weights: Iterable[tuple[str, torch.Tensor]]) -> None:
    for name, weight in list(weights):
        model.params[name].copy_(weight)


def load_late(model, weights: Iterable[tuple[str, torch.Tensor]]) -> None:
    kept = {}
    for name, weight in weights:
        kept[name] = weight
    model.head.copy_(kept["head"])
"""


@pytest.fixture
def loader(tmp_path: Path) -> Path:
    path = tmp_path / "loader.py"
    path.write_text(LOADER)
    return path


@pytest.fixture
def loaderlint(tmp_path: Path) -> Run:
    """Runs the command in `tmp_path` or another folder; a prefix can change the conditions that it runs under."""

    def run(
        *arguments: str, prefix: tuple[str, ...] = (), input: str = "", cwd: Path = tmp_path
    ) -> subprocess.CompletedProcess[str]:
        if not prefix:
            return forked.run("loaderlint.linter", *arguments, cwd=cwd, input=input)
        command = [*prefix, sys.executable, "-m", "loaderlint.linter", *arguments]
        return subprocess.run(command, cwd=cwd, input=input, capture_output=True, text=True, timeout=60)

    return run


@pytest.fixture
def unprivileged() -> tuple[str, ...]:
    """A command prefix under which file permissions hold, for root too."""
    if os.geteuid() != 0:
        return ()
    if shutil.which("setpriv") is None:
        pytest.skip("root passes every permission, and setpriv is missing")
    return ("setpriv", "--bounding-set=-dac_override,-dac_read_search", "--inh-caps=-all")
