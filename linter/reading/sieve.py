"""The first look at a file: its bytes. What the sieve rejects is never parsed."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from loaderlint.linter.contracts import Contracts

# None of these patterns may look at a byte more than a fixed number of times, whatever a file holds.
# A type of iterables with the type of its items, and a loop over (or a copy of) something that is named like weights.
_ANNOTATION = re.compile(rb"(?:Itera(?:ble|tor)|Generator)(?: as |\[\s*[\"']?(?:\w+\.)*(?P<item>\w+))")
_NAMES = tuple(
    re.compile(word + rb"(?:_(?:in|iter|iterator|stream|generator))?\b")
    for word in (rb"weights?", rb"tensors")
)
_USE = re.compile(rb"\b(?:in|list|dict|tuple|sorted|set)[ (]\s*(?P<begun>\w*)\Z")
_NEAR = 100  # So many bytes lie at most between what uses a name and the name's end, or between a tuple's brackets.
# Items that are no tensors, and a parameter whose annotation, if there is one, says nothing about items.
_PLAIN = {b"int", b"str", b"float", b"bool", b"bytes", b"object", b"None", b"Any"}
_PARAMETER = re.compile(
    rb"[(,]\s*(\w+)\s*(?=[,)=]|:\s*[\"']?(?:\w+\.)*(?:Async)?(?:Itera\w+|Generator|Any|object)\b)"
)
# Where the header of a function begins and ends, and what may stand in it beside code.
_HEADER_EDGE = re.compile(rb"\b(?P<begins>def[ \t\\])|\)\s*(?::|->)")
_COMMENT = re.compile(rb"#[^\n]*")
# A name that a line gives to something, such as a type.
_GIVEN = re.compile(rb"^[ \t]*(?:type[ \t]+)?(\w+)[ \t]*(?:[:\[][^=\n]*)?=", re.MULTILINE)
_STEMS = (b"weight", b"tensor")
# What removes registered parameters from a module, in a file that also registers some.
_REMOVES = (b"delattr(", b"._parameters", b"._buffers")


_IMPORTED = re.compile(rb"import[ \t]*(\([^()]*\)|(?:[^\n\\]|\\\n)*)")
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
        # By name, and the names by what several have in common: most files have neither.
        self._marks: dict[bytes, dict[bytes, list[_Mark]]] = {}
        for mark in sorted(set(_marks(contracts))):
            stem = next((stem for stem in _STEMS if stem in mark.name), mark.name)
            self._marks.setdefault(stem, {}).setdefault(mark.name, []).append(mark)

    def may_handle_weights(self, data: bytes) -> bool:
        """Whether the file could hold a function that handles a weight stream; if not, nothing else looks at it."""
        # Plain substrings first: they are a hundred times faster than the patterns, and most files have none.
        if b"Tensor" in data and b"uple[" in data and _names_pairs(data):
            return True
        if (b"weight" in data or b"tensors" in data) and _takes_weights(data):
            return True
        if b".register_" in data and any(mark in data for mark in _REMOVES):
            return True
        present = (named for stem, named in self._marks.items() if stem in data)
        marks = (found for named in present for name, found in named.items() if name in data)
        return any(mark.shows(data) for found in marks for mark in found)

    @staticmethod
    def imported(data: bytes) -> frozenset[str]:
        """The names that a file's imports mention, "*" among them: near enough to tell whether to look closer."""
        names = _NAME.findall(b" ".join(_IMPORTED.findall(data)))
        return frozenset(name.decode() for name in names)


def _names_pairs(data: bytes) -> bool:
    """Whether an annotation may be that of a stream: its items are tuples, or have a name that the file gives them."""
    given: set[bytes] | None = None
    for match in _ANNOTATION.finditer(data):
        item = match["item"]
        if item is None:
            return True
        if item in (b"tuple", b"Tuple"):
            parts = data[match.end() : match.end() + _NEAR].partition(b"]")[0]
            if not _PLAIN.issuperset(_NAME.findall(parts)):
                return True
        elif item not in _PLAIN:
            given = set(_GIVEN.findall(data)) if given is None else given
            if item in given:
                return True
    return False


def _takes_weights(data: bytes) -> bool:
    """Whether what is used like weights, and named like them, is a parameter of some function."""
    names = set(_used_names(data))
    return bool(names) and any(not names.isdisjoint(_PARAMETER.findall(header)) for header in _headers(data))


def _used_names(data: bytes) -> Iterator[bytes]:
    """The names like those of weights that a loop, or a copy, is over."""
    for pattern in _NAMES:
        for match in pattern.finditer(data):
            use = _USE.search(data, max(0, match.start() - _NEAR), match.start())
            if use is not None:
                yield use["begun"] + match.group()


def _headers(data: bytes) -> Iterator[bytes]:
    """The headers of the file's functions, from `def` to the bracket that closes the parameters, without comments."""
    begun = -1
    for edge in _HEADER_EDGE.finditer(data):
        if edge["begins"]:
            begun = edge.start()
        elif begun >= 0:
            yield _COMMENT.sub(b"", data[begun : edge.start() + 1])
            begun = -1


def _marks(contracts: Contracts) -> Iterator[_Mark]:
    for name in contracts.loader_attributes:
        yield _Mark(name.encode(), (f".{name} = ".encode(), f'"{name}": '.encode()))
    for name in contracts.loader_tensors | contracts.loader_results:
        yield _Mark(name.encode(), (name.encode(),))
    for name in contracts.loader_after:
        # Of those that rework layers after loading, only what also gives parameters their loaders is judged.
        loaders = tuple(loader.encode() for loader in contracts.loader_attributes)
        yield _Mark(b"Parameter", (f"def {name}(".encode(),), loaders)
    for name in contracts.named("methods", "drain"):
        # One that says that it answers with names may hand on what gives none, whatever its stream is called.
        yield _Mark(name.encode(), (f"def {name}(".encode(),), (b"[str]",))
    for name in contracts.named("methods", "produce"):
        yield _Mark(name.encode(), (f"{name}(".encode(),))
    for call in contracts.lending_calls:
        # Only a file that mentions the library, or the module or class that has it, can mean the library's.
        *above, name = call.split(".")
        uses = (f"{name}(".encode(), f"{name} as ".encode())
        yield _Mark(name.encode(), uses, (above[0].encode(), above[-1].encode()))
