from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from loaderlint.linter.edits import EditError, apply, keep_comments
from loaderlint.linter.findings import Applicability, Category, Edit, Finding, Fix, NoFix, Severity
from loaderlint.linter.reading.source import SourceFile, source_from_bytes


def source_of(text: str, encoding: str = "utf-8") -> SourceFile:
    return source_from_bytes("f.py", text.encode(encoding))


def edit_of(source: SourceFile, start: int, end: int, text: str) -> Edit:
    return Edit(*source.place(start), *source.place(end), text)


pieces = st.lists(st.sampled_from(["ab", "é", "𝛼", "\n", "\r\n", "\r", "\t", "\f", "# c", "\u2028"])).map(
    "".join
)


@given(pieces, st.booleans(), st.data())
def test_bytes_outside_the_edits_stay(text: str, mark: bool, data: st.DataObject) -> None:
    source = source_of(text, "utf-8-sig" if mark else "utf-8")
    places = [at for at in range(len(text) + 1) if text[at - 1 : at + 1] != "\r\n"]
    cuts = sorted(data.draw(st.lists(st.sampled_from(places), unique=True)))
    cuts = cuts[: len(cuts) // 2 * 2]
    ranges = list(zip(cuts[::2], cuts[1::2]))
    new_texts = [data.draw(st.sampled_from(["", "x", "ü y"])) for _ in ranges]
    edits = [edit_of(source, *where, new) for where, new in zip(ranges, new_texts)]
    outside = [text[end:start] for (_, end), (start, _) in pairwise([(0, 0), *ranges, (len(text), 0)])]
    expected = outside[0] + "".join(new + after for new, after in zip(new_texts, outside[1:]))
    result = source.with_text(apply(source, data.draw(st.permutations(edits))))
    assert result.raw == expected.encode("utf-8-sig" if mark else "utf-8")


def test_no_edit_changes_nothing() -> None:
    source = source_of("a\r\nb\rc")
    assert source.with_text(apply(source, [])).raw == source.raw


def test_new_lines_take_the_line_end_of_their_place() -> None:
    source = source_of("a\r\nb\rc\nd")
    insert = [Edit(line, 1, line, 1, "x\n") for line in (1, 2, 3, 4)]
    assert apply(source, insert) == "x\r\na\r\nx\rb\rx\nc\nx\nd"


def test_text_with_other_line_ends_takes_them_too() -> None:
    assert apply(source_of("a\nb\n"), [Edit(2, 1, 2, 1, "x\r\ny\rz\n")]) == "a\nx\ny\nz\nb\n"


def test_a_line_behind_the_end_can_be_added() -> None:
    assert apply(source_of("a\r\n"), [Edit(2, 1, 2, 1, "b\n")]) == "a\r\nb\r\n"


def test_insertions_at_one_place_keep_their_order() -> None:
    assert (
        apply(source_of("ab"), [Edit(1, 2, 1, 2, "1"), Edit(1, 2, 1, 3, "B"), Edit(1, 2, 1, 2, "2")])
        == "a12B"
    )


@pytest.mark.parametrize(
    "edits",
    [
        [Edit(1, 1, 1, 4, "x"), Edit(1, 3, 1, 5, "y")],
        [Edit(1, 1, 1, 4, "x"), Edit(1, 2, 1, 2, "y")],
        [Edit(1, 1, 1, 4, "x"), Edit(1, 1, 1, 4, "x")],
        [Edit(1, 3, 1, 2, "x")],
        [Edit(1, 1, 1, 99, "x")],
        [Edit(7, 1, 7, 1, "x")],
    ],
)
def test_edits_that_make_no_sense_are_refused(edits: list[Edit]) -> None:
    with pytest.raises(EditError):
        apply(source_of("abcdef\n"), edits)


def applicability(text: str, *edits: Edit) -> Applicability:
    finding = Finding(
        "LDR101", "n", Category.CORRECTNESS, Severity.ERROR, "f.py", 1, 1, 1, 2, "f", "m",
        fix=Fix(Applicability.SAFE, "t", edits),
    )  # fmt: skip
    [kept] = keep_comments(source_of(text), [finding])
    assert isinstance(kept.fix, Fix)
    return kept.fix.applicability


CALL = "load(list(  # all\n    weights  # all\n))\n"


def test_a_repair_that_loses_a_comment_is_unsafe() -> None:
    assert applicability(CALL, Edit(1, 6, 3, 2, "weights")) is Applicability.UNSAFE


def test_each_of_two_equal_comments_has_to_survive() -> None:
    assert applicability(CALL, Edit(1, 6, 3, 2, "weights  # all\n")) is Applicability.UNSAFE
    assert applicability(CALL, Edit(1, 6, 3, 2, "# all\nweights  # all\n")) is Applicability.SAFE


def test_a_comment_may_move_to_another_edit_of_the_repair() -> None:
    text = "a(w)  # why\nb\n"
    assert applicability(text, Edit(1, 1, 1, 12, ""), Edit(2, 1, 2, 1, "# why\n")) is Applicability.SAFE


@pytest.mark.parametrize("edit", [Edit(1, 6, 1, 10, "x"), Edit(2, 5, 2, 12, "x"), Edit(1, 1, 1, 1, "x")])
def test_comments_outside_the_edits_do_not_matter(edit: Edit) -> None:
    assert applicability(CALL, edit) is Applicability.SAFE


def test_a_string_is_no_comment() -> None:
    assert applicability('a("# why")\n', Edit(1, 1, 1, 11, "b")) is Applicability.SAFE


def test_a_finding_without_a_repair_stays_as_it_is() -> None:
    finding = Finding(
        "LDR101", "n", Category.HAZARD, Severity.WARNING, "f.py", 1, 1, 1, 2, "f", "m", fix=NoFix("r")
    )
    assert keep_comments(source_of("a  # b\n"), [finding]) == [finding]
