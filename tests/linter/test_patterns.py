"""No pattern of the linter backtracks more than linearly, whatever a user's file holds."""

from __future__ import annotations

import ast
import importlib
import pkgutil
import random
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import loaderlint.linter
import pytest
from steps import Steps, TooManySteps

from loaderlint.linter.reading import installing, offers

_ALPHABET = "aZ_0 #\n\\.,:;()[]=\"'|-x"
_SHORT, _TRIES = 120, 60
# Twice the text may cost so many times the steps. Quadratic patterns cost four times.
_GROWTH = 2.7


class _Asked(NamedTuple):
    """A pattern, and whether it is only asked at the beginning of a text."""

    pattern: str | bytes
    flags: int
    anchored: bool


def _of_modules() -> Iterator[tuple[str, _Asked]]:
    for module in pkgutil.walk_packages(loaderlint.linter.__path__, "loaderlint.linter."):
        if module.name.endswith(".__main__"):
            continue  # To import it is to run the command.
        loaded = importlib.import_module(module.name)
        text = Path(loaded.__file__ or "").read_text(encoding="utf-8")
        where = module.name.removeprefix("loaderlint.linter.")
        for name, value in vars(loaded).items():
            anchored = set(re.findall(rf"\b{name}\.(\w+)\(", text)) <= {"match", "fullmatch"}
            for pattern in value if isinstance(value, tuple) else (value,):
                if isinstance(pattern, re.Pattern) and f"\n{name}" in text:
                    yield f"{where}.{name}", _Asked(pattern.pattern, pattern.flags, anchored)
        yield from _written_in_calls(where, text)


def _written_in_calls(where: str, text: str) -> Iterator[tuple[str, _Asked]]:
    """The patterns that stand in a call of `re` in the middle of a function."""
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Call) and ast.unparse(node.func).startswith("re.") and node.args:
            pattern, asked = node.args[0], ast.unparse(node.func)
            if isinstance(pattern, ast.Constant) and isinstance(pattern.value, (str, bytes)):
                if asked != "re.compile":
                    yield f"{where}:{node.lineno}", _Asked(pattern.value, 0, asked in ("re.match", "re.fullmatch"))


def _made_of_names() -> Iterator[tuple[str, _Asked]]:
    yield "reading.offers._RENAMED", _Asked(offers._RENAMED % b"Base", 0, False)
    yield "reading.installing._INSTALLED", _Asked(installing._INSTALLED.format(name="weight_loader"), 0, False)


_PATTERNS = {asked: name for name, asked in (*_of_modules(), *_made_of_names())}


def _atoms(steps: Steps, nodes: list[Any]) -> Iterator[str]:
    """What a pattern is made of: its literal words, and for each class of characters some that are in it."""
    word = ""
    for node in nodes:
        kind = str(node[0])
        if kind == "LITERAL":
            word += chr(node[1])
            continue
        if word:
            yield word
        word = ""
        if kind in ("IN", "ANY", "NOT_LITERAL"):
            yield from [char for char in _ALPHABET if steps.accepts(node, char)][:3]
        for inner in _inside(node):
            yield from _atoms(steps, inner)
    if word:
        yield word


def _inside(node: Any) -> list[list[Any]]:
    kind, value = str(node[0]), node[1]
    if kind == "BRANCH":
        return [list(way) for way in value[1]]
    if kind in ("SUBPATTERN", "MAX_REPEAT", "MIN_REPEAT", "ASSERT", "ASSERT_NOT"):
        return [list(value[-1])]
    return []


def _growth(asked: _Asked) -> tuple[float, str]:
    """How much more steps the worst text costs, of those that are tried, when it is made twice as long; and the text."""
    steps, chance = Steps(asked.pattern, asked.flags), random.Random(7)
    atoms = sorted({*_atoms(steps, steps.tree), " ", "\n", "x"})
    worst = (0.0, "")
    for _ in range(_TRIES):
        first, last = (chance.choice([*atoms, ""]) for _ in range(2))
        pump = "".join(chance.choice(atoms) for _ in range(chance.randint(1, 4)))
        count = max(1, _SHORT // len(pump))
        try:
            short, long = (steps.taken_on(first + pump * n + last, asked.anchored) for n in (count, 2 * count))
        except TooManySteps:
            return float("inf"), first + pump
        worst = max(worst, (long / short, first + pump))
    return worst


@pytest.mark.parametrize("asked", _PATTERNS, ids=list(_PATTERNS.values()))
def test_twice_the_text_costs_about_twice_the_steps(asked: _Asked) -> None:
    growth, text = _growth(asked)
    assert growth < _GROWTH, f"{growth:.1f} times the steps on twice as much of {text!r}"


@pytest.mark.parametrize(
    "pattern",
    [
        r"[(,]\s*(?:#[^\n]*\s+)*weights\s*[,)=]",  # Each comment multiplies the time.
        r"\bclass\b(.*?)\)\s*:",
        r"(?:a+)+b",
        r"[A-Z]+[0-9]+",
        r"import (\([^)]*\)|x)",
    ],
)
def test_what_backtracks_more_is_noticed(pattern: str) -> None:
    growth, _ = _growth(_Asked(pattern, re.DOTALL.value, False))
    assert growth >= _GROWTH
