"""Streams put into a collection: iterate the stream instead, or own all where the collection is needed."""

from __future__ import annotations

import pytest
from repair_cases import Kept, Lender, checkpoint, equal, load, repair

from loaderlint.linter.findings import Applicability, NoFix
from loaderlint.linter.interpreter.events import Holder

TAKE = """
    def take(self, weights):
        for name, w in weights:
            self.params[name] = w.clone()

    def mapping(self):
        return {}
"""


def model(*body: str) -> str:
    return (
        "class Model:\n    def load(self, weights):\n" + "".join(f"        {line}\n" for line in body) + TAKE
    )


def materialized(code: str = "list(weights)", tensor: str = "list(weights)") -> Kept:
    return Kept(Holder.MATERIALIZED, code, code, tensor)


def body(repaired) -> list[str]:
    lines = repaired.after.split("\n")
    return [line[8:] for line in lines[2 : lines.index("    def take(self, weights):") - 1]]


LAZY = [
    (
        ["for name, w in list(weights):", "    self.take([(name, w)])"],
        ["for name, w in weights:", "    self.take([(name, w)])"],
    ),
    (
        ["ws = list(weights)", "for name, w in ws:", "    self.take([(name, w)])"],
        ["for name, w in weights:", "    self.take([(name, w)])"],
    ),
    (["weights = list(weights)  # all", "self.take(weights)"], ["self.take(weights)"]),
    (["ws: list = list(weights)", "self.take(weights=ws)"], ["self.take(weights=weights)"]),
    (
        ["for i, (name, w) in enumerate(list(weights)):", "    self.take([(name, w)])"],
        ["for i, (name, w) in enumerate(weights):", "    self.take([(name, w)])"],
    ),
    (["self.take(list(weights))"], ["self.take(weights)"]),
]


@pytest.mark.parametrize(("before", "after"), LAZY)
def test_a_needless_list_is_dropped(before, after):
    repaired = repair(model(*before), materialized())
    assert repaired.fix.applicability is Applicability.SAFE
    assert body(repaired) == after
    weights = checkpoint("a", "b", "c")
    assert not equal(load(repaired.before, weights), weights)
    lender = Lender(weights)
    assert equal(load(repaired.after, weights, lender), weights)
    assert lender.peak <= len(weights)  # What the model has loaded, and nothing beside it.


def test_an_unknown_callee_makes_it_unsafe():
    repaired = repair(model("return self.inner.load_weights(list(weights))"), materialized())
    assert repaired.fix.applicability is Applicability.UNSAFE
    assert body(repaired) == ["return self.inner.load_weights(weights)"]


def test_a_generator_expression_keeps_its_parentheses():
    code = "list((n, w) for n, w in weights)"
    repaired = repair(model(f"ws = {code}", "self.take(ws)"), materialized(code))
    assert body(repaired)[0] == "ws = ((n, w) for n, w in weights)"


@pytest.mark.parametrize(
    "lines",
    [
        ["ws = list(weights)", "print(len(ws))", "self.take(ws)"],
        ["ws = list(weights)", "print(ws[0][0])"],
        ["ws = list(weights)", "for _ in range(2):", "    self.take(ws)"],
        ["ws = list(weights)", "self.take(ws)", "self.take(ws)"],
        ["ws = list(weights)", "run = lambda: self.take(ws)"],
        ["ws = list(weights)", "self.take(weights)", "self.take(ws)"],
        ["ws = list(weights)", "weights = None", "self.take(ws)"],
        ["ws = list(weights)", "has = [n for n, _ in ws]", "self.take(ws)"],
        ["with self.open(weights):", "    ws = list(weights)", "self.take(ws)"],
        ["for name, w in list(weights):", "    print(next(weights))"],
    ],
)
def test_a_list_that_is_needed_is_owned(lines):
    repaired = repair(model(*lines), materialized())
    assert repaired.fix.applicability is Applicability.UNSAFE
    assert (
        repaired.fix.title == "own every tensor of `weights`: this holds the whole checkpoint in host memory"
    )
    assert '[(name, tensor.detach().to("cpu", copy=True)) for name, tensor in weights]' in repaired.after


def test_owning_a_whole_stream_loads_right():
    weights = checkpoint("a", "b", "c")
    lines = ["ws = list(weights)", "assert len(ws) == 3", "self.take(ws)"]
    repaired = repair(model(*lines), materialized())
    assert not equal(load(repaired.before, weights), weights)
    assert equal(load(repaired.after, weights), weights)
    lines = ["table = dict(weights)", "self.take((name, table[name]) for name in sorted(table))"]
    repaired = repair(model(*lines), materialized("dict(weights)"))
    assert (
        body(repaired)[0]
        == 'table = {name: tensor.detach().to("cpu", copy=True) for name, tensor in weights}'
    )
    assert equal(load(repaired.after, weights), weights)


@pytest.mark.parametrize(
    ("code", "reason"),
    [
        ("sorted(weights)", "`sorted(...)` needs the whole stream, and its order may matter"),
        (
            "(*[], *weights)",
            "`Tuple` builds a collection that is looked up, not only iterated",
        ),
    ],
)
def test_refusals_say_why(code, reason):
    repaired = repair(model(f"ws = {code}", "self.take(ws)"), materialized(code))
    assert isinstance(repaired.repairs[0], NoFix)
    assert repaired.reason == reason
    assert repaired.after == repaired.before


COMPREHENSION = "[(n, w) for n, w in weights if n != 'skip']"


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ([f"ws = {COMPREHENSION}", "return self.take(ws)"], f"ws = ({COMPREHENSION[1:-1]})"),
        ([f"weights = {COMPREHENSION}", "self.take(weights)"], f"weights = ({COMPREHENSION[1:-1]})"),
        ([f"self.take({COMPREHENSION})"], f"self.take({COMPREHENSION[1:-1]})"),
        ([f"self.take(weights={COMPREHENSION})"], f"self.take(weights=({COMPREHENSION[1:-1]}))"),
        (
            [f"for n, w in {COMPREHENSION}:", "    self.take([(n, w)])"],
            f"for n, w in ({COMPREHENSION[1:-1]}):",
        ),
    ],
)
def test_a_list_comprehension_becomes_a_generator_expression(before, after):
    repaired = repair(model(*before), materialized(COMPREHENSION, "w"))
    assert repaired.fix.applicability is Applicability.SAFE
    assert body(repaired)[0] == after
    weights = checkpoint("a", "skip", "b")
    wanted = {name: weights[name] for name in "ab"}
    assert not equal(load(repaired.before, weights), wanted)
    assert equal(load(repaired.after, weights), wanted)


def test_a_comprehension_over_lines_keeps_its_comments():
    lines = ["ws = [", "    # names first", "    (n, w) for n, w in weights", "]", "self.take(ws)"]
    repaired = repair(
        model(*lines), materialized("[\n    # names first\n    (n, w) for n, w in weights\n]", "w")
    )
    assert body(repaired) == [
        "ws = (",
        "    # names first",
        "    (n, w) for n, w in weights",
        ")",
        "self.take(ws)",
    ]


def test_a_comprehension_that_calls_something_is_unsafe():
    code = "[(self.rename(n), w) for n, w in weights]"
    repaired = repair(model(f"self.take({code})"), materialized(code, "w"))
    assert repaired.fix.applicability is Applicability.UNSAFE


@pytest.mark.parametrize(
    "lines",
    [
        [
            "table = self.mapping()",
            "ws = [(table.get(n, n), w) for n, w in weights]",
            "table = None",
            "self.take(ws)",
        ],
        ["ws = [(n, w) for n, w in weights]", "ws.sort()", "self.take(ws)"],
        [
            "seen = set()",
            "ws = [(n, w) for n, w in weights if n not in seen]",
            "for n, w in ws:",
            "    seen.add(n)",
        ],
        ["last = ''", "ws = [(n, w) for n, w in weights if n != last]", "for n, w in ws:", "    last = n"],
        ["skip = {}", "for n, w in [(n, w) for n, w in weights if n not in skip]:", "    skip[n] = 1"],
        ["ws = [(n, w) for n, w in weights]", "self.first = ws[0]"],
        ["self.ws = [(n, w) for n, w in weights]", "self.take(self.ws)"],
    ],
)
def test_a_comprehension_that_has_to_stay_owns_its_tensors(lines):
    code = next(line[line.index("[") : line.rindex("]") + 1] for line in lines if "[(" in line)
    repaired = repair(model(*lines), materialized(code, "w"))
    assert repaired.fix.applicability is Applicability.UNSAFE
    assert "whole checkpoint" in repaired.fix.title
    assert 'w.detach().to("cpu", copy=True)) for' in repaired.after or "w.clone()" in repaired.after
