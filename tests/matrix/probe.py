"""Prints, as one line of JSON, which back end this torch gets at each level, and whether it does its work."""

from __future__ import annotations

import json
from collections.abc import Iterator

import torch

from loaderlint.runtime_guard import guard, poisoned
from loaderlint.runtime_guard.backends.choice import choose

_COUNT = 8


def reusing() -> Iterator[tuple[str, torch.Tensor]]:
    buffer = torch.empty(64)
    for number in range(_COUNT):
        yield f"layer.{number}", buffer.fill_(number)


def stale_reads_seen(level: str) -> int:
    """Return how many of eight tensors that were kept show it when they are read."""
    kept = dict(guard(reusing(), level))
    seen = 0
    for name, tensor in kept.items():
        try:
            seen += len(poisoned([(name, tensor.clone())]))
        except RuntimeError as error:
            seen += "LOADERLINT-E101" in str(error) or "Storage that is invalid" in str(error)
    return seen


def copies_right(level: str) -> int:
    return sum(
        int(tensor.clone().sum()) == 64 * place for place, (_, tensor) in enumerate(guard(reusing(), level))
    )


def main() -> None:
    levels = {
        level: [choose(level).backend.name, stale_reads_seen(level), copies_right(level)]
        for level in ("trap", "paranoid", "poison")
    }
    print(json.dumps({"torch": torch.__version__, "of": _COUNT, "levels": levels}))


if __name__ == "__main__":
    main()
