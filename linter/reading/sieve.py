"""The first look at a file: its bytes. What the sieve rejects is never parsed."""

from __future__ import annotations

import re

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


class Sieve:
    """Tells from a file's bytes whether it is worth a closer look, under some contracts."""

    def __init__(self, contracts: Contracts) -> None:
        calls = {call.rpartition(".")[2] for call in contracts.lending_calls}
        calls |= contracts.named("methods", "produce")
        uses = {name: (f"{name}(", f"{name} as ") for name in calls}
        uses |= {name: (f".{name} = ", f'"{name}": ') for name in contracts.loader_attributes}
        uses |= {name: (name,) for name in contracts.loader_tensors | contracts.loader_results}
        self._uses = [(name.encode(), [use.encode() for use in uses[name]]) for name in sorted(uses)]

    def may_handle_weights(self, data: bytes) -> bool:
        """Whether the file could hold a function that handles a weight stream; if not, nothing else looks at it."""
        # Plain substrings first: they are a hundred times faster than the patterns, and most files have none.
        if b"Tensor" in data and b"uple[" in data and _ANNOTATION.search(data):
            return True
        if (b"weight" in data or b"tensors" in data) and _USE.search(data):
            return True
        if b".register_" in data and any(mark in data for mark in _REMOVES):
            return True
        for name, uses in self._uses:
            if name in data and any(use in data for use in uses):
                return True
        return False

    @staticmethod
    def imported(data: bytes) -> frozenset[str]:
        """The names that a file's imports mention, "*" among them: near enough to tell whether to look closer."""
        names = _NAME.findall(b" ".join(_IMPORTED.findall(data)))
        return frozenset(name.decode() for name in names)
