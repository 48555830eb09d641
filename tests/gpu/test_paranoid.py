"""Under paranoid the reader's own CUDA stream is held back: a race is found without a busy device."""

from __future__ import annotations

import pytest
import torch

from loaderlint.runtime_guard import guard

_SIZE = 1 << 20


def pinned_views() -> list[tuple[str, torch.Tensor]]:
    buffer = torch.ones(4 * _SIZE).pin_memory()
    return [(f"layer.{number}", view) for number, view in enumerate(buffer.split(_SIZE))]


@pytest.mark.parametrize("waits", [False, True])
@pytest.mark.parametrize("move", ["copy_", "to"])
def test_a_copy_from_pinned_memory_that_nobody_waits_for_reads_the_pattern(
    device: torch.device, move: str, waits: bool
) -> None:
    copies = torch.zeros(4, _SIZE, device=device)
    moved = []
    for place, (_, tensor) in enumerate(guard(iter(pinned_views()), "paranoid")):
        if move == "copy_":
            copies[place].copy_(tensor, non_blocking=True)
        else:
            moved.append(tensor.to(device, non_blocking=True))
        if waits:
            torch.cuda.current_stream().synchronize()
    torch.cuda.synchronize()
    result = torch.stack(moved) if moved else copies
    assert [bool(row.isnan().any()) for row in result] == [not waits] * 4


@pytest.mark.parametrize("waits", [False, True])
def test_a_read_on_a_side_stream_that_nobody_waits_for_reads_the_pattern(
    device: torch.device, waits: bool
) -> None:
    side = torch.cuda.Stream()
    buffer = torch.ones(4, _SIZE, device=device)
    copies = torch.zeros_like(buffer)
    torch.cuda.synchronize()
    for place, (_, tensor) in enumerate(
        guard(((f"layer.{row}", buffer[row]) for row in range(4)), "paranoid")
    ):
        side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side):
            copies[place].copy_(tensor)
        if waits:
            torch.cuda.current_stream().wait_stream(side)
    torch.cuda.synchronize()
    assert [bool(row.isnan().any()) for row in copies] == [not waits] * 4


def test_a_read_on_the_stream_of_the_producer_is_right(device: torch.device) -> None:
    buffer = torch.ones(4, _SIZE, device=device)
    rows = ((f"layer.{row}", buffer[row]) for row in range(4))
    copies = [tensor.clone() for _, tensor in guard(rows, "paranoid")]
    assert all(bool((copy == 1).all()) for copy in copies)
