"""What the guard sees at run time and what the linter says beforehand are the same."""

from __future__ import annotations

import pytest
from comparing import compare
from random_programs import HEAD, random_program

PROGRAMS = 400
PER_TEST = 50


@pytest.mark.parametrize("first", range(0, PROGRAMS, PER_TEST))
def test_random_loaders_read_stale_tensors_where_the_linter_says(first: int) -> None:
    wrong = 0
    for seed in range(first, first + PER_TEST):
        code = random_program(seed)
        result = compare(code)
        assert not result.disagreements, "\n".join((code, *result.disagreements))
        wrong += bool(result.findings)
    assert PER_TEST // 3 < wrong < PER_TEST


KEPT = """\
def load(weights: Iterable[tuple[str, torch.Tensor]], out: list) -> None:
    kept = []
    for name, weight in weights:
        kept.append(weight{})
    use_all(out, kept)
"""
PROLOGUE = HEAD[: HEAD.index("def load(weights")]


def test_a_stale_read_that_no_finding_explains_is_a_disagreement() -> None:
    assert compare(PROLOGUE + KEPT.format("")).disagreements == ()
    (line,) = compare(PROLOGUE + KEPT.format("").replace("(weight)", "(weight)  # noqa")).disagreements
    assert line.startswith("missed:")


def test_a_finding_that_no_run_shows_is_a_disagreement() -> None:
    assert compare(PROLOGUE + KEPT.format(".clone()")).disagreements == ()
    never = KEPT.format("").replace("    use_all", "    if len(kept) > 99:\n        use_all")
    (line,) = compare(PROLOGUE + never).disagreements
    assert line.startswith("false:")
