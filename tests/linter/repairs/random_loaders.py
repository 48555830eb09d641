"""Random loaders that keep tensors in many shapes, and the two streams that they are run on."""

from __future__ import annotations

import random
from collections.abc import Iterator

import torch

NAMES = ("a0", "b0", "a1", "b1", "c1", "a2", "c0", "b2")
HEAD = """\
from collections.abc import Iterable
from functools import partial

import torch


class Item:
    def __init__(self, name, tensor):
        self.name = name
        self.tensor = tensor


class Model:
    def put(self, name, tensor):
        self.params[name] = tensor.clone()

    def put_all(self, pairs):
        for name, tensor in pairs:
            self.put(name, tensor)

    def fuse(self, name, tensors):
        if len(tensors):
            self.put(name, torch.cat(tensors))

    def load_pair(self, name, first, second):
        self.put(name, first + second)

    def keep(self, into, tensor):
        into.append(tensor)

    def load(self, weights: Iterable[tuple[str, torch.Tensor]]):
"""
START = """\
kept, pairs, table, nested, pending, jobs = [], [], {}, {}, {}, []
last, previous, head, self.q, self.k = None, None, None, None, None
"""
TENSORS = (
    "weight", "weight", "weight", "weight.t()", "weight[:2]", "weight.chunk(2)[1]",
    "weight.detach().view(4, 4)", "weight.clone()", "(weight * 2)", "(weight)",
    "(weight if name > 'b' else weight.t())",
)  # fmt: skip
PAIR = ("(name, {t})", "(name, {t}, name[0])", "[name, {t}]")
CONDITIONS = (
    "name == 'a1'", "name.endswith('1')", "name < 'b'", "len(kept) > 2", "last is None", "head is None",
)  # fmt: skip
# What a step may do, with what later reads it.
STEPS: tuple[tuple[str, tuple[str, ...]], ...] = (
    ("kept.append({t})",
     ("self.fuse('kept', kept)", "for i, t in enumerate(kept): self.put(f'kept{{i}}', t)")),
    ("kept.append({t})\nif len(kept) == 3:\n    self.fuse(name + '.batch', kept)\n    kept = []",
     ("self.fuse('rest', kept)",)),
    ("kept += [{t}, {t}]", ("self.put('sum', sum(kept)) if kept else None",)),
    ("kept.extend(weight.chunk(2))", ("self.fuse('halves', kept)",)),
    ("kept.extend(part for part in weight.unbind(0))", ("self.fuse('rows', kept)",)),
    ("self.keep(kept, {t})", ("self.fuse('helped', kept)",)),
    ("for part in {t}.split(2):\n    kept.append(part)", ("self.fuse('parts', kept)",)),
    ("pairs.append((name, {t}))", ("self.put_all(pairs)", "for n, t in pairs: self.put(n + '.pair', t)")),
    ("entry = (name, {t})\npairs.append(entry)", ("self.put_all(pairs)",)),
    ("entry = name, {t}\nself.put(*entry)\npairs.append(entry)", ("self.put_all(pairs)",)),
    ("table[name] = {t}", ("for n in table: self.put(n + '.t', table[n])", "self.put_all(table.items())")),
    ("table[name] = ({t}, name[0], {t})", ("for n, (t, c, s) in table.items(): self.put(n + c, t + s)",)),
    ("table[name] = {{'t': {t}, 'n': name}}", ("for n in table: self.put(n + '.d', table[n]['t'])",)),
    ("table.update({{name: {t}}})", ("for n in table: self.put(n + '.u', table[n])",)),
    ("table.setdefault(name[0], []).append({t})",
     ("for n, ts in table.items(): self.put(n + '.s', sum(ts))",)),
    ("table[name] = weight.chunk(2)", ("for n, ts in table.items(): self.put(n + '.c', ts[0] + ts[1])",)),
    ("parts = weight.chunk(2)\ntable[name] = parts", ("for n in table: self.fuse(n + '.cc', table[n])",)),
    ("nested.setdefault(name[0], {{}})[name[1]] = {t}",
     ("for n in nested:\n    for m in nested[n]: self.put(n + m + '.n', nested[n][m])",)),
    ("key = name[0]\nif key in pending:\n    other = pending.pop(key)\n"
     "    self.load_pair(name + '.p', other, weight)\n"
     "else:\n    pending[key] = weight", ("self.put('left', sum(pending.values())) if pending else None",)),
    ("key = name[0]\nif key in pending:\n    other, n = pending.pop(key)\n"
     "    self.load_pair(n, other, weight)\n"
     "else:\n    current = (weight, name)\n    pending[key] = current", ("len(pending)",)),
    ("pending.setdefault(name[0], {{}})[name[1]] = {t}\nif len(pending[name[0]]) == 2:\n"
     "    parts = pending.pop(name[0])\n    self.put(name + '.f', torch.cat(list(parts.values())))",
     ("len(pending)",)),
    ("if last is not None:\n    self.load_pair(name + '.l', last, weight)\nlast = weight",
     ("self.put('last', last)",)),
    ("last = {t}", ("self.put('last', last)",)),
    ("last = (other := {t})", ("self.put('last', last)",)),
    ("first, last = weight.chunk(2)", ("self.put('half', last)",)),
    ("self.q, self.k = weight.chunk(2)", ("self.put('qk', self.q + self.k)",)),
    ("self.q, *rest = weight.unbind(0)", ("self.put('row', self.q)",)),
    ("head = weight if {c} else head", ("if head is not None: self.put('head', head)",)),
    ("head = head if {c} else {t}", ("if head is not None: self.put('head', head)",)),
    ("jobs.append(partial(self.put, name + '.j', {t}))", ("for job in jobs: job()",)),
    ("job = partial(self.put, name + '.j', {t})\njobs.append(job)", ("for job in jobs: job()",)),
    ("item = Item(name, {t})\njobs.append(item)",
     ("for job in jobs: self.put(job.name + '.i', job.tensor)",)),
    ("jobs.append(Item(name, {t}))", ("for job in jobs: self.put(job.name + '.i', job.tensor)",)),
    ("jobs.append({t}.numpy())",
     ("for i, job in enumerate(jobs): self.put(f'np{{i}}', torch.from_numpy(job.copy()))",)),
    ("previous = name, {t}", ("if previous: self.put(*previous)",)),
    ("if previous:\n    self.put(*previous)\nprevious = (name, {t})", ("if previous: self.put(*previous)",)),
    ("try:\n    table[name] = {t}\nfinally:\n    table[name + '.z'] = {t}", ("self.put_all(table.items())",)),
    ("self.put(name + '.now', {t})", ("len(kept)",)),
)  # fmt: skip
# The same with items that are not unpacked.
ITEM_STEPS: tuple[tuple[str, tuple[str, ...]], ...] = (
    ("pairs.append(item)", ("self.put_all(pairs)", "for n, t in pairs: self.put(n, t)")),
    ("pairs.append(item)\nif len(pairs) == 2:\n    self.put_all(pairs)\n    pairs = []",
     ("self.put_all(pairs)",)),
    ("kept.append(item[1])", ("self.fuse('items', kept)",)),
    ("if previous:\n    self.load_pair(previous[0], previous[1], item[1])\nprevious = item",
     ("self.put(*previous)",)),
    ("last = item[1][0]", ("self.put('last', last)",)),
    ("name, weight = item\ntable[name] = weight", ("self.put_all(table.items())",)),
    ("table[item[0]] = item", ("self.put_all(table.values())",)),
)  # fmt: skip
BEFORE = (
    "", "", "", "", "first_name, first = next(weights)", "first = next(weights)[1]",
    "item = next(weights)\nfirst = item[1]",
)  # fmt: skip
WHOLE = (
    "pairs = list(weights)\nself.put_all(pairs)",
    "pairs = [(name, weight) for name, weight in weights if {c}]\nself.put_all(pairs)",
    "kept = [weight for name, weight in weights if {c}]\nself.fuse('all', kept)",
    "table = dict(weights)\nfor n in table: self.put(n, table[n])",
    "table = {{name: weight for name, weight in weights}}\nfor n in table: self.put(n, table[n])",
    "pairs = list(weights)\nassert len(pairs)\nself.put_all(pairs)",
    "pairs = [item for item in weights]\nself.put_all(pairs[1:])",
    "table = {{name: weight.chunk(2) for name, weight in weights}}\nfor n in table: self.fuse(n, table[n])",
)  # fmt: skip


def random_loader(seed: int) -> str:
    """A file with a class `Model` whose `load` keeps what it gets in ways that depend on the seed."""
    chance = random.Random(seed)
    if chance.random() < 0.08:
        return HEAD + _indented(START + _filled(chance.choice(WHOLE), chance), 8)
    items = chance.random() < 0.2
    steps = [chance.choice(ITEM_STEPS if items else STEPS) for _ in range(chance.choice((1, 1, 2, 2, 3)))]
    body, after = [], []
    for step, reads in steps:
        text = _filled(step, chance)
        if not items and chance.random() < 0.35:
            text = f"if {chance.choice(CONDITIONS)}:\n{_indented(text, 4)}".rstrip("\n")
            if chance.random() < 0.4:
                text += f"\nelse:\n{_indented(_filled(chance.choice(STEPS)[0], chance), 4)}".rstrip("\n")
        body.append(text)
        after.append(chance.choice(reads).format())
    before = chance.choice(BEFORE)
    if before:
        after.append("self.put('first', first)")
        before = "weights = iter(weights)\n" + before + "\n"
    target = "item" if items else "name, weight"
    loop = f"for {target} in weights:\n{_indented(chr(10).join(body), 4)}"
    return HEAD + _indented(START + before + loop + "\n".join(after), 8)


def _filled(text: str, chance: random.Random) -> str:
    while "{t}" in text:
        text = text.replace("{t}", chance.choice(TENSORS), 1)
    while "{c}" in text:
        text = text.replace("{c}", chance.choice(CONDITIONS), 1)
    return text.replace("{{", "{").replace("}}", "}")


def _indented(text: str, spaces: int) -> str:
    return "".join(" " * spaces + line + "\n" for line in text.rstrip("\n").split("\n"))


def lending() -> Iterator[tuple[str, torch.Tensor]]:
    """Every tensor is a view of one buffer, which is written again in each step, and once more at the end."""
    buffer = torch.empty(4, 4)
    for place, name in enumerate(NAMES):
        buffer.copy_(torch.arange(16.0).reshape(4, 4) + 100 * 3**place)
        yield name, buffer[:]
    buffer.fill_(-1.0)


def owning() -> Iterator[tuple[str, torch.Tensor]]:
    """The same tensors, each with its own memory."""
    return ((name, tensor.clone()) for name, tensor in lending())


def loaded(code: str, stream: Iterator[tuple[str, torch.Tensor]]) -> dict[str, list[float]] | str:
    """The model's parameters after the load, or what the load raises."""
    space: dict[str, object] = {}
    exec(compile(code, "loader.py", "exec"), space)
    model = space["Model"]()
    model.params = {}
    try:
        model.load(stream)
    except Exception as error:  # Random steps do not always go together.
        return f"{type(error).__name__}: {error}"
    return {name: tensor.flatten().tolist() for name, tensor in model.params.items()}
