"""The Python of real InstantTensor releases over a small C part that needs no GPU: `ring.py`."""

from __future__ import annotations

import json
from pathlib import Path

import forked
import pytest
from conftest import unpacked

_LENT = {"0.1.8": "no copy flag before 0.1.9", "0.1.9": "copy=False", "0.2.2": "copy=False"}


@pytest.fixture(params=["0.1.8", "0.1.9", "0.2.2"])
def version(request: pytest.FixtureRequest) -> str:
    return request.param


def seen(request: pytest.FixtureRequest, version: str, file: Path, *arguments: str) -> dict[str, object]:
    folder = unpacked(request.config, f"instanttensor=={version}")
    script = Path(__file__).with_name("instanttensor_process.py")
    result = forked.run(script, str(file), *arguments, path=[folder])
    assert result.returncode == 0, result.stderr
    return json.loads(result.stdout.splitlines()[-1])


def test_views_of_the_ring_are_lent(
    request: pytest.FixtureRequest, version: str, checkpoint_files: list[Path]
) -> None:
    options = "{}" if version == "0.1.8" else '{"copy": false}'
    kept = seen(request, version, checkpoint_files[0], "keep_dict", options)
    assert kept["raised"][0] == kept["raised"][1] > 150
    assert kept["producers"] == [f"instanttensor {version} [{_LENT[version]}]"]
    copied = seen(request, version, checkpoint_files[0], "copy_in_step", options)
    assert copied == {"wrong": 0, "producers": []}
    # The `with` block frees the ring, and with it what a loop that was left early still holds.
    assert seen(request, version, checkpoint_files[0], "keep_first", options)["raised"] == [1, 1]


def test_copies_are_owned(request: pytest.FixtureRequest, version: str, checkpoint_files: list[Path]) -> None:
    if version == "0.1.8":
        pytest.skip("0.1.8 has no copy flag")
    assert seen(request, version, checkpoint_files[0], "keep_dict", "{}")["raised"][0] == 0
