"""`strict`: every weights iterator counts as lent, whatever its producer promises; and nothing else does."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import consumers
import pytest
import torch
from consumers import CORRECT, Named, Reads, count_raises, stream_through, wrong_tensors
from loaderlint.runtime_guard import GuardSettingError, activate, report

Consumer = Callable[[Iterator[Named]], Any]

# An engine's module as engines have it, at the name where strict looks for it: owning copies of a real stream.
_ENGINE = """
from runai_model_streamer import SafetensorsStreamer

def runai_safetensors_weights_iterator(files, owned):
    with SafetensorsStreamer() as streamer:
        streamer.stream_files(files, owned=owned)
        for name, tensor in streamer.get_tensors():
            yield name, tensor.clone() if owned else tensor

def np_cache_weights_iterator(files):
    return runai_safetensors_weights_iterator(files, True)

def filter_files(files):
    return list(files)
"""


@pytest.fixture
def engine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """The name of an importable module that stands for an engine's."""
    name = "sglang.srt.model_loader.weight_utils"
    folder = tmp_path.joinpath(*name.split(".")[:-1])
    folder.mkdir(parents=True)
    (folder / "weight_utils.py").write_text(_ENGINE)
    monkeypatch.syspath_prepend(tmp_path)
    yield name
    for loaded in [module for module in sys.modules if module.partition(".")[0] == "sglang"]:
        del sys.modules[loaded]


def imported(name: str) -> ModuleType:
    __import__(name)
    return sys.modules[name]


@pytest.mark.parametrize("options", [{}, {"owned": True}, {"owned": False}])
@pytest.mark.parametrize("consumer", consumers.KEEPING)
def test_an_owning_stream_counts_as_lent(
    checkpoint_files: list[Path], consumer: Consumer, options: dict[str, bool]
) -> None:
    activate("trap,strict")
    raised, attempted = count_raises(stream_through(checkpoint_files, consumer, **options))
    assert raised == attempted > 180
    facts = {read.lease.contract.facts for read in report.take_stale_reads()}
    # Before Python 3.12 a read in a thread that runs already is told only by the error that reaches its reader.
    if consumer is not consumers.keep_futures or sys.version_info >= (3, 12):
        assert facts == ({"owned=False, limit=unset"} if options == {"owned": False} else {"strict"})


@pytest.mark.parametrize("level", ["trap", "paranoid", "poison", "census"])
@pytest.mark.parametrize("consumer", [consumers.copy_in_step, consumers.wrapped, consumers.stopping_early])
def test_correct_loaders_hear_nothing(
    checkpoint_files: list[Path], expected: dict[str, torch.Tensor], consumer: Consumer, level: str
) -> None:
    assert consumer in CORRECT
    activate(f"{level},strict")
    assert wrong_tensors(stream_through(checkpoint_files, consumer), expected) == []
    assert report.stale_reads() == []


def test_poison_leaves_the_memory_of_an_owning_stream_alone(
    checkpoint_files: list[Path], expected: dict[str, torch.Tensor]
) -> None:
    activate("poison,strict")
    kept = stream_through(checkpoint_files, dict)
    assert len(wrong_tensors(kept, expected)) == len(expected)
    activate("off")
    assert wrong_tensors(stream_through(checkpoint_files, dict), expected) == []


@pytest.mark.parametrize("imported_first", [True, False])
def test_the_iterators_of_an_engine(
    engine: str, checkpoint_files: list[Path], expected: dict[str, torch.Tensor], imported_first: bool
) -> None:
    files = [str(file) for file in checkpoint_files]
    if imported_first:
        imported(engine)
    activate("trap,strict")
    module = imported(engine)
    reads: Reads = consumers.keep_dict(module.runai_safetensors_weights_iterator(files, True))
    assert count_raises(reads) == (371, 371)
    (read,) = report.take_stale_reads()
    assert read.lease.contract.producer == f"{engine}.runai_safetensors_weights_iterator"
    assert count_raises(consumers.keep_dict(module.np_cache_weights_iterator(files))) == (371, 371)
    report.take_stale_reads()
    loaded = consumers.copy_in_step(module.runai_safetensors_weights_iterator(files, True))
    assert wrong_tensors(loaded, expected) == []
    assert module.filter_files(files) == files
    assert report.stale_reads() == []


def test_what_the_adapter_lends_is_left_to_it(engine: str, checkpoint_files: list[Path]) -> None:
    activate("trap,strict")
    files = [str(file) for file in checkpoint_files]
    reads = consumers.keep_dict(imported(engine).runai_safetensors_weights_iterator(files, False))
    assert count_raises(reads) == (371, 371)
    producers = {read.lease.contract.producer for read in report.take_stale_reads()}
    assert producers == {"runai-model-streamer 0.17.1"}


def test_without_strict_what_is_owned_stays_owned(
    engine: str, checkpoint_files: list[Path], expected: dict[str, torch.Tensor]
) -> None:
    files = [str(file) for file in checkpoint_files]
    for before in ("off", "trap,strict"):
        activate(before)
        module = imported(engine)
        activate("trap")
        kept: dict[str, torch.Tensor] = dict[str, torch.Tensor](module.np_cache_weights_iterator(files))
        assert wrong_tensors(kept, expected) == []
    assert report.stale_reads() == []


@pytest.mark.parametrize("value", ["strict", "1,strict", " Strict , TRAP "])
def test_spellings(checkpoint_files: list[Path], value: str) -> None:
    activate(value)
    kept: dict[str, torch.Tensor] = stream_through(checkpoint_files, dict)
    with pytest.raises(RuntimeError, match="LOADERLINT-E101"):
        kept["model.norm.weight"].sum()
    report.take_stale_reads()


@pytest.mark.parametrize("value", ["loud,strict", "trap,poison,strict", "trap,poison"])
def test_what_is_no_setting_is_named(value: str) -> None:
    with pytest.raises(GuardSettingError, match=r"activate\(level\)='"):
        activate(value)


def test_off_stays_off(checkpoint_files: list[Path], expected: dict[str, torch.Tensor]) -> None:
    activate("off,strict")
    kept: dict[str, torch.Tensor] = stream_through(checkpoint_files, dict)
    assert wrong_tensors(kept, expected) == []
