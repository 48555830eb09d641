"""From a file to its repaired form: found by the interpreter, repaired, found no more, and loading right."""

from __future__ import annotations

import pytest
from repair_cases import checkpoint, equal, load

from loaderlint.linter.engine import check_file
from loaderlint.linter.findings import Applicability
from loaderlint.linter.fixing import Repair, repair
from loaderlint.linter.reading.source import source_from_bytes

ALL = frozenset({Applicability.SAFE, Applicability.UNSAFE})
HEAD = """\
import torch
from collections.abc import Iterable


class Model:
    def take(self, weights):
        for name, w in weights:
            self.params[name] = w.clone()

    def load(self, weights: Iterable[tuple[str, torch.Tensor]]):
"""

PARTITION = """
experts, normal = [], []
for name, w in weights:
    if ".experts." in name:
        experts.append((name, w))
    else:
        normal.append((name, w))
self.take(experts)
self.take(normal)
"""
INLINE = """
rest = []
for name, w in weights:
    if "experts" in name:
        self.params[name] = w.clone()
        continue
    rest.append((name, w))  # the model's own
for name, w in rest:
    self.params[name] = w.clone()
"""
SECOND_LIST = """
first, second = [], []
for name, w in weights:
    if len(name) > 1:
        first.append((name, w))
    else:
        second.append((name, w))
renamed = []
for name, w in first:
    renamed.append((name, w))
self.take(renamed)
self.take(second)
"""
LIST = """
everything = list(weights)
self.take(everything)
"""
COUNTED = """
everything = list(weights)
assert len(everything) == 4
self.take(everything)
"""
SORTED_AGAIN = """
everything = list(weights)
head, rest = None, []
for name, w in everything:
    if name == "a":
        head = (name, w)
    else:
        rest.append((name, w))
self.take([head])
self.take(rest)
"""
COMPREHENSION = """
wanted = [(name, w) for name, w in weights if name]
self.take(wanted)
"""
LOOKUP = """
table = {}
for name, w in weights:
    table[name] = w
for name in sorted(table):
    self.params[name] = table[name].clone()
"""
LOOK_BEHIND = """
previous = None
for name, w in weights:
    if previous is not None:
        self.params[previous[0]] = previous[1].clone()
    previous = (name, w)
self.params[previous[0]] = previous[1].clone()
"""
NAMES = ("a", "0.experts.w", "b", "1.experts.w")


def source_of(body: str, newline: str = "\n"):
    text = HEAD + "".join(f"        {line}\n" for line in body.strip().split("\n"))
    return source_from_bytes("model.py", text.replace("\n", newline).encode())


def repaired(body: str, newline: str = "\n") -> Repair:
    source = source_of(body, newline)
    return repair(source, check_file(source), ALL, check_file)


LOADERS = [PARTITION, INLINE, SECOND_LIST, LIST, COUNTED, SORTED_AGAIN, COMPREHENSION, LOOKUP, LOOK_BEHIND]


@pytest.mark.parametrize("body", LOADERS)
def test_a_loader_is_found_repaired_and_then_right(body):
    weights = checkpoint(*NAMES)
    before = source_of(body)
    after = repaired(body)
    assert check_file(before) and after.repaired
    assert not equal(load(before.text, weights), weights)
    # A repair may own the whole stream. That is right, and costs what LDR305 says.
    assert {finding.code for finding in after.findings} <= {"LDR305"} and not after.withdrawn
    assert equal(load(after.source.text, weights), weights)
    assert repair(after.source, check_file(after.source), ALL, check_file).source.text == after.source.text


@pytest.mark.parametrize("body", LOADERS)
def test_line_ends_stay_those_of_the_file(body):
    unix, dos = repaired(body).source.text, repaired(body, "\r\n").source.text
    assert dos == unix.replace("\n", "\r\n")


@pytest.mark.parametrize("body", LOADERS)
def test_what_the_repair_does_not_touch_is_the_same(body):
    after = repaired(body).source.text
    assert after.startswith(HEAD)
    assert all(comment in after for comment in ("# the model's own",) if comment in body)
