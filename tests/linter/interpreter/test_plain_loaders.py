"""A loader that is told by its syntax tree gets the findings that running it would give: random loaders, near to plain.

The shortcut is turned off for the comparison, so that everything is run.
"""

from __future__ import annotations

import random

import pytest
from loaderlint.linter import checking
from loaderlint.linter.engine import check_file
from loaderlint.linter.reading.source import source_from_bytes

LOADERS = 240
PER_TEST = 40

HEAD = """\
from collections.abc import Iterable, Iterator

import torch


def default_weight_loader(param, loaded_weight):
    param.data.copy_(loaded_weight)


def renamed(weights: Iterable[tuple[str, torch.Tensor]]) -> Iterator[tuple[str, torch.Tensor]]:
    for name, weight in weights:
        yield name.lower(), weight


def shown(weights: Iterable[tuple[str, torch.Tensor]]):
    return ((name.upper(), weight) for name, weight in weights)


class Base:
    def load_weights(self, weights: Iterable[tuple[str, torch.Tensor]]) -> set[str]:
        for name, weight in weights:
            default_weight_loader(self.params[name], weight)
        return set()

    def weight_loader(self, param, loaded_weight):
        param.data.copy_(loaded_weight)


class Model(Base):
"""
LOAD = "    def load_weights(self, weights: Iterable[tuple[str, torch.Tensor]]) -> set[str]:"
# Most hand a tensor on, or look at it; some keep it, or read what the step before has kept.
STEPS = (
    "param = self.params[name]", "name = name.replace('a', 'b')", "assert weight.dim() == 2", "print(weight.shape)",
    "default_weight_loader(param, weight)", "param.weight_loader(param, weight)", "param.data.copy_(weight)",
    "param.data[0] = weight", "self.weight_loader(param, weight)", "default_weight_loader(param, part)",
    "part = weight[0]", "part = weight.view(-1)", "part = weight.t().contiguous()", "weight = weight.view(-1)",
    "weight = torch.squeeze(weight)", "part = weight + 1", "part, rest = weight.chunk(2)", "part = None",
    "default_weight_loader(param, rest)", "weight = part", "part = rest", "last = weight", "last = part",
    "default_weight_loader(param, last)", "kept[name] = weight", "kept[name] = part", "self.last = weight",
    "param.data = weight", "param = torch.nn.Parameter(weight)", "weight += 1", "weight.mul_(2)", "part.add_(1)",
    "later = lambda: weight", "pairs = [piece for piece in weight]", "kept.update({name: part})",
    "weight.shard_id = 0", "param.data.copy_(weight, non_blocking=True)", "part = weight.clone()", "del weight",
    "weight = last", "self.take(weight)", "register(weight)", "continue", "break", "return set()",
)  # fmt: skip
BLOCKS = (
    "if name.endswith('scale'):", "if weight.dim() == 1:", "for piece in weight.chunk(2):", "while self.more():",
    "with torch.no_grad():", "for part in weight:",
)  # fmt: skip
YIELDS = ("yield name, weight", "yield name, part", "yield (name, last)", "yield name, [weight]")
ENDS = (
    "return set(kept)", "default_weight_loader(self.param, last)", "self.finish(kept)", "print(part)", "return set()",
    "default_weight_loader(self.param, weight)", "for name in kept: default_weight_loader(self.param, kept[name])",
)  # fmt: skip
READS = (
    "super().load_weights({})", "return super().load_weights({})", "loaded = Base().load_weights({})",
    "for name, weight in {}: default_weight_loader(self.params[name], weight)", "kept = dict({})", "return {}",
    "weights = renamed({}); super().load_weights(weights)", "weights = shown({}); kept = list(weights)",
    "if self.ready: super().load_weights({})", "other = {}; Base().load_weights(other)",
)  # fmt: skip


class Writer:
    """Writes one random loader."""

    def __init__(self, seed: int) -> None:
        self._chance = random.Random(seed)

    def loader(self) -> str:
        """A loop over the stream itself, or over what a function inside yields of it."""
        start = ["kept, last, part, rest, param = {}, None, None, None, self.param"]
        body = self._chance.choice((self._loop, self._closure, self._generator, self._handed_on))()
        lines = [LOAD, *_indented([*start, *body, *self._some(ENDS, 2)], 2)]
        return HEAD + "\n".join(lines) + "\n"

    def _loop(self, stream: str = "weights", yields: bool = False) -> list[str]:
        steps = self._steps(depth=2)
        if yields:
            steps += self._some(YIELDS, 1) or ["yield name, weight"]
        end = ["else:", *_indented(self._some(STEPS[:-3], 1), 1)] if self._chance.random() < 0.1 else []
        return [f"for name, weight in {stream}:", *_indented(steps, 1), *(end if len(end) > 1 else [])]

    def _closure(self) -> list[str]:
        setup = ["kept, last, part, rest, param = {}, None, None, None, self.param"]
        inner = ["def inner():", *_indented([*setup, *self._loop(yields=True)], 1)]
        return [*inner, self._chance.choice(READS).format("inner()")]

    def _generator(self) -> list[str]:
        setup = ["kept, last, part, rest, param = {}, None, None, None, self.param"]
        inner = ["def inner(given):", *_indented([*setup, *self._loop("given", yields=True)], 1)]
        return [*inner, self._chance.choice(READS).format("inner(weights)")]

    def _handed_on(self) -> list[str]:
        return [self._chance.choice(READS).format("weights")]

    def _steps(self, depth: int) -> list[str]:
        steps = []
        for _ in range(self._chance.randint(1, 4)):
            if depth and self._chance.random() < 0.2:
                steps += [self._chance.choice(BLOCKS), *_indented(self._steps(depth - 1), 1)]
            else:
                # The plain ones come first: they are drawn more often.
                steps.append(STEPS[int(len(STEPS) * self._chance.random() ** 1.6)])
        return steps

    def _some(self, lines: tuple[str, ...], most: int) -> list[str]:
        return self._chance.sample(lines, self._chance.randint(0, most))


def _indented(lines: list[str], depth: int) -> list[str]:
    return ["    " * depth + line for line in lines]


def findings(code: str) -> list[tuple[int, str]]:
    found = check_file(source_from_bytes("model.py", code.encode()))
    return sorted((finding.line, finding.code) for finding in found)


@pytest.mark.parametrize("first", range(0, LOADERS, PER_TEST))
def test_what_is_told_by_the_tree_is_what_running_finds(first: int, monkeypatch: pytest.MonkeyPatch) -> None:
    codes = [Writer(seed).loader() for seed in range(first, first + PER_TEST)]
    quick = [findings(code) for code in codes]
    monkeypatch.setattr(checking, "is_harmless", lambda function, project: False)
    for code, found in zip(codes, quick, strict=True):
        assert found == findings(code), code
    assert 2 <= quick.count([]) < PER_TEST  # Some are right, and some are not.
