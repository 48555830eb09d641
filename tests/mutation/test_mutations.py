"""The catalogue of deliberate breakages stays true: its places and tests exist, and some are tried."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest
from run import ROOT, Mutation, copied_tree, is_killed, mutations, stale_entries, status_of

from loaderlint.rules.registry import RULES

MUTATIONS = mutations()
each = pytest.mark.parametrize("mutation", MUTATIONS, ids=lambda mutation: mutation.breaks)
# One of the rules, one of the interpreter's core, one of how calls are followed.
SAMPLE = [MUTATIONS[0], MUTATIONS[len(MUTATIONS) // 2], MUTATIONS[-1]]


def test_there_are_enough_of_them_and_none_twice() -> None:
    assert len(MUTATIONS) >= 40
    counts = Counter((one.file, one.old, one.new) for one in MUTATIONS) + Counter(
        one.breaks for one in MUTATIONS
    )
    assert max(counts.values()) == 1


@each
def test_the_place_is_still_there(mutation: Mutation) -> None:
    text = (ROOT / mutation.file).read_text("utf-8")
    broken = mutation.broken(text)
    compile(broken, mutation.file, "exec")
    assert broken != text


def test_an_entry_that_does_not_fit_its_file_is_named(tmp_path: Path) -> None:
    there, gone = MUTATIONS[:2]
    for file in {there.file, gone.file}:
        (tmp_path / file).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / file).write_text(there.old)
    (line,) = stale_entries([there, replace(gone, old="gone")], tmp_path)
    assert gone.breaks in line and f"`old` stands 0 times in {gone.file}" in line
    assert len(stale_entries([replace(there, file="nowhere.py")], tmp_path)) == 1


def test_each_rule_about_loaders_is_broken_somewhere() -> None:
    named = " ".join(one.killed_by for one in MUTATIONS)
    assert [rule.code for rule in RULES if f"[{rule.code.lower()}: " not in named] == []


def test_the_named_tests_exist(pytestconfig: pytest.Config) -> None:
    with copied_tree() as tree:
        named = [one.killed_by for one in MUTATIONS]
        assert status_of([*named, "--collect-only"], tree) == 0


def test_some_of_them_are_noticed() -> None:
    with copied_tree() as tree:
        assert status_of([one.killed_by for one in SAMPLE], tree) == 0
        assert [one.breaks for one in SAMPLE if not is_killed(one, tree)] == []
