"""The first look at a file: its bytes. What the sieve rejects is never parsed."""

from __future__ import annotations

import re
from functools import cache

from loaderlint.linter.contracts import load_contracts

_MARKERS = (
    rb"(?:Itera(?:ble|tor)|Generator)\[\s*(?:\w+\.)?[Tt]uple\[",  # an annotated stream
    rb"(?:in|list|dict|tuple|sorted|set)[ (]\s*\w*weights(?:_iter(?:ator)?)?\b",  # iterating something so named
    rb"weights?_iter",
)


@cache
def _pattern() -> re.Pattern[bytes]:
    calls = {call.rpartition(".")[2] for call in load_contracts().producers}
    producers = [rb"\b" + re.escape(call.encode()) + rb"\(" for call in sorted(calls)]
    return re.compile(b"|".join([*_MARKERS, *producers]))


def may_handle_weights(data: bytes) -> bool:
    """Whether the file could hold a function that handles a weight stream; if not, nothing else looks at it."""
    return _pattern().search(data) is not None
