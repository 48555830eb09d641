"""guard(iterator): any producer that reuses its memory, and what a stale read looks like."""

from __future__ import annotations

import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from functools import partial
from pathlib import Path

import pytest
import torch

from loaderlint.runtime_guard import GuardSettingError, guard, poisoned, report

Named = tuple[str, torch.Tensor]


def reusing(count: int = 8, dtype: torch.dtype = torch.float32) -> Iterator[Named]:
    """A producer that writes each tensor into the same buffer."""
    buffer = torch.empty(4, 4, dtype=dtype)
    for number in range(count):
        buffer.copy_(torch.full((4, 4), number + 1))
        yield f"layer.{number}", buffer


READS: dict[str, Callable[[torch.Tensor], object]] = {
    "sum": lambda t: t.sum(),
    "clone": lambda t: t.clone(),
    "numpy": lambda t: t.numpy(),
    "copy_ from it": lambda t: torch.empty_like(t).copy_(t),
    "copy_ into it": lambda t: t.copy_(torch.zeros(4, 4)),
    "cat": lambda t: torch.cat([t, t]),
    "repr": repr,
    "index": lambda t: t[torch.tensor([0, 2])],
    "item": lambda t: t[0, 0].item(),
    "tolist": lambda t: t.tolist(),
    "data_ptr": lambda t: t.data_ptr(),
    "float": lambda t: t.double(),
    "add": lambda t: t + 1,
    "matmul": lambda t: t @ t,
    "view of a row": lambda t: t[1].sum(),
    "transpose": lambda t: t.t().contiguous(),
    "detach": lambda t: t.detach().mean(),
    "parameter": lambda t: torch.nn.Parameter(t).sum(),
    "bool": lambda t: bool(t[0, 0] > 0),
}
NO_READS: dict[str, Callable[[torch.Tensor], object]] = {
    "shape": lambda t: t.shape,
    "dtype": lambda t: t.dtype,
    "device": lambda t: t.device,
    "stride": lambda t: t.stride(),
    "row": lambda t: t[1],
    "view": lambda t: t.view(16),
    "parameter": lambda t: torch.nn.Parameter(t),
}


@pytest.mark.parametrize("read", READS.values(), ids=READS)
def test_reads_of_data_raise(read: Callable[[torch.Tensor], object]) -> None:
    kept = [tensor for _, tensor in guard(reusing())]
    for tensor in kept:
        with pytest.raises(RuntimeError, match="LOADERLINT-E101 read-after-advance layer"):
            read(tensor)


@pytest.mark.parametrize("look", NO_READS.values(), ids=NO_READS)
def test_looks_at_metadata_do_not_raise(look: Callable[[torch.Tensor], object]) -> None:
    for _, tensor in guard(reusing()):
        fresh = look(tensor)
        assert type(fresh) is type(look(torch.empty(4, 4)))
    kept = [tensor for _, tensor in guard(reusing())]
    for tensor in kept:
        look(tensor)
    assert report.stale_reads() == []


def test_a_read_in_another_thread_raises() -> None:
    kept = dict(guard(reusing()))
    caught: list[BaseException] = []

    def read() -> None:
        try:
            kept["layer.3"].sum()
        except RuntimeError as error:
            caught.append(error)

    thread = threading.Thread(target=read)
    thread.start()
    thread.join()
    assert "layer.3 (4, 4) float32" in str(caught[0])


def test_tensors_keep_values_attributes_and_layout_inside_the_lease() -> None:
    source = torch.arange(24.0).reshape(4, 6).t()
    source.mark = "streamed"
    source.untyped_storage().mark = "storage"
    for name, tensor in guard(iter([("w", source), ("scalar", torch.tensor(3.0)), ("wide", source[1:2])])):
        assert type(tensor) is torch.Tensor
        if name == "w":
            assert (tensor.mark, tensor.untyped_storage().mark) == ("streamed", "storage")
            assert tensor.stride() == source.stride()
            assert torch.equal(tensor, source)
            tensor.add_(1)  # writes reach the producer's memory, as without the guard
            assert source[0, 0] == 1
        if name == "scalar":
            assert tensor.item() == 3
        if name == "wide":
            assert torch.equal(tensor, source[1:2])


def test_tied_names_of_one_storage_are_leased_one_by_one() -> None:
    shared = torch.arange(8.0)
    stream = iter([("embed", shared), ("head", shared), ("part", shared[:3])])
    loaded = [tensor.clone() for _, tensor in guard(stream)]
    assert torch.equal(loaded[1], shared)
    assert torch.equal(loaded[2], shared[:3])
    assert report.stale_reads() == []


def test_the_last_tensor_is_valid_until_the_stream_is_exhausted_or_dropped() -> None:
    stream = guard(reusing(2))
    next(stream)
    _, last = next(stream)
    assert last.sum() == 32
    assert next(stream, None) is None
    with pytest.raises(RuntimeError, match="LOADERLINT-E101"):
        last.sum()
    stream = guard(reusing(2))
    _, first = next(stream)
    stream.close()
    del stream
    assert first.sum() == 16


@pytest.mark.parametrize("level", ["census", "trap", "poison", "paranoid"])
@pytest.mark.parametrize(
    "dtype",
    [
        torch.float64, torch.float32, torch.float16, torch.bfloat16, torch.float8_e4m3fn, torch.float8_e5m2,
        torch.float8_e4m3fnuz, torch.float8_e5m2fnuz, torch.complex64, torch.int64, torch.int32, torch.int16,
        torch.int8, torch.uint8, torch.bool,
    ],
)  # fmt: skip
def test_every_dtype_is_lent_and_comes_out_bit_identical(dtype: torch.dtype, level: str) -> None:
    values = torch.arange(64).reshape(1, 64).to(torch.float32).to(dtype)
    (copy,) = [tensor.clone() for _, tensor in guard(iter([("w", values.clone())]), level)]
    assert torch.equal(copy.view(torch.uint8), values.view(torch.uint8))
    assert poisoned([("w", copy)]) == []
    ((_, stale),) = list(guard(iter([("w", values.clone())]), level))
    if level == "census":
        assert torch.equal(stale.view(torch.uint8), values.view(torch.uint8))
    elif level != "poison":
        with pytest.raises(RuntimeError, match="LOADERLINT-E101"):
            stale.clone()
    elif dtype is not torch.bool:
        assert [entry.name for entry in poisoned([("w", stale)])] == ["w"]


def test_what_the_guard_cannot_stand_in_for_passes_through_and_is_named(
    capfd: pytest.CaptureFixture[str],
) -> None:
    odd = [
        ("empty", torch.empty(0, 3)),
        ("parameter", torch.nn.Parameter(torch.ones(2))),
        ("sparse", torch.eye(3).to_sparse()),
        ("meta", torch.empty(2, device="meta")),
    ]
    for (_, tensor), (_, handed) in zip(odd, guard(iter(odd)), strict=True):
        assert handed is tensor
    assert "tensors of kind Parameter on cpu are not guarded" in report.notes()


@pytest.mark.parametrize("level", ["trap", "poison"])
@pytest.mark.parametrize("surroundings", [torch.inference_mode, torch.no_grad, partial(torch.device, "meta")])
def test_loading_inside_the_usual_contexts(
    surroundings: Callable[[], AbstractContextManager], level: str
) -> None:
    with surroundings():
        loaded = [tensor.clone() for _, tensor in guard(iter(list(reusing_copies(3))), level)]
        kept = [tensor for _, tensor in guard(iter(list(reusing_copies(3))), level)]
    assert [tensor[0, 0].item() for tensor in loaded] == [1, 2, 3]
    if level == "poison":
        assert len(poisoned(("w", tensor) for tensor in kept)) == 3
        return
    for tensor in kept:
        with pytest.raises(RuntimeError, match="LOADERLINT-E101"):
            tensor.sum()


def reusing_copies(count: int) -> Iterator[Named]:
    for number in range(count):
        yield f"layer.{number}", torch.full((4, 4), number + 1.0, device="cpu")


def test_closing_early_closes_the_producer_and_exhausting_does_not() -> None:
    class Producer:
        closed = False

        def __init__(self) -> None:
            self._items = reusing_copies(3)

        def __iter__(self) -> Producer:
            return self

        def __next__(self) -> Named:
            return next(self._items)

        def close(self) -> None:
            self.closed = True

    exhausted, left = Producer(), Producer()
    assert len(list(guard(exhausted))) == 3
    stream = guard(left)
    next(stream)
    stream.close()
    assert (exhausted.closed, left.closed) == (False, True)


def test_off_returns_the_iterator_itself() -> None:
    stream = reusing()
    assert guard(stream, "off") is stream


def test_unknown_levels_and_items_are_named() -> None:
    with pytest.raises(
        GuardSettingError, match=r"guard\(level\)='loud' .* valid: trap \(or 1\), paranoid, poison"
    ):
        guard(reusing(), "loud")
    with pytest.raises(TypeError, match=r"needs \(name, tensor\) pairs, not int"):
        list(guard(iter([1, 2])))


def test_an_error_of_the_producer_passes_unchanged() -> None:
    def failing() -> Iterator[Named]:
        yield "a", torch.ones(2)
        raise OSError("disk gone")

    with pytest.raises(OSError, match="disk gone"):
        list(guard(failing()))


def test_message_has_the_three_places_and_the_repair(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(Path(__file__).parent)
    kept = {}
    for name, tensor in guard(reusing()):
        kept[name] = tensor
    with pytest.raises(RuntimeError) as caught:
        kept["layer.5"].sum()
    (seen,) = report.take_stale_reads()
    lines = str(caught.value).splitlines()
    here = Path(__file__).name
    where = "in test_message_has_the_three_places_and_the_repair:"
    what = "read-after-advance layer.5 (4, 4) float32"
    assert lines[0] == f"LOADERLINT-E101 {what} via guard(generator) [lent until the next step]"
    assert lines[1].startswith(f"  read at      {here}:")
    assert lines[1].endswith(f'{where} kept["layer.5"].sum()')
    for line, place in ((lines[2], "advanced at"), (lines[3], "yielded at ")):
        assert line.startswith(f"  {place}  {here}:")
        assert line.endswith(f"{where} for name, tensor in guard(reusing()):")
    assert lines[5].startswith("  repair       use the tensor before the next step, or keep a copy")
    assert lines[6].startswith("  guard        level trap, trap by")
    assert seen.text() == str(caught.value)


def test_the_consumer_behind_a_chain_of_generators_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(Path(__file__).parent)

    def engine_iterator() -> Iterator[Named]:
        yield from guard(reusing())

    kept = dict(engine_iterator())
    with pytest.raises(RuntimeError) as caught:
        kept["layer.0"].sum()
    assert "in engine_iterator: yield from guard(reusing())\n" in str(caught.value)
    assert "for " + Path(__file__).name in str(caught.value)
    assert ": kept = dict(engine_iterator())" in str(caught.value)


def test_swallowed_reads_at_one_place_are_one_report_with_a_count() -> None:
    kept = dict(guard(reusing(20)))
    for tensor in kept.values():
        try:
            tensor.sum()
        except RuntimeError:
            pass
    (seen,) = report.take_stale_reads()
    assert seen.count == 20
    assert seen.text().endswith("\n  count        20 stale reads here")


def test_showing_a_stale_tensor_in_a_failing_test_is_no_stale_read() -> None:
    from _pytest._io.saferepr import saferepr

    kept = dict(guard(reusing(20)))
    assert "raised in repr()" in saferepr(kept["layer.3"])
    assert report.stale_reads() == []


def test_importing_the_guard_imports_no_torch() -> None:
    code = (
        "import sys; from loaderlint.runtime_guard import activate; activate('trap'); import loaderlint\n"
        "assert not {'torch', 'numpy', 'loaderlint.linter', 'loaderlint.rules'} & set(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_the_guard_uses_nothing_of_the_linter() -> None:
    folder = Path(__file__).parents[2] / "runtime_guard"
    files = list(folder.rglob("*.py"))
    assert len(files) > 10
    for file in files:
        assert "loaderlint.linter" not in file.read_text() and "loaderlint.rules" not in file.read_text()
