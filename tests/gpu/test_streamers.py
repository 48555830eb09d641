"""Real streamers that lend device memory; each is skipped where it is not installed."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
import torch
from safetensors.torch import save_file

from loaderlint.runtime_guard import activate, report

_COUNT = 200
Named = tuple[str, torch.Tensor]


@pytest.fixture
def file(tmp_path: Path) -> Path:
    file = tmp_path / "model.safetensors"
    save_file({f"t{number:03d}": torch.full((1 << 16,), float(number)) for number in range(_COUNT)}, file)
    return file


def keep(stream: Iterator[Named]) -> int:
    """Return how many of the tensors that were kept raise when they are read."""
    kept, raised = dict(stream), 0
    for tensor in kept.values():
        try:
            tensor.sum().item()
        except RuntimeError as error:
            raised += "LOADERLINT-E101" in str(error)
    return raised


def copies_right(stream: Iterator[Named]) -> int:
    return sum(bool((tensor.clone() == float(name[1:])).all()) for name, tensor in stream)


def test_instanttensor_lends_its_ring(file: Path) -> None:
    instanttensor = pytest.importorskip("instanttensor")
    activate("trap")
    options = {"framework": "pt", "device": 0, "copy": False, "buffer_size": 16 << 20}
    with instanttensor.safe_open(str(file), **options) as opened:
        assert copies_right(opened.tensors()) == _COUNT
    assert report.stale_reads() == []
    with instanttensor.safe_open(str(file), **options) as opened:
        assert keep(opened.tensors()) == _COUNT


def test_fastsafetensors_lends_what_is_borrowed(file: Path) -> None:
    fastsafetensors = pytest.importorskip("fastsafetensors")
    activate("trap")

    def stream() -> Iterator[Named]:
        return fastsafetensors.ParallelLoader(
            None,
            [str(file)],
            use_tqdm_on_load=False,
            device="cuda:0",
            nogds=True,
            borrowed_tensors=True,
            accumulate_resident=False,
            max_batch_bytes=16 << 20,
        ).iterate_weights()

    assert copies_right(stream()) == _COUNT
    assert report.stale_reads() == []
    assert keep(stream()) == _COUNT


def test_runai_moves_to_the_device_what_it_does_not_lend(file: Path) -> None:
    streamers = pytest.importorskip("runai_model_streamer")
    activate("trap")
    with streamers.SafetensorsStreamer() as streamer:
        streamer.stream_files([str(file)], device="cuda:0", owned=False)
        kept = dict(streamer.get_tensors())
    assert all(bool((tensor == float(name[1:])).all()) for name, tensor in kept.items())
    assert report.stale_reads() == []
