"""Real fastsafetensors of four versions: a report where a closed buffer was read, silence where it is owned."""

from __future__ import annotations

import json
import signal
import subprocess
from pathlib import Path

import forked
import pytest
from conftest import unpacked

_BORROWED = '{"borrowed_tensors": true, "accumulate_resident": false}'


class Version:
    """One version of fastsafetensors, beside the one torch."""

    def __init__(self, folder: Path, files: list[Path]) -> None:
        self._files = [str(file) for file in files]
        self._folder = folder

    def run(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        script = Path(__file__).with_name("fastsafetensors_process.py")
        return forked.run(script, *arguments, *self._files, path=[self._folder])

    def seen(self, *arguments: str) -> dict[str, object]:
        result = self.run("trap", *arguments)
        assert result.returncode == 0, result.stderr
        return json.loads(result.stdout.splitlines()[-1])


@pytest.fixture
def version(request: pytest.FixtureRequest, checkpoint_files: list[Path]) -> Version:
    # Releases before 0.3 import tqdm without needing it.
    extra = ["tqdm==4.67.1"] if request.param == "0.2.2" else []
    folder = unpacked(request.config, f"fastsafetensors=={request.param}", *extra)
    return Version(folder, checkpoint_files)


@pytest.mark.parametrize("version", ["0.3.3"], indirect=True)
def test_without_the_guard_a_read_after_close_ends_the_process(version: Version) -> None:
    assert version.run("off", "buffer", "keep_dict", "{}").returncode == -signal.SIGSEGV


@pytest.mark.parametrize(
    ("version", "number"), [(number, number) for number in ("0.2.2", "0.3.3", "0.4.0")], indirect=["version"]
)
def test_before_0_5_a_read_after_close_raises(version: Version, number: str) -> None:
    seen = version.seen("buffer", "keep_dict", "{}")
    assert seen["raised"] == [371, 371]
    assert seen["producers"] == [f"fastsafetensors {number} [no shared ownership before 0.5]"]
    assert seen["advanced"] == ["through_buffer"]


@pytest.mark.parametrize("version", ["0.2.2", "0.3.3", "0.4.0", "0.5.0"], indirect=True)
def test_copies_made_before_close_are_silent_and_right(version: Version) -> None:
    silent = {"wrong": 0, "producers": [], "advanced": []}
    assert version.seen("buffer", "copy_in_step", "{}") == silent


@pytest.mark.parametrize("version", ["0.3.3", "0.4.0", "0.5.0"], indirect=True)
def test_what_the_parallel_loader_copies_may_be_kept(version: Version) -> None:
    assert version.seen("parallel", "keep_dict", "{}")["raised"] == [0, 371]


@pytest.mark.parametrize("version", ["0.5.0"], indirect=True)
def test_since_0_5_tensors_own_the_buffer(version: Version) -> None:
    assert version.seen("buffer", "keep_dict", "{}")["raised"] == [0, 371]


@pytest.mark.parametrize("version", ["0.5.0"], indirect=True)
@pytest.mark.parametrize(
    ("door", "options"), [("buffer", '{"borrowed_tensors": true}'), ("parallel", _BORROWED)]
)
def test_borrowed_tensors_are_lent_until_their_buffer_is_closed(
    version: Version, door: str, options: str
) -> None:
    seen = version.seen(door, "keep_dict", options)
    assert seen["raised"] == [371, 371]
    assert seen["producers"] == ["fastsafetensors 0.5.0 [borrowed_tensors=True]"]
    assert version.seen(door, "copy_in_step", options)["wrong"] == 0
