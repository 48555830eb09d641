"""Real RunAI streams: stale reads raise, correct loaders are not disturbed, owned streams stay untouched."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from types import GeneratorType
from typing import Any

import consumers
import forked
import pytest
import torch
from consumers import CORRECT, KEEPING, Named, Reads, count_raises, stream_through, wrong_tensors

from loaderlint.runtime_guard import activate, poisoned, report

LIMITS = [None, "0", "10000000"]
Consumer = Callable[[Iterator[Named]], Any]


@pytest.mark.parametrize("limit", LIMITS)
@pytest.mark.parametrize("files", [1, 4])
@pytest.mark.parametrize("consumer", KEEPING)
def test_every_stale_read_raises(
    shards: list[Path], consumer: Callable[[Iterator[Named]], Reads], files: int, limit: str | None
) -> None:
    activate("trap")
    consumers.set_limit(limit)
    reads = stream_through(shards[:files], consumer, owned=False)
    attempted = (25 if consumer is consumers.keep_pairs else 50) * files
    assert count_raises(reads) == (attempted, attempted)
    # Before Python 3.12 a read in a thread that runs already is told only by the error that reaches its reader.
    assert report.stale_reads() or consumer is consumers.keep_futures


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


@pytest.mark.parametrize("level", ["census", "trap", "poison", "paranoid"])
def test_odd_tensors_come_out_bit_identical(tmp_path: Path, level: str) -> None:
    """Eight-bit and packed four-bit floats, bool, no element, no dimension, addresses that do not fit."""
    from safetensors.torch import load_file, save_file

    numbers = torch.arange(96)
    kinds = [torch.float8_e4m3fn, torch.float8_e5m2, torch.bool, torch.bfloat16, torch.float64, torch.int8]
    tensors = {f"{place}.{kind}": (numbers % 7).to(kind) for place, kind in enumerate(kinds)}
    tensors["a.bytes"] = torch.arange(3, dtype=torch.uint8)
    tensors["b.empty"] = torch.empty(0, 4)
    tensors["c.scalar"] = torch.tensor(2.5)
    tensors["d.exponents"] = numbers.to(torch.uint8).view(torch.float8_e8m0fnu)
    tensors["e.packed"] = numbers.to(torch.uint8).reshape(8, 12).view(torch.float4_e2m1fn_x2)
    file = tmp_path / "odd.safetensors"
    save_file(tensors, file)
    activate(level)
    loaded = stream_through([file], keep_raw_bytes, owned=False)
    expected = keep_raw_bytes(iter(load_file(file).items()))
    assert loaded == expected and len(loaded) == len(tensors)
    assert report.stale_reads() == []


def keep_raw_bytes(stream: Iterator[Named]) -> dict[str, bytes]:
    return {
        name: weight.reshape(-1).view(torch.uint8).numpy().tobytes() if weight.numel() else b""
        for name, weight in stream
    }


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


def test_old_versions_lend_always(shards: list[Path], old_streamer: tuple[str, Path]) -> None:
    version, folder = old_streamer
    result = forked.run(Path(__file__).with_name("old_streamer.py"), *map(str, shards), path=[folder])
    assert result.returncode == 0, result.stderr
    seen = json.loads(result.stdout.splitlines()[-1])
    assert seen["producer"] == f"runai-model-streamer {version}"
    of_each = [[25 * files if consumer is consumers.keep_pairs else 50 * files] * 2
               for consumer in KEEPING for files in (1, 4)]  # fmt: skip
    assert seen["keeping"] == of_each * len(LIMITS)
    assert len(seen["correct"]) == len(LIMITS) * len(CORRECT)
    assert all((wrong, reports) == (0, 0) for wrong, reports in seen["correct"])
