"""Lent device memory: stale reads raise, what is queued already is not disturbed, racing readers are exposed."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
import torch

from loaderlint.runtime_guard import guard, report

_SIZE = 1 << 22
Named = tuple[str, torch.Tensor]


def staging(device: torch.device, count: int = 6) -> Iterator[Named]:
    """Views of two staging buffers on the device that take turns."""
    buffers = torch.empty(2, _SIZE, device=device)
    for number in range(count):
        yield f"layer.{number}", buffers[number % 2].fill_(number)


def test_kept_tensors_raise_and_copies_are_right(device: torch.device) -> None:
    kept = dict(guard(staging(device)))
    for name, tensor in kept.items():
        with pytest.raises(RuntimeError, match=f"LOADERLINT-E101 read-after-advance {name} "):
            tensor.sum()
    report.take_stale_reads()
    copies = [tensor.clone() for _, tensor in guard(staging(device))]
    assert [copy[0].item() for copy in copies] == [0, 1, 2, 3, 4, 5]
    assert report.stale_reads() == []


def test_a_copy_that_is_queued_before_the_advance_is_not_disturbed(device: torch.device) -> None:
    buffer = torch.ones(_SIZE, device=device)
    copy = torch.empty_like(buffer)
    torch.cuda._sleep(int(2e8))
    for _, tensor in guard(iter([("w", buffer)])):
        copy.copy_(tensor)
    assert bool((copy == 1).all())


@pytest.mark.parametrize("waits", [False, True])
def test_a_reader_on_a_side_stream_is_exposed_unless_it_is_waited_for(
    device: torch.device, side: torch.cuda.Stream, waits: bool
) -> None:
    copy = torch.empty(_SIZE, device=device)
    for _, tensor in guard(iter([("w", torch.ones(_SIZE, device=device))]), "poison"):
        with torch.cuda.stream(side):
            copy.copy_(tensor)
        if waits:
            torch.cuda.current_stream().wait_stream(side)
    torch.cuda.synchronize()
    assert bool(copy.isnan().any()) is not waits


def test_record_stream_reaches_the_producers_tensor(device: torch.device, side: torch.cuda.Stream) -> None:
    """Else the allocator would hand the block out again while the side stream still reads it."""
    source = torch.ones(_SIZE, device=device)
    copy = torch.empty_like(source)
    stream = guard(iter([("w", source)]))
    _, tensor = next(stream)
    with torch.cuda.stream(side):
        copy.copy_(tensor)
    tensor.record_stream(side)
    stream.close()
    del stream, tensor, source
    torch.zeros(_SIZE, device=device)
    torch.cuda.synchronize()
    assert bool((copy == 1).all())


@pytest.mark.parametrize("level", ["trap", "poison", "paranoid"])
@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float8_e4m3fn, torch.int8, torch.bool, torch.int64])
def test_what_is_copied_in_the_step_is_bit_identical(
    device: torch.device, dtype: torch.dtype, level: str
) -> None:
    source = torch.arange(256, device=device).reshape(16, 16).to(dtype)
    stream = guard(iter([("w", source), ("rows", source[2:5]), ("columns", source[:, 3:7])]), level)
    whole, rows, columns = (tensor.clone() for _, tensor in stream)
    fresh = torch.arange(256, device=device).reshape(16, 16).to(dtype)
    for copy, expected in ((whole, fresh), (rows, fresh[2:5]), (columns, fresh[:, 3:7])):
        assert torch.equal(copy.view(torch.uint8), expected.contiguous().view(torch.uint8))
