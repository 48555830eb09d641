"""Real RunAI streams: stale reads raise, correct loaders are not disturbed, owned streams stay untouched."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import GeneratorType
from typing import Any

import consumers
import pytest
import torch
from conftest import beside
from consumers import CORRECT, KEEPING, Named, Reads, count_raises, stream_through, wrong_tensors

from loaderlint.runtime_guard import activate, poisoned, report

LIMITS = [None, "0", "10000000"]
Consumer = Callable[[Iterator[Named]], Any]


@pytest.mark.parametrize("limit", LIMITS)
@pytest.mark.parametrize("files", [1, 2])
@pytest.mark.parametrize("consumer", KEEPING)
def test_every_stale_read_raises(
    checkpoint_files: list[Path], consumer: Callable[[Iterator[Named]], Reads], files: int, limit: str | None
) -> None:
    activate("trap")
    consumers.set_limit(limit)
    reads = stream_through(checkpoint_files[:files], consumer, owned=False)
    raised, attempted = count_raises(reads)
    assert attempted >= (90 if consumer is consumers.keep_pairs else 180) * files
    assert raised == attempted
    assert len(report.stale_reads()) > 0


@pytest.mark.parametrize("level", ["trap", "poison"])
@pytest.mark.parametrize("limit", LIMITS)
@pytest.mark.parametrize("consumer", CORRECT)
def test_correct_loaders_load_the_same_bits_and_hear_nothing(
    checkpoint_files: list[Path],
    expected: dict[str, torch.Tensor],
    consumer: Consumer,
    limit: str | None,
    level: str,
) -> None:
    activate(level)
    consumers.set_limit(limit)
    loaded = stream_through(checkpoint_files, consumer, owned=False)
    assert len(loaded) == (21 if consumer is consumers.stopping_early else len(expected))
    assert wrong_tensors(loaded, expected) == []
    assert report.stale_reads() == []


@pytest.mark.parametrize("options", [{}, {"owned": True}])
def test_owned_streams_come_back_untouched(
    checkpoint_files: list[Path], expected: dict[str, torch.Tensor], options: dict[str, bool]
) -> None:
    activate("trap")

    def keep(stream: Iterator[Named]) -> dict[str, torch.Tensor]:
        assert type(stream) is GeneratorType
        assert stream.gi_code.co_filename.endswith("safetensors_streamer.py")
        return dict(stream)

    assert wrong_tensors(stream_through(checkpoint_files, keep, **options), expected) == []
    assert report.stale_reads() == []


def test_poison_in_place_is_found_in_what_was_kept(
    checkpoint_files: list[Path], expected: dict[str, torch.Tensor]
) -> None:
    activate("poison")
    kept = stream_through(checkpoint_files, dict, owned=False)
    found = poisoned(kept.items())
    assert sorted(entry.name for entry in found) == sorted(expected)
    assert all(entry.elements == entry.total for entry in found)
    assert poisoned(expected.items()) == []


def test_the_defect_is_invisible_without_the_guard(
    checkpoint_files: list[Path], expected: dict[str, torch.Tensor]
) -> None:
    """What the guard is for: at the default limit nothing is wrong, at a small one nearly everything is."""
    kept = stream_through(checkpoint_files, dict, owned=False)
    assert wrong_tensors(kept, expected) == []
    consumers.set_limit("0")
    assert len(wrong_tensors(stream_through(checkpoint_files, dict, owned=False), expected)) > 300


def test_zero_size_and_misaligned_tensors_are_owned(tmp_path: Path) -> None:
    from safetensors.torch import save_file

    tensors = {
        "a_bytes": torch.arange(3, dtype=torch.uint8),
        "b_empty": torch.empty(0, 4),
        "c_floats": torch.arange(64, dtype=torch.float32),
    }
    file = tmp_path / "odd.safetensors"
    save_file(tensors, file)
    activate("trap")
    kept = stream_through([file], dict, owned=False)
    owned = {name for name, tensor in kept.items() if tensor.untyped_storage().resizable()}
    assert "b_empty" in owned
    for name in owned:
        assert torch.equal(kept[name], tensors[name])
    lent = [kept[name].sum for name in kept if name not in owned]
    assert lent and count_raises(lent) == (len(lent), len(lent))


def test_old_versions_lend_always(
    checkpoint_files: list[Path], old_streamer: tuple[str, Path], clean_environment: dict[str, str]
) -> None:
    version, folder = old_streamer
    script = Path(__file__).with_name("old_streamer.py")
    result = subprocess.run(
        [sys.executable, str(script), *map(str, checkpoint_files)],
        env=beside(clean_environment, folder),
        capture_output=True,
        text=True,
    )
    assert result.returncode == 0, result.stderr
    seen = json.loads(result.stdout.splitlines()[-1])
    assert seen["producer"] == f"runai-model-streamer {version}"
    assert len(seen["keeping"]) == len(LIMITS) * len(KEEPING)
    assert all(raised == attempted > 150 for raised, attempted in seen["keeping"])
    assert len(seen["correct"]) == len(LIMITS) * len(CORRECT)
    assert all((wrong, reports) == (0, 0) for wrong, reports in seen["correct"])
