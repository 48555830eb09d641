"""guard_loader: a load_weights under test."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterable, Iterator

import pytest
import torch
from loaderlint.runtime_guard import GuardSettingError, guard_loader, report

Named = tuple[str, torch.Tensor]


def reusing() -> Iterator[Named]:
    buffer = torch.empty(4)
    for number in range(6):
        yield f"layer.{number}", buffer.fill_(number + 1)


class Model:
    def __init__(self) -> None:
        self.loaded: dict[str, torch.Tensor] = {}

    @guard_loader()
    def keep(self, weights: Iterable[Named]) -> float:
        kept = dict(weights)
        return sum(weight.sum().item() for weight in kept.values())

    @guard_loader("trap")
    def load_weights(self, weights: Iterable[Named], prefix: str = "") -> set[str]:
        for name, weight in weights:
            self.loaded[prefix + name] = weight.clone()
        return set(self.loaded)

    @guard_loader(parameter="stream")
    async def load_later(self, stream: AsyncIterator[Named]) -> None:
        kept = [weight async for _, weight in stream]
        kept[0].sum()


@pytest.mark.parametrize("weights", [reusing(), list(reusing())], ids=["iterator", "list"])
def test_a_loader_that_keeps_fails_at_its_read(weights: Iterable[Named]) -> None:
    with pytest.raises(RuntimeError, match="LOADERLINT-E101 read-after-advance layer.0"):
        Model().keep(weights)
    report.take_stale_reads()


def test_a_correct_loader_gets_its_arguments_and_returns_its_result() -> None:
    model = Model()
    assert model.load_weights(weights=reusing(), prefix="a.") == {f"a.layer.{number}" for number in range(6)}
    assert [weight[0].item() for weight in model.loaded.values()] == [1, 2, 3, 4, 5, 6]
    assert report.stale_reads() == []


def test_asynchronous_loaders() -> None:
    async def stream() -> AsyncIterator[Named]:
        for item in reusing():
            yield item

    with pytest.raises(RuntimeError, match="LOADERLINT-E101 read-after-advance layer.0"):
        asyncio.run(Model().load_later(stream()))
    report.take_stale_reads()


def test_what_cannot_be_guarded_is_named() -> None:
    with pytest.raises(
        TypeError, match=r"load\(model: 'Model'\) -> 'None' has no parameter 'weights' to guard"
    ):

        @guard_loader()
        def load(model: Model) -> None: ...

    @guard_loader("loud")
    def load_weights(weights: Iterable[Named]) -> None: ...

    with pytest.raises(GuardSettingError, match="'loud' is not a level"):
        load_weights(reusing())
