"""The rounds of repair, with a small checker of its own: every `bad...` call is a finding."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest

from loaderlint.linter.findings import Applicability, Category, Edit, Finding, Fix, NoFix, Severity
from loaderlint.linter.fixing import Repair, repair
from loaderlint.linter.reading.source import SourceFile, source_from_bytes

SAFE = frozenset({Applicability.SAFE})
Remedy = Callable[[SourceFile, re.Match[str]], Fix | NoFix]


def rename(source: SourceFile, match: re.Match[str], text: str = "good") -> Fix:
    edit = Edit(*source.place(match.start()), *source.place(match.end()), text)
    return Fix(Applicability.SAFE, f"rename {match[0]}", (edit,))


def checker(remedy: Remedy) -> Callable[[SourceFile], list[Finding]]:
    def check(source: SourceFile) -> list[Finding]:
        source.tree()
        found = []
        for match in re.finditer(r"bad\w*", source.text):
            place = (*source.place(match.start()), *source.place(match.end()))
            message = f"{match[0]} is used in line {place[0]}"
            found.append(
                Finding(
                    "LDR101", "n", Category.CORRECTNESS, Severity.ERROR, "f.py", *place, "f", message,
                    fix=remedy(source, match),
                )
            )  # fmt: skip
        return found

    return check


def run(text: str, remedy: Remedy, allowed: frozenset[Applicability] = SAFE) -> Repair:
    source = source_from_bytes("f.py", text.encode())
    check = checker(remedy)
    result = repair(source, check(source), allowed, check)
    again = repair(result.source, result.findings, allowed, check)
    assert again.source.raw == result.source.raw, "a second run changes something"
    assert again.repaired == 0
    return result


def test_all_findings_are_repaired() -> None:
    result = run("bad()\nx = bad() + bad()\n", rename)
    assert result.source.text == "good()\nx = good() + good()\n"
    assert (result.repaired, result.findings, result.withdrawn) == (3, [], [])


def test_one_repair_shared_by_several_findings_is_applied_once() -> None:
    def shared(source: SourceFile, match: re.Match[str]) -> Fix:
        edits = [rename(source, each).edits[0] for each in re.finditer(r"bad", source.text)]
        return Fix(Applicability.SAFE, "rename all", (Edit(1, 1, 1, 1, "import x\n"), *edits))

    result = run("a()\nbad()\nbad()\n", shared)
    assert result.source.text == "import x\na()\ngood()\ngood()\n"
    assert result.repaired == 2


def test_repairs_that_overlap_wait_for_the_next_round() -> None:
    def whole_line(source: SourceFile, match: re.Match[str]) -> Fix:
        line, _ = source.place(match.start())
        old = source.lines[line - 1].rstrip()
        return Fix(
            Applicability.SAFE, "t", (Edit(line, 1, line, len(old) + 1, old.replace(match[0], "good", 1)),)
        )

    assert run("x = bad1() + bad2() + bad3()\n", whole_line).source.text == "x = good() + good() + good()\n"


def test_the_same_insertion_of_two_repairs_is_made_once() -> None:
    def with_import(source: SourceFile, match: re.Match[str]) -> Fix:
        edit = rename(source, match).edits[0]
        if "import good" in source.text:
            return Fix(Applicability.SAFE, "t", (edit,))
        return Fix(Applicability.SAFE, "t", (Edit(1, 1, 1, 1, "import good\n"), edit))

    assert run("bad1()\nbad2()\n", with_import).source.text == "import good\ngood()\ngood()\n"


def test_repairs_that_are_not_allowed_are_left() -> None:
    def by_name(source: SourceFile, match: re.Match[str]) -> Fix | NoFix:
        kind = match[0].removeprefix("bad_")
        return NoFix("r") if kind == "none" else Fix(Applicability(kind), "t", rename(source, match).edits)

    text = "bad_safe()\nbad_unsafe()\nbad_display()\nbad_none()\n"
    result = run(text, by_name)
    assert result.source.text == "good()\nbad_unsafe()\nbad_display()\nbad_none()\n"
    assert len(result.findings) == 3
    result = run(text, by_name, frozenset({Applicability.SAFE, Applicability.UNSAFE}))
    assert result.source.text == "good()\ngood()\nbad_display()\nbad_none()\n"


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("good(", "the result would not be valid: syntax error: '(' was never closed"),
        ("bad1", "the finding would still be there"),
        ("bad_other", "the repair would only move the error"),
    ],
)
def test_a_repair_that_does_not_help_is_withdrawn_and_the_others_are_made(text: str, reason: str) -> None:
    def sometimes(source: SourceFile, match: re.Match[str]) -> Fix:
        return rename(source, match, text if match[0] == "bad1" else "good")

    result = run("bad()\nbad1()\nbad2()\n", sometimes)
    assert result.source.text == "good()\nbad1()\ngood()\n"
    assert [finding.line for finding in result.findings] == [2]
    [note] = result.withdrawn
    assert note.message == f"repair of LDR101 not applied: {reason}"
    assert note.line == 2


def test_edits_that_cannot_be_applied_are_withdrawn() -> None:
    def nowhere(source: SourceFile, match: re.Match[str]) -> Fix:
        return (
            rename(source, match)
            if match[0] == "bad"
            else Fix(Applicability.SAFE, "t", (Edit(9, 1, 9, 1, ""),))
        )

    result = run("bad()\nbad1()\n", nowhere)
    assert result.source.text == "good()\nbad1()\n"
    assert "f.py has no line 9" in result.withdrawn[0].message


def test_a_text_that_the_files_encoding_cannot_express_is_withdrawn() -> None:
    source = source_from_bytes("f.py", b"# coding: latin-1\nbad('\xe9')\n")
    check = checker(lambda source, match: rename(source, match, "gööd→"))
    result = repair(source, check(source), SAFE, check)
    assert result.source.raw == source.raw
    assert "iso-8859-1 cannot encode '→'" in result.withdrawn[0].message


def test_a_declaration_of_the_encoding_is_not_pushed_out_of_its_place() -> None:
    def two_imports(source: SourceFile, match: re.Match[str]) -> Fix:
        edits = (Edit(1, 1, 1, 1, "import a\nimport b\n"), rename(source, match).edits[0])
        return Fix(Applicability.SAFE, "t", edits)

    source = source_from_bytes("f.py", b"# coding: latin-1\nbad('\xe9')\n")
    check = checker(two_imports)
    assert repair(source, check(source), SAFE, check).source.raw == source.raw


def test_repairs_that_undo_each_other_end() -> None:
    swap = {"bad_a": "bad_b", "bad_b": "bad_a"}
    source = source_from_bytes("f.py", b"bad_a()\n")

    def check(source: SourceFile) -> list[Finding]:
        found = checker(lambda source, match: rename(source, match, swap[match[0]]))(source)
        return [
            Finding(
                "LDR302", one.name, Category.PERFORMANCE, Severity.WARNING, "f.py", one.line, one.column,
                one.end_line, one.end_column, "f", one.message, fix=one.fix,
            )
            for one in found
        ]  # fmt: skip

    result = repair(source, check(source), SAFE, check)
    assert "undo each other" in result.withdrawn[-1].message


@pytest.mark.parametrize("newline", ["\n", "\r\n", "\r"])
@pytest.mark.parametrize("end", ["", "end"])
@pytest.mark.parametrize("mark", [b"", b"\xef\xbb\xbf"])
def test_all_but_the_repaired_text_stays(newline: str, end: str, mark: bytes) -> None:
    text = newline.join(["s = 'é\f\x85'", "\fif s:", "\tbad()  # é", "", "x = 1\\", "  + 2   "]) + (
        newline if end else ""
    )
    source = source_from_bytes("f.py", mark + text.encode())
    check = checker(lambda source, match: rename(source, match, "good()\n\tthen"))
    result = repair(source, check(source), SAFE, check)
    assert result.source.raw == mark + text.replace("bad", f"good(){newline}\tthen").encode()
