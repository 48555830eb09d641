"""A real checkpoint, real streamers of several versions, and the guard switched off after each test."""

from __future__ import annotations

import fcntl
import gc
import importlib.util
import os
import subprocess
import sys
from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path
from types import ModuleType

import pytest
import torch
from safetensors.torch import load_file, save_file

from loaderlint.runtime_guard import activate, report

_ROOT = Path(__file__).parents[2]
_UNREACHABLE = ("connection broken", "Failed to establish", "Temporary failure", "Could not fetch URL")


def _module(path: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location(path.stem, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="session", autouse=True)
def linter_forgets() -> None:
    """Drops the trees that tests of the linter left in this process: each collection of garbage goes through them."""
    for one in gc.get_objects():
        if type(one) is type(cache(len)) and one.__module__.startswith("loaderlint.linter"):
            one.cache_clear()


@pytest.fixture(scope="session")
def checkpoint_files(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """Two files with 371 tensors, 20 MiB together: two buffers of the streamer at a limit of 10 MB."""
    checkpoint = _module(_ROOT / "fixtures" / "checkpoint.py")
    return checkpoint.write_checkpoint(tmp_path_factory.mktemp("checkpoint"), megabytes=20)


@pytest.fixture(scope="session")
def shards(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """Four files of 50 tensors each, 20 MB together."""
    files = [tmp_path_factory.mktemp("shards") / f"shard-{number}.safetensors" for number in range(4)]
    for place, file in enumerate(files):
        numbers = range(50 * place, 50 * place + 50)
        save_file(
            {f"layer.{number:03}": torch.full((5, 5000), float(number + 1)) for number in numbers}, file
        )
    return files


@pytest.fixture(scope="session")
def expected(checkpoint_files: list[Path]) -> dict[str, torch.Tensor]:
    """The tensors of the checkpoint as safetensors itself loads them."""
    return {name: tensor for file in checkpoint_files for name, tensor in load_file(file).items()}


@pytest.fixture(autouse=True)
def guard_off_afterwards(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.delenv("RUNAI_STREAMER_MEMORY_LIMIT", raising=False)
    yield
    activate("off")
    report.take_stale_reads()


def unpacked(config: pytest.Config, *requirements: str) -> Path:
    """Return a folder with those distributions and nothing else; made once, then found again."""
    folder = config.cache.mkdir("-".join(requirements).replace("==", "-"))
    # Under this name the guard knows that the frames of its files are those of a library.
    cache = folder / "site-packages"
    with (folder / "lock").open("w") as lock:
        # Another process may be about to make it.
        fcntl.flock(lock, fcntl.LOCK_EX)
        _unpack(cache, requirements)
    return cache


def _unpack(cache: Path, requirements: Sequence[str]) -> None:
    done = cache / "complete"
    if not done.exists():
        install = [sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
        target = ["--retries", "1", "--no-deps", "--upgrade", "--target", str(cache)]
        command = [*install, *target, *requirements]
        result = subprocess.run(command, capture_output=True, text=True)
        if result.returncode and any(text in result.stderr for text in _UNREACHABLE):
            pytest.skip(f"pip reaches no package index to get {requirements[0]} from")
        assert result.returncode == 0, result.stderr
        done.touch()


@pytest.fixture(scope="session", params=["0.14.0", "0.16.1"])
def old_streamer(request: pytest.FixtureRequest) -> tuple[str, Path]:
    """A version of the streamer that always lends, and the folder that holds it."""
    version = request.param
    return version, unpacked(request.config, f"runai-model-streamer=={version}")


@pytest.fixture
def clean_environment() -> dict[str, str]:
    """The environment of this process without any setting of the guard or the streamer."""
    prefixes = ("LOADERLINT_", "RUNAI_", "PYTEST_")
    return {name: value for name, value in os.environ.items() if not name.startswith(prefixes)}
