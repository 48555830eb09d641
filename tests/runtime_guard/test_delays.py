"""Which reads paranoid holds back on a GPU, told without one: only what a GPU would say is made up."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest
import torch

from loaderlint.runtime_guard import guard
from loaderlint.runtime_guard.delays import DelayReaders, race_of

_GPU = torch.device("cuda:0")


@pytest.fixture
def lent(monkeypatch: pytest.MonkeyPatch) -> Iterator[torch.Tensor]:
    """A tensor that is lent, of pinned memory as far as one can see."""
    stream = guard(iter([("w", torch.ones(4)), ("v", torch.ones(4))]), "paranoid")
    _, tensor = next(stream)
    monkeypatch.setattr(torch.Tensor, "is_pinned", lambda self: True)
    yield tensor
    stream.close()


@pytest.mark.parametrize(
    ("function", "arguments", "options", "device"),
    [
        (torch.Tensor.to, ("cuda:0",), {"non_blocking": True}, _GPU),
        (torch.Tensor.to, (_GPU, torch.float16, True), {}, _GPU),
        (torch.Tensor.to, ("cuda:0",), {}, None),
        (torch.Tensor.to, (torch.float16,), {"non_blocking": True}, None),
        (torch.Tensor.cuda, (0,), {"non_blocking": True}, _GPU),
        (torch.Tensor.sum, (), {"keepdim": True}, None),
        (torch.Tensor.shape.__get__, (), {}, None),
    ],
)
def test_copies_to_the_device_that_do_not_block_are_held_back(
    lent: torch.Tensor,
    function: Callable[..., Any],
    arguments: tuple[Any, ...],
    options: dict[str, Any],
    device: torch.device | None,
) -> None:
    for tensor in (lent, lent[1:]):
        race = race_of(function, (tensor, *arguments), options)
        assert (race and race.device) == device
    assert race_of(function, (torch.ones(4), *arguments), options) is None


def test_what_is_stale_is_left_to_the_trap() -> None:
    kept = dict(guard(iter([("w", torch.ones(4)), ("v", torch.ones(4))]), "paranoid"))
    assert race_of(torch.Tensor.to, (kept["w"], "cuda:0"), {"non_blocking": True}) is None


def test_the_stream_of_the_reader_sleeps_before_it_reads(
    lent: torch.Tensor, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[str] = []

    class Device:
        def __init__(self, device: torch.device) -> None:
            seen.append(str(device))

        def __enter__(self) -> None:
            """Nothing: a device that is there would become the current one."""

        def __exit__(self, *error: object) -> None:
            """Nothing."""

    monkeypatch.setattr(torch.cuda, "device", Device)
    monkeypatch.setattr(torch.cuda, "_sleep", lambda cycles: seen.append("sleeps"), raising=False)
    with DelayReaders():
        try:
            lent.to("cuda:0", non_blocking=True)
        except (AssertionError, RuntimeError):
            seen.append("copies")  # there is no device
        lent.clone()
    assert seen == ["cuda:0", "sleeps", "copies"]
