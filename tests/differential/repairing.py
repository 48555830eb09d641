"""One program, repaired: does it still load the same from a stream that owns, and nothing stale from one that lends?"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

import torch
from watched_runs import PROGRAM, compiled, stale_reads

from loaderlint.linter.engine import findings_to_report
from loaderlint.linter.findings import Severity
from loaderlint.linter.fix_run import SAFE_AND_UNSAFE
from loaderlint.linter.fixing import repair
from loaderlint.linter.reading.source import source_from_bytes

NAMES = ("a.q.weight", "a.k.bias", "b.expert.q.weight", "a.expert.weight", "c.bias", "b.q.x", "a.y")
# What every test by chance answers, so that it does not matter when it is asked.
CHANCES = (0.1, 0.4, 0.6, 0.95)
RUNS = 6


@dataclass(frozen=True)
class Repaired:
    """The program after its repair, whether anything was repaired, and what is wrong with it; "" for nothing."""

    code: str
    changed: bool
    wrong: str


def repaired(code: str) -> Repaired:
    """Repair one program and run it. Raises what the program raises before its repair."""
    source = source_from_bytes(PROGRAM, code.encode())
    result = repair(source, findings_to_report(source), SAFE_AND_UNSAFE, findings_to_report)
    after = result.source.text
    return Repaired(after, after != code, _wrong(code, after, result.findings) if after != code else "")


def _wrong(before: str, after: str, left: list) -> str:
    for chance in CHANCES:
        right = _loaded(before, chance)
        try:
            got = _loaded(after, chance)
        except Exception as error:
            return f"fails: {type(error).__name__}: {error}"
        if got != right:
            return f"different: {sorted((right - got).elements())} is not loaded, {sorted((got - right).elements())} is"
    if not any(finding.severity is Severity.ERROR for finding in left):
        for run in range(RUNS):
            if reads := stale_reads(compiled(after), run):
                return f"stale: kept at one of {sorted(next(iter(reads)).kept)}"
    return ""


def _loaded(code: str, chance: float) -> Counter[object]:
    """How often each value is loaded, from a stream whose tensors own their memory."""
    scope: dict[str, object] = {}
    exec(
        compile(code.replace("from random import random", f"random = lambda: {chance}"), PROGRAM, "exec"),
        scope,
    )
    out: list[object] = []
    stream = ((name, torch.full((4, 4), 1.0) * 2**place) for place, name in enumerate(NAMES))
    scope["load"](stream, out)
    return Counter(out)
