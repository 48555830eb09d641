"""The guard for code under test: any iterator, asynchronous iterator or bucket of (name, tensor)."""

from __future__ import annotations

from collections.abc import AsyncIterator, Collection, Iterable, Iterator
from contextlib import AbstractContextManager, nullcontext
from typing import overload

from .lease import Contract
from .lending import Lender, Named, lend_async_stream, lend_bucket, lend_stream
from .levels import OFF, parse_level


@overload
def guard(
    iterator: Iterator[Named], level: str = ..., without_backends: Collection[str] = ...
) -> Iterator[Named]: ...


@overload
def guard(
    iterator: AsyncIterator[Named], level: str = ..., without_backends: Collection[str] = ...
) -> AsyncIterator[Named]: ...


def guard(
    iterator: Iterator[Named] | AsyncIterator[Named],
    level: str = "trap",
    without_backends: Collection[str] = (),
) -> Iterator[Named] | AsyncIterator[Named]:
    """Guard any iterator of (name, tensor) that reuses its memory, whatever its producer.

    Every tensor counts as lent until the next one is asked for; what `async for` reads is guarded likewise.
    A stale read raises RuntimeError with the report under `trap`, and reads a pattern under `poison`; `off`
    returns the iterator itself. Raises GuardSettingError for another level, and TypeError where the iterator
    yields something else.
    """
    chosen = parse_level(level, "guard(level)")
    if chosen == OFF:
        return iterator
    contract = Contract(
        producer=f"guard({type(iterator).__name__})",
        facts="lent until the next step",
        reason="guard() was asked to treat every tensor of this iterator as lent until the next step",
    )
    lend = lend_async_stream if hasattr(iterator, "__aiter__") else lend_stream
    return lend(iterator, _lender(contract, chosen, without_backends))


def guard_scope(
    pairs: Iterable[Named], level: str = "trap", without_backends: Collection[str] = ()
) -> AbstractContextManager[list[Named]]:
    """Guard a bucket: `with guard_scope(pairs) as lent` gives the list of pairs, lent until the block ends.

    For receivers that get a list of (name, tensor) at a time, whose memory is written again once the bucket
    is done. Levels and errors are those of `guard`; under `off` the list holds the tensors themselves.
    """
    chosen = parse_level(level, "guard_scope(level)")
    if chosen == OFF:
        return nullcontext(list(pairs))
    contract = Contract(
        producer=f"guard_scope({type(pairs).__name__})",
        facts="lent until the block ends",
        reason="guard_scope() was asked to treat every tensor of this bucket as lent until its block ends",
        ends="the block of guard_scope() ends",
    )
    return lend_bucket(pairs, _lender(contract, chosen, without_backends))


def _lender(contract: Contract, level: str, without_backends: Collection[str]) -> Lender:
    from .session import open_session

    return Lender(open_session(level, without_backends), contract)
