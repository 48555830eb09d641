"""The back ends: which one is chosen, what each does, and what is said when a level cannot be had."""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterator

import pytest
import torch

from loaderlint.runtime_guard import guard, poisoned, reads, report
from loaderlint.runtime_guard.backends import aliasing
from loaderlint.runtime_guard.backends.choice import choose
from loaderlint.runtime_guard.levels import POISON, TRAP

_HAS_MESSAGE = hasattr(torch._C, "_set_storage_data_ptr_access_error_msg")
_TRAPS = ("message", "poke", "flags")
_HAS_SWAP = hasattr(torch.UntypedStorage, "_swap_data_ptr_")


def stream() -> Iterator[tuple[str, torch.Tensor]]:
    """Two dtypes, a strided view, one storage for all."""
    block = torch.arange(1.0, 33.0).reshape(4, 8)
    yield "whole", block
    yield "columns", block[:, 1:3]
    yield "numbers", torch.arange(5)


def test_the_first_working_back_end_is_chosen_in_order() -> None:
    names = ["message", "poke", "flags", "swap", "copy"]
    chosen = [choose(TRAP, without=names[:left_out]).backend for left_out in range(5)]
    assert [backend.name for backend in chosen] == [
        "trap by torch's own message" if _HAS_MESSAGE else "trap by flags and message",
        "trap by flags and message",
        "trap by flags",
        "poison by a swapped data pointer" if _HAS_SWAP else "poison in a private copy",
        "poison in a private copy",
    ]
    assert [backend.raises for backend in chosen] == [True, True, True, False, False]
    with pytest.raises(RuntimeError, match="no back end is left for level trap"):
        choose(TRAP, without=names)


@pytest.mark.parametrize("without", [(), ("message",)])
def test_traps_with_a_message_traps_raise_the_report(without: tuple[str, ...]) -> None:
    assert choose(TRAP, without).shortfall == ""
    kept = dict(guard(stream(), without_backends=without))
    for tensor in kept.values():
        with pytest.raises(RuntimeError, match="LOADERLINT-E101"):
            tensor.sum()


@pytest.mark.parametrize("name", ["whole", "columns", "numbers"])
def test_the_trap_without_a_message_still_names_tensor_and_places(name: str) -> None:
    """torch's text is the same for all tensors; the guard looks for stale ones in the frames of the error."""
    kept = dict(guard(stream(), without_backends=("message", "poke")))
    message = str(error_of(lambda weight: weight.sum(), kept[name]))
    assert f"read-after-advance {name} " in message
    assert "in <lambda>: message = str(error_of(lambda weight: weight.sum(), kept[name]))\n" in message
    assert "level trap, trap by flags, lease" in message


def test_the_trap_without_a_message_says_so_where_several_tensors_could_be_meant() -> None:
    kept = dict(guard(stream(), without_backends=("message", "poke")))
    message = str(error_of(lambda weights: weights["columns"].sum(), kept))
    assert "read-after-advance one of 3 tensors such as numbers " in message


def error_of(read: Callable[..., object], value: object) -> RuntimeError:
    try:
        read(value)
    except RuntimeError as error:
        reads.observe_chain(error)
        return error
    raise AssertionError("the read did not raise")


@pytest.mark.parametrize("without", [_TRAPS, (*_TRAPS, "swap")])
def test_a_torch_that_cannot_trap_poisons_and_says_so(
    without: tuple[str, ...], capfd: pytest.CaptureFixture[str]
) -> None:
    kept = dict(guard(stream(), without_backends=without))
    shortfall = choose(TRAP, without).shortfall
    assert "level trap cannot be had with torch" in shortfall
    assert shortfall in report.notes()
    assert [(entry.name, entry.elements, entry.total) for entry in poisoned(kept.items())] == [
        ("whole", 32, 32), ("columns", 8, 8), ("numbers", 5, 5),
    ]  # fmt: skip


@pytest.mark.parametrize("without", [(), ("message",), ("message", "poke"), _TRAPS, (*_TRAPS, "swap")])
def test_no_back_end_disturbs_a_correct_loader(without: tuple[str, ...]) -> None:
    loaded = {name: tensor.clone() for name, tensor in guard(stream(), without_backends=without)}
    assert all(torch.equal(loaded[name], tensor) for name, tensor in stream())
    assert poisoned(loaded.items()) == [] and report.stale_reads() == []


def test_guard_never_poisons_the_producers_own_memory() -> None:
    """Without an adapter nobody has declared it free: tied or still sent memory would be destroyed."""
    owned = torch.ones(16)
    kept = dict(guard(iter([("a", owned), ("b", owned[:4])]), "poison"))
    assert torch.equal(owned, torch.ones(16))
    assert [entry.name for entry in poisoned(kept.items())] == ["a", "b"]


def test_trapped_storages_are_freed_without_harm() -> None:
    for _ in range(20):
        kept = dict(guard((str(number), torch.ones(100)) for number in range(200)))
        del kept
        gc.collect()
    assert choose(POISON).backend.name == "poison in place"


def test_poisoned_leaves_data_alone_that_only_looks_alike() -> None:
    honest = {
        "ones": torch.ones(1000, dtype=torch.bool),
        "minus one": torch.full((1000,), -1, dtype=torch.int64),
        "some 255": torch.tensor([[255] * 20] * 3, dtype=torch.uint8),
        "infinite": torch.tensor([float("inf")]),
        "empty": torch.empty(0),
        "scalar": torch.tensor(1.0),
    }
    assert poisoned(honest.items()) == []
    partly = torch.ones(3, 100)
    partly[1] = float("nan")
    assert poisoned([("partly", partly)]) == [("partly", 100, 300)]


def test_record_stream_on_a_view_of_an_alias_reaches_the_producers_tensor(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """What torch's allocator is told of device memory; tests/gpu shows that it matters."""
    told: list[object] = []
    monkeypatch.setattr(torch.Tensor, "record_stream", lambda tensor, stream: told.append((tensor, stream)))
    source, stranger = torch.ones(4), torch.ones(4)
    twin = aliasing.alias(source)
    aliasing._forward_record_stream(twin, source)  # done for device memory only, which the CPU stands in for
    twin[1:].record_stream("side")
    stranger.record_stream("side")
    assert told[0][0] is source and told[1][0] is stranger
    assert [stream for _, stream in told] == ["side", "side"]
