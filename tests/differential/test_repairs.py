"""Random loaders, repaired: the same is loaded from a stream that owns, and nothing stale from one that lends."""

from __future__ import annotations

import pytest
from random_programs import random_program
from repairing import repaired

PROGRAMS = 60
PER_TEST = 20


@pytest.mark.parametrize("first", range(0, PROGRAMS, PER_TEST))
def test_repaired_loaders_load_the_same_and_nothing_stale(first: int) -> None:
    changed = 0
    for seed in range(first, first + PER_TEST):
        result = repaired(random_program(seed))
        assert not result.wrong, f"{result.wrong}\n{result.code}"
        changed += result.changed
    assert changed > PER_TEST / 4
