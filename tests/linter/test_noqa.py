from __future__ import annotations

import pytest

from loaderlint.linter.findings import Category, Finding, Severity
from loaderlint.linter.reading.source import source_from_bytes
from loaderlint.linter.suppressions import unsuppressed


def silenced(text: str, line: int = 1, code: str = "LDR102") -> bool:
    finding = Finding(code, "n", Category.CORRECTNESS, Severity.ERROR, "f.py", line, 1, line, 2, "f", "m")
    return unsuppressed(source_from_bytes("f.py", text.encode()), [finding]) == []


@pytest.mark.parametrize(
    "comment",
    [
        "# noqa",
        "# NoQA",
        "# noqa: LDR102",
        "# noqa:ldr102",
        "# noqa: E501, LDR102",
        "# noqa: E501 LDR102,",
        "# noqa: LDR1",
        "# noqa: LDR102 because the stream owns it",
        "# type: ignore  # noqa: LDR102",
        "# noqa : LDR999",  # As flake8: no codes are read behind a space, so every code is silenced.
    ],
)
def test_these_comments_silence(comment: str) -> None:
    assert silenced(f"kept.append(w)  {comment}\n")


@pytest.mark.parametrize(
    "comment",
    ["# noqa: LDR103", "# noqa: E501", "# noqa: LDR1020", "# no qa", "# LDR102", "#noqa", "# see noqa"],
)
def test_these_comments_do_not(comment: str) -> None:
    assert not silenced(f"kept.append(w)  {comment}\n")


def test_a_string_that_looks_like_the_comment_does_not_silence() -> None:
    assert not silenced('kept.append("# noqa")\n')
    assert not silenced('kept["""\n# noqa\n"""] = w\n', line=1)


def test_only_the_comments_own_line_is_silenced() -> None:
    text = "a(w)\nb(w)  # noqa\nc(w)\n# noqa\nd(w)\n"
    assert [silenced(text, line) for line in range(1, 6)] == [False, True, False, True, False]


def test_in_brackets_each_line_has_its_own_comment() -> None:
    text = "kept.append(\n    w\n)  # noqa\n"
    assert [silenced(text, line) for line in (1, 2, 3)] == [False, False, True]


@pytest.mark.parametrize("text", ["kept \\\n    .append(w)  # noqa\n", 'kept["""\n"""] = w  # noqa\n'])
def test_lines_joined_by_a_backslash_or_a_string_are_one(text: str) -> None:
    assert silenced(text, 1) and silenced(text, 2)


@pytest.mark.parametrize("newline", ["\n", "\r\n", "\r"])
def test_lines_are_counted_as_python_counts_them(newline: str) -> None:
    text = newline.join(["s = 'a\x85\f'", "\fif s:", "\tkept.append(w)  # noqa", "\tother(w)"])
    assert [silenced(text, line) for line in (1, 2, 3, 4)] == [False, False, True, False]


def test_a_file_that_ends_in_the_middle_is_read_as_far_as_it_goes() -> None:
    assert silenced("a(w)  # noqa\nb((w)  # noqa\n", 1)
