"""Random loaders: holders in the loops, branches and generators that real loaders use them in.

Every test is independent of the others (chance, or a part of the name that no other test of the program looks at),
so that each path through the program is taken in some run. Left out, because the two differ by nature there: tests
that depend on each other without asking the same variable, holders that are emptied item by item, keys that are
worked out twice and overwritten in the same step, one-item chunks (`islice(stream, 1)`), and the shapes that
`Holder` describes. Copies that may be none are warnings, threads read when they like, and arrays of numpy leave the
guard's sight: not here either.
"""

from __future__ import annotations

import random
from dataclasses import dataclass
from typing import Any

from holders import HOLDERS, Holder

HEAD = """\
from collections import defaultdict, deque
from collections.abc import Iterable, Iterator
from functools import partial, reduce
from itertools import chain, islice, pairwise
from random import random

import torch


def use(out: list, tensor: torch.Tensor) -> None:
    out.append(float(tensor.sum()))


def use_all(out: list, tensors: Iterable[torch.Tensor]) -> None:
    for tensor in tensors:
        use(out, tensor)


def keep(into, tensor):
    into.append(tensor)


def put(into, name, tensor):
    into[name] = tensor


def top(tensor):
    return tensor[0]


def owned(tensor):
    return tensor.detach().clone()


def loading(out, tensor):
    def job():
        use(out, tensor)

    return job


class Item:
    def __init__(self, name, tensor):
        self.name = name
        self.tensor = tensor

    def keep(self, tensor):
        self.tensor = tensor

    def load(self, out):
        use(out, self.tensor)


class Wrapped:
    def __init__(self, pairs):
        self.pairs = pairs

    def __iter__(self):
        for key, tensor in self.pairs:
            yield key, tensor


class Stepped:
    def __init__(self, pairs):
        self.pairs = iter(pairs)

    def __iter__(self):
        return self

    def __next__(self):
        return next(self.pairs)


class Ahead(Stepped):
    def __init__(self, pairs):
        super().__init__(pairs)
        self.ahead = None

    def __next__(self):
        found = self.ahead or next(self.pairs)
        self.ahead = next(self.pairs, None)
        return found


class Slots:
    def __init__(self):
        self.tensors = {}

    def __setitem__(self, key, tensor):
        self.tensors[key] = tensor

    def __getitem__(self, key):
        return self.tensors[key]

    def __call__(self, key, tensor):
        self.tensors[key] = tensor

    @property
    def all(self):
        return list(self.tensors.values())


class Copies(Slots):
    def __setitem__(self, key, tensor):
        self.tensors[key] = tensor.clone()


def load(weights: Iterable[tuple[str, torch.Tensor]], out: list) -> None:
"""
TENSORS = (
    "weight", "weight", "weight", "weight", "weight.t()", "weight[:2]", "weight.view(4, 4)", "weight.detach()",
    "weight.narrow(0, 1, 2)", "weight.chunk(2)[1]", "weight.clone()", "(weight * 2)", "weight.t().clone()",
    "(weight if random() < 0.5 else weight.t())", "torch.cat([weight, weight])", "top(weight)",
)  # fmt: skip
# Each looks at another part of the name.
NAME_TESTS = ("name[0] == 'a'", "'.q.' in name", "name.endswith('bias')", "'expert' in name")
STEPPED = ("for name, weight in Stepped(weights):\n", "for name, weight in Ahead(weights):\n")
# How a step gets its item; the step's statements follow in the loop's body.
LOOPS = (
    "for name, weight in weights:\n",
    "for name, weight in weights:\n",
    "for name, weight in weights:\n",
    "for item in weights:\n    name, weight = item\n",
    "for item in weights:\n    match item:\n        case [name, torch.Tensor() as weight]:\n            pass\n",
    "for item in weights:\n    match item:\n        case (name, weight) if len(name) > 1:\n            pass\n"
    "        case _:\n            continue\n",
    "for number, (name, weight) in enumerate(weights):\n    out.append(number)\n",
    "for (name, weight), number in zip(weights, range(99)):\n    out.append(number)\n",
    "for number, (name, weight) in zip(range(99), weights):\n    out.append(number)\n",
    "for name, weight in chain(weights, ()):\n",
    "for name, weight in filter(lambda item: len(item[0]) > 1, weights):\n",
    "for name, weight in map(lambda item: (item[0], item[1].t()), weights):\n",
    "for name, weight in ((key, tensor[:]) for key, tensor in weights):\n",
    "for name, weight in renamed(weights):\n",
    "for name, weight in islice(weights, 4):\n",
    "for name, weight in Wrapped(weights):\n",
    *STEPPED,
    "for (name, weight), later in pairwise(weights):\n    use(out, later[1])\n",
    "for earlier, (name, weight) in pairwise(weights):\n    out.append(len(earlier[0]))\n",
    "stream = iter(weights)\nwhile (item := next(stream, None)) is not None:\n    name, weight = item\n",
    "stream = iter(weights)\nwhile True:\n    item = next(stream, None)\n    if item is None:\n        break\n"
    "    name, weight = item\n",
    "stream = iter(weights)\nwhile True:\n    try:\n        name, weight = next(stream)\n"
    "    except StopIteration:\n        break\n",
    "for name, weight in list(weights):\n",
    "for name, weight in sorted(weights, key=lambda item: item[0]):\n",
    "for name, weight in dict(weights).items():\n",
    "for name, weight in [item for item in weights if random() < 0.7]:\n",
    "stream = iter(weights)\nwhile batch := list(islice(stream, 2)):\n    name, weight = batch[-1]\n",
)  # fmt: skip
RENAMED = """\
def renamed(pairs: Iterable[tuple[str, torch.Tensor]]) -> Iterator[tuple[str, torch.Tensor]]:
    for key, tensor in pairs:
        yield key.upper().lower(), tensor

"""
BEFORE = (
    "weights = iter(weights)\nhead, first = next(weights)",
    "weights = iter(weights)\nfirst = next(weights)[1]",
    "weights = iter(weights)\nfirst = next(weights)[1].clone()",
)


@dataclass(frozen=True)
class _Use:
    """One holder of a program: what the loop's steps do with it, and what comes after the loop."""

    name: str
    start: str
    steps: tuple[str, ...]
    after: tuple[str, ...]


class _Writer:
    """The choices of one program."""

    def __init__(self, seed: int) -> None:
        self._chance = random.Random(seed)
        self._tests = self._chance.sample(NAME_TESTS, len(NAME_TESTS))

    def program(self) -> str:
        """The whole file."""
        count = self._some(1, 1, 2, 2, 3)
        uses = [self._use(f"kept{place}", self._some(*HOLDERS)) for place in range(count)]
        lines = [use.start for use in uses]
        after = [read for use in uses for read in use.after]
        if self._one_in(6):
            lines.append(self._some(*BEFORE))
            after.append("use(out, first)")
        lines.append(self._side_lists(uses) if self._one_in(8) else self._looped(uses, after))
        return HEAD + _indented("\n".join([*lines, *after])) + "\n"

    def _use(self, name: str, holder: Holder) -> _Use:
        several = len(holder.keeps) > 1 and not holder.keyed
        keeps = self._chance.sample(holder.keeps, self._some(1, 1, 1, 2) if several else 1)
        drops = self._drops(holder, keeps)
        steps = [self._with_tensor(keep) for keep in keeps]
        if not (drops and holder.makes):
            steps = [self._maybe_wrapped(step) for step in steps]
        if self._one_in(3):
            steps.append(self._maybe_wrapped(self._some(*holder.reads)))
        steps += drops
        if self._one_in(8):
            steps.append(self._maybe_wrapped(self._with_tensor("use(out, {t})")))
        reads = holder.reads if len(keeps) > 1 else holder.reads + holder.takes
        after = [self._some(*reads) for _ in range(self._some(0, 1, 1, 2))]
        filled = [text.replace("{h}", name) for text in (holder.start, *steps, *after)]
        return _Use(name, filled[0], tuple(filled[1 : 1 + len(steps)]), tuple(filled[1 + len(steps) :]))

    def _drops(self, holder: Holder, keeps: list[str]) -> list[str]:
        # Where the variable may hold one of two objects, clearing the one that it holds proves nothing.
        rebound = any("{h} = " in keep for keep in keeps)
        drops = [drop for drop in holder.drops if "{h} = " in drop or not rebound]
        return [self._maybe_wrapped(self._some(*drops))] if drops and self._one_in(3) else []

    def _looped(self, uses: list[_Use], after: list[str]) -> str:
        # In a class's own `next()`, and in a pattern, the two name other places for a variable that a function captures.
        steps = "".join(step for use in uses for step in use.steps)
        captured = "loading(" in steps or "tensor=" in steps
        loop = self._some(
            *(loop for loop in LOOPS if not (captured and (loop in STEPPED or "match " in loop)))
        )
        body = [step for use in uses for step in use.steps]
        self._chance.shuffle(body)
        if self._one_in(6):
            body.insert(
                self._some(0, len(body)), f"if {self._test()}:\n    {self._some('break', 'continue')}"
            )
        text = loop + _indented("\n".join(body))
        if after and self._one_in(8):
            text += f"\nelse:\n{_indented(after.pop(0))}"
        if self._one_in(10):
            text = f"try:\n{_indented(text)}\nfinally:\n    out.append(0)"
        return (RENAMED if "renamed(" in loop else "") + text

    def _side_lists(self, uses: list[_Use]) -> str:
        """A generator that keeps some of the items, and yields the others."""
        names = ", ".join(use.name for use in uses)
        keeping = _indented("\n".join(step for use in uses for step in use.steps))
        picked = f"for name, weight in weights:\n    if {self._test()}:\n{_indented(keeping)}\n"
        picked += "    else:\n        yield name, weight"
        loop = "for name, weight in picked():\n    use(out, weight)\n    out.append(name)"
        if self._one_in(4):
            loop += f"\n    if {self._test()}:\n        break"
        return f"def picked():\n    nonlocal {names}\n{_indented(picked)}\n\n{loop}"

    def _with_tensor(self, text: str) -> str:
        return text.replace("{t}", self._some(*TENSORS))

    def _maybe_wrapped(self, text: str) -> str:
        kind = self._chance.random()
        if kind < 0.25:
            return f"if {self._test()}:\n{_indented(text)}"
        if kind < 0.32:
            return f"if {self._test()}:\n{_indented(text)}\nelse:\n    use(out, weight)"
        if kind < 0.37:
            return f"try:\n{_indented(text)}\nfinally:\n    out.append(name)"
        return text

    def _test(self) -> str:
        return self._tests.pop() if self._tests and self._one_in(3) else "random() < 0.5"

    def _one_in(self, count: int) -> bool:
        return self._chance.randrange(count) == 0

    def _some(self, *choices: Any) -> Any:
        return self._chance.choice(choices)


def random_program(seed: int) -> str:
    """A file whose function `load(weights, out)` keeps and reads what it is lent in ways that `seed` decides."""
    return _Writer(seed).program()


def _indented(text: str) -> str:
    return "\n".join("    " + line if line else line for line in text.split("\n"))
