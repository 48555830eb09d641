"""How a loader is spelled changes nothing: a rewrite that means the same has the same findings."""

from __future__ import annotations

import ast
from collections.abc import Callable
from functools import cache

import pytest
from spec_cases import ALL_RULES, Case, all_cases
from transforms import (
    Transformed,
    alias_imports,
    annotate_streams,
    into_a_nested_function,
    rename_variables,
    unroll_comprehensions,
    wrapped,
)

from loaderlint.linter.engine import check_file
from loaderlint.linter.reading.source import source_from_bytes

Rewrite = Callable[[str], "Transformed | None"]

CASES = all_cases()
REWRITES: dict[str, Rewrite] = {
    "variables renamed": rename_variables,
    "imports renamed": alias_imports,
    "in if": wrapped("if True:"),
    "in try and finally": wrapped("try:", after=("finally:", "    pass")),
    "in with": wrapped("with contextlib.nullcontext():"),
    "in a nested function": into_a_nested_function,
}
# What these find lies in the statements of the very function that is asked, or that restores.
OF_ONE_FUNCTION = ("ldr501", "ldr502", "ldr503", "ldr504")


@cache
def found(code: str) -> list[tuple[int, str]]:
    source = source_from_bytes("loader.py", code.encode())
    return sorted((finding.line, finding.code) for finding in check_file(source, ALL_RULES))


def rewrites(*chosen: Rewrite) -> list[tuple[Case, Transformed]]:
    pairs = [(case, rewrite(case.code)) for case in CASES for rewrite in chosen]
    return [(case, result) for case, result in pairs if result is not None]


@pytest.mark.parametrize("rewrite", REWRITES)
def test_findings_do_not_depend_on_spelling(rewrite: str) -> None:
    pairs = rewrites(REWRITES[rewrite])
    assert len(pairs) > 20
    different = []
    for case, result in pairs:
        if rewrite == "in a nested function" and case.file in OF_ONE_FUNCTION:
            continue
        ast.parse(result.code)
        before = sorted((result.lines[line], code) for line, code in found(case.code))
        after = found(result.code)
        if before != after:
            different.append(f"{case.id}: {before} became {after} in\n{result.code}")
    assert not different, "\n".join(different)


def test_a_loop_that_appends_is_a_list_comprehension() -> None:
    pairs = rewrites(unroll_comprehensions)
    assert len(pairs) > 5
    for case, result in pairs:
        before = sorted(result.lines[line] for line, _ in found(case.code))
        assert sorted(line for line, _ in found(result.code)) == before, result.code


def test_an_annotation_of_a_stream_that_is_known_as_one_adds_nothing() -> None:
    pairs = [(case, result) for case, result in rewrites(annotate_streams) if found(case.code)]
    assert len(pairs) > 20
    for case, result in pairs:
        assert found(result.code) == found(case.code), result.code
