"""The first look at a file: its bytes. What the sieve rejects is never parsed."""

from __future__ import annotations

import re
from functools import cache

from loaderlint.linter.contracts import load_contracts

# An annotated stream, and a loop over (or a copy of) something that is named like one.
_ANNOTATION = re.compile(rb"(?:Itera(?:ble|tor)|Generator)\[\s*(?:\w+\.)?[Tt]uple\[")
_USE = re.compile(rb"\b(?:in|list|dict|tuple|sorted|set)[ (]\s*\w*weights(?:_iter(?:ator)?)?\b|weights?_iter")


@cache
def _marks() -> tuple[bytes, ...]:
    contracts = load_contracts()
    names = {call.rpartition(".")[2] for call in contracts.producers}
    names |= {name for name, effect in contracts.methods.items() if effect == "produce"}
    loaders = {f".{name} = " for name in contracts.weight_loader.get("attribute", ())}
    loaders |= contracts.weight_loader.get("tensor", frozenset())
    return tuple(name.encode() for name in sorted(loaders | {f"{name}(" for name in names}))


def may_handle_weights(data: bytes) -> bool:
    """Whether the file could hold a function that handles a weight stream; if not, nothing else looks at it."""
    # Plain substrings first: they are a hundred times faster than the patterns, and most files have none.
    if b"uple[" in data and _ANNOTATION.search(data):
        return True
    if b"weight" in data and _USE.search(data):
        return True
    return any(call in data for call in _marks())
