"""guard_scope(pairs) and asynchronous streams: leases that end with a block, or with a step of `async for`."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import torch

from loaderlint.runtime_guard import GuardSettingError, guard, guard_scope, poisoned, report

Named = tuple[str, torch.Tensor]


def bucket(count: int = 5) -> list[Named]:
    """Views of one buffer, as a receiver of flat buckets makes them."""
    buffer = torch.arange(4.0 * count)
    return [(f"layer.{number}", buffer[4 * number : 4 * number + 4]) for number in range(count)]


def test_a_bucket_is_lent_until_its_block_ends() -> None:
    kept = {}
    with guard_scope(bucket()) as lent:
        kept.update(lent)
        assert [tensor.sum().item() for tensor in kept.values()] == [6, 22, 38, 54, 70]
        assert [name for name, _ in lent] == [name for name, _ in bucket()]
    for name, tensor in kept.items():
        with pytest.raises(RuntimeError, match=f"LOADERLINT-E101 read-after-advance {name} "):
            tensor.sum()


def test_copies_out_of_a_bucket_are_silent_and_right() -> None:
    with guard_scope(bucket()) as lent:
        first = {name: tensor.clone() for name, tensor in lent}
        second = [tensor * 2 for _, tensor in lent]  # a bucket may be read more than once
    for (name, tensor), doubled in zip(bucket(), second, strict=True):
        assert torch.equal(first[name], tensor) and torch.equal(doubled, 2 * tensor)
    assert report.stale_reads() == []


def test_a_tied_tensor_and_an_empty_one_in_a_bucket() -> None:
    shared = torch.ones(3)
    with guard_scope([("embed", shared), ("head", shared), ("none", torch.empty(0))]) as lent:
        embed, head, none = (tensor for _, tensor in lent)
        assert torch.equal(embed, head)
    assert none.sum() == 0
    assert shared.sum() == 3
    for tensor in (embed, head):
        with pytest.raises(RuntimeError, match="LOADERLINT-E101"):
            tensor.sum()


def test_an_error_in_the_block_ends_the_leases_too() -> None:
    with pytest.raises(OSError, match="no such layer"), guard_scope(bucket()) as lent:
        raise OSError("no such layer")
    with pytest.raises(RuntimeError, match="LOADERLINT-E101"):
        lent[0][1].sum()


def test_the_message_of_a_bucket_names_its_block(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(Path(__file__).parent)
    with guard_scope(bucket()) as lent:
        pass
    with pytest.raises(RuntimeError) as caught:
        lent[2][1].sum()
    (seen,) = report.take_stale_reads()
    lines = str(caught.value).splitlines()
    here = Path(__file__).name
    assert lines[0].endswith("layer.2 (4,) float32 via guard_scope(list) [lent until the block ends]")
    for line, place in ((lines[2], "advanced at"), (lines[3], "yielded at ")):
        assert line.startswith(f"  {place}  {here}:")
        assert line.endswith("with guard_scope(bucket()) as lent:")
    assert lines[5].startswith(
        "  repair       use the tensor before the block of guard_scope() ends, or keep a"
    )
    assert seen.fields()["repair"] == lines[5].removeprefix("  repair       ")


def test_levels_of_a_bucket() -> None:
    plain = bucket()
    with guard_scope(plain, "off") as lent:
        assert all(handed is tensor for (_, handed), (_, tensor) in zip(lent, plain, strict=True))
    with guard_scope(bucket(), "poison") as lent:
        assert poisoned(lent) == []
    assert len(poisoned(lent)) == 5
    with pytest.raises(GuardSettingError, match=r"guard_scope\(level\)='loud'"):
        guard_scope(bucket(), "loud")
    with pytest.raises(TypeError, match=r"needs \(name, tensor\) pairs, not str"), guard_scope(["layer.0"]):
        pass


class Receiver:
    """An asynchronous stream that writes each tensor into the same buffer, and can be closed."""

    def __init__(self, count: int = 6) -> None:
        self._buffer = torch.empty(4)
        self._numbers = iter(range(count))
        self.closed = False

    def __aiter__(self) -> Receiver:
        return self

    async def __anext__(self) -> Named:
        await asyncio.sleep(0)
        number = next(self._numbers, None)
        if number is None:
            raise StopAsyncIteration
        return f"layer.{number}", self._buffer.fill_(number)

    async def aclose(self) -> None:
        self.closed = True


async def generated(count: int = 6) -> AsyncIterator[Named]:
    async for item in Receiver(count):
        yield item


@pytest.mark.parametrize("stream", [Receiver, generated])
def test_every_step_of_async_for_ends_a_lease(stream: type[Receiver]) -> None:
    async def keep() -> dict[str, torch.Tensor]:
        kept = {}
        async for name, tensor in guard(stream()):
            kept[name] = tensor
        return kept

    async def copy() -> list[float]:
        return [tensor.sum().item() async for _, tensor in guard(stream())]

    kept = asyncio.run(keep())
    assert len(kept) == 6
    for tensor in kept.values():
        with pytest.raises(RuntimeError, match="LOADERLINT-E101") as caught:
            tensor.sum()
        assert "in keep: async for name, tensor in guard(stream()):" in str(caught.value)
    report.take_stale_reads()
    assert asyncio.run(copy()) == [0, 4, 8, 12, 16, 20]
    assert report.stale_reads() == []


def test_leaving_async_for_early_closes_the_receiver_and_keeps_the_last_tensor_valid() -> None:
    receiver = Receiver()

    async def first() -> torch.Tensor:
        stream = guard(receiver)
        async for _, tensor in stream:
            break
        await stream.aclose()
        return tensor

    assert asyncio.run(first()).sum() == 0
    assert receiver.closed


def test_two_asynchronous_streams_at_once_are_leased_apart() -> None:
    async def load() -> float:
        total = 0.0
        async for _, tensor in guard(generated()):
            await asyncio.sleep(0)
            total += tensor.sum().item()
        return total

    async def both() -> list[float]:
        return await asyncio.gather(load(), load())

    assert asyncio.run(both()) == [60, 60]
    assert report.stale_reads() == []
