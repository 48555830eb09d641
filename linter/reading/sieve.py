"""The first look at a file: its bytes. What the sieve rejects is never parsed."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import groupby
from operator import attrgetter
from typing import NamedTuple

from loaderlint.linter.contracts import Contracts

# An annotated stream, and a loop over (or a copy of) something that is named like one.
_ANNOTATION = re.compile(rb"(?:Itera(?:ble|tor)|Generator)(?:\[| as )")
_USE = re.compile(
    rb"\b(?:in|list|dict|tuple|sorted|set)[ (]\s*\w*(?:weights?|tensors)(?:_(?:in|iter|iterator|stream|generator))?\b"
)
# What removes registered parameters from a module, in a file that also registers some.
_REMOVES = (b"delattr(", b"._parameters", b"._buffers")


_IMPORTED = re.compile(rb"import[ \t]*(\([^)]*\)|(?:[^\n\\]|\\\n)*)")
_NAME = re.compile(rb"[A-Za-z_]\w*|\*")


class _Mark(NamedTuple):
    """A name, what a use of it looks like, and what else the file has then (one of `needs`)."""

    name: bytes
    uses: tuple[bytes, ...]
    needs: tuple[bytes, ...] = ()

    def shows(self, data: bytes) -> bool:
        used = any(use in data for use in self.uses)
        return used and (not self.needs or any(need in data for need in self.needs))


class Sieve:
    """Tells from a file's bytes whether it is worth a closer look, under some contracts."""

    def __init__(self, contracts: Contracts) -> None:
        marks = sorted(set(_marks(contracts)))
        self._marks = {name: list(found) for name, found in groupby(marks, key=attrgetter("name"))}

    def may_handle_weights(self, data: bytes) -> bool:
        """Whether the file could hold a function that handles a weight stream; if not, nothing else looks at it."""
        # Plain substrings first: they are a hundred times faster than the patterns, and most files have none.
        if b"Tensor" in data and b"uple[" in data and _ANNOTATION.search(data):
            return True
        if (b"weight" in data or b"tensors" in data) and _USE.search(data):
            return True
        if b".register_" in data and any(mark in data for mark in _REMOVES):
            return True
        present = (marks for name, marks in self._marks.items() if name in data)
        return any(mark.shows(data) for marks in present for mark in marks)

    @staticmethod
    def imported(data: bytes) -> frozenset[str]:
        """The names that a file's imports mention, "*" among them: near enough to tell whether to look closer."""
        names = _NAME.findall(b" ".join(_IMPORTED.findall(data)))
        return frozenset(name.decode() for name in names)


def _marks(contracts: Contracts) -> Iterator[_Mark]:
    for name in contracts.loader_attributes:
        yield _Mark(name.encode(), (f".{name} = ".encode(), f'"{name}": '.encode()))
    for name in contracts.loader_tensors | contracts.loader_results:
        yield _Mark(name.encode(), (name.encode(),))
    for name in contracts.loader_after:
        # Of those that rework layers after loading, only what also gives parameters their loaders is judged.
        loaders = tuple(loader.encode() for loader in contracts.loader_attributes)
        yield _Mark(b"Parameter", (f"def {name}(".encode(),), loaders)
    for name in contracts.named("methods", "produce"):
        yield _Mark(name.encode(), (f"{name}(".encode(),))
    for call in contracts.lending_calls:
        # Only a file that mentions the library, or the module or class that has it, can mean the library's.
        *above, name = call.split(".")
        uses = (f"{name}(".encode(), f"{name} as ".encode())
        yield _Mark(name.encode(), uses, (above[0].encode(), above[-1].encode()))
