"""Lent pinned memory: a copy to the device may still read it when the stream moves on."""

from __future__ import annotations

import pytest
import torch

from loaderlint.runtime_guard import guard

_SIZE = 1 << 22


def pinned_views() -> list[tuple[str, torch.Tensor]]:
    buffer = torch.ones(2 * _SIZE).pin_memory()
    return [("first", buffer[:_SIZE]), ("second", buffer[_SIZE:])]


@pytest.mark.parametrize("waits", [False, True])
def test_a_copy_in_flight_is_exposed_unless_it_is_waited_for(
    device: torch.device, side: torch.cuda.Stream, waits: bool
) -> None:
    copies = torch.empty(2, _SIZE, device=device)
    for place, (_, tensor) in enumerate(guard(iter(pinned_views()), "poison")):
        assert tensor.is_pinned()
        with torch.cuda.stream(side):
            copies[place].copy_(tensor, non_blocking=True)
        if waits:
            side.synchronize()
    torch.cuda.synchronize()
    assert bool(copies.isnan().any()) is not waits


def test_pageable_memory_is_read_before_the_call_returns(device: torch.device) -> None:
    copy = torch.empty(_SIZE, device=device)
    torch.cuda._sleep(int(2e8))
    for _, tensor in guard(iter([("w", torch.ones(_SIZE))]), "poison"):
        copy.copy_(tensor, non_blocking=True)
    torch.cuda.synchronize()
    assert bool((copy == 1).all())


def test_a_copy_in_flight_keeps_its_pinned_block(device: torch.device, side: torch.cuda.Stream) -> None:
    """Under trap nothing is overwritten, and torch's allocator knows of the copy that still reads."""
    copies = torch.empty(2, _SIZE, device=device)
    for place, (_, tensor) in enumerate(guard(iter(pinned_views()))):
        with torch.cuda.stream(side):
            copies[place].copy_(tensor, non_blocking=True)
    del tensor
    torch.full((2 * _SIZE,), 9.0).pin_memory()
    torch.cuda.synchronize()
    assert bool((copies == 1).all())
