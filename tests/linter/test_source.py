from __future__ import annotations

import ast
from pathlib import Path

import libcst as cst
import pytest
from hypothesis import given
from hypothesis import strategies as st
from libcst.metadata import MetadataWrapper, PositionProvider

from loaderlint.linter.reading.source import SourceError, SourceFile, read_source, source_from_bytes

# Everything that some notion of "line" ends at; Python's lines end only at the first three.
SEPARATORS = ["\n", "\r\n", "\r", "\f", "\v", "\x1c", "\x85", "\u2028"]
texts = st.lists(st.sampled_from([*SEPARATORS, "a", "é", "\t", "#", "𝛼"])).map("".join)


def source_of(text: str) -> SourceFile:
    return source_from_bytes("f.py", text.encode())


@given(texts)
def test_places_and_offsets_are_inverse(text: str) -> None:
    source = source_of(text)
    for offset in range(len(text) + 1):
        if text[offset - 1 : offset + 1] != "\r\n":  # Between the two there is no column.
            assert source.offset(*source.place(offset)) == offset


@given(texts)
def test_lines_are_the_text(text: str) -> None:
    assert "".join(source_of(text).lines) == text


def test_only_pythons_line_ends_end_a_line() -> None:
    source = source_of("a\fb\vc\x85d\u2028e\r\nf\rg\nh")
    assert source.lines == ["a\fb\vc\x85d\u2028e\r\n", "f\r", "g\n", "h"]


@pytest.mark.parametrize("newline", ["\n", "\r\n", "\r"])
def test_positions_are_those_of_ast_and_libcst(newline: str) -> None:
    text = newline.join(["s = 'é\f\x85'", "\fif s:", "\té𝛼 = target(s)", ""])
    source = source_of(text)
    at = text.index("target")
    call = next(node for node in ast.walk(source.tree()) if isinstance(node, ast.Call))
    assert source.offset(call.lineno, source.column_of_byte(call.lineno, call.col_offset)) == at
    positions = MetadataWrapper(cst.parse_module(text)).resolve(PositionProvider)
    start = next(where.start for node, where in positions.items() if isinstance(node, cst.Call))
    assert source.offset(start.line, start.column + 1) == at


@pytest.mark.parametrize("place", [(0, 1), (1, 0), (1, 5), (2, 2), (3, 1)])
def test_a_place_outside_the_text_is_refused(place: tuple[int, int]) -> None:
    with pytest.raises(ValueError):
        source_of("abc\n").offset(*place)


@pytest.mark.parametrize(
    ("raw", "text", "encoding"),
    [
        (b"", "", "utf-8"),
        (b"x = 1", "x = 1", "utf-8"),
        (b"\xef\xbb\xbfx = 1\r\n", "x = 1\r\n", "utf-8-sig"),
        (b"# -*- coding: latin-1 -*-\nx = '\xe9'\n", "# -*- coding: latin-1 -*-\nx = 'é'\n", "iso-8859-1"),
        (b"#!/bin/sh\r# vim: set fileencoding=cp1252 :\rx = '\x80'", None, "cp1252"),
    ],
)
def test_encodings_are_read_as_python_reads_them_and_written_back(
    raw: bytes, text: str | None, encoding: str
) -> None:
    source = source_from_bytes("f.py", raw)
    assert source.encoding == encoding
    assert text is None or source.text == text
    assert source.with_text(source.text).raw == raw


@pytest.mark.parametrize(
    ("raw", "line", "message"),
    [
        (b"a = 1\nb = '\xe9'\n", 2, "cannot decode: byte 0xe9 is not valid utf-8"),
        (b"\xef\xbb\xbf\r\r\r= '\xe9'\n", 4, "cannot decode: byte 0xe9 is not valid utf-8"),
        (b"# coding: ascii\n\nx = '\xe9'\n", 3, "cannot decode: byte 0xe9 is not valid ascii"),
        (b"#!python\n# coding: klingon\n", 2, "cannot decode: unknown encoding: klingon"),
        (b"\xef\xbb\xbf# coding: latin-1\n", 1, "cannot decode: encoding problem: utf-8"),
        (b"\x7fELF\n\0\0", 2, "null byte: this is a binary file or UTF-16, not Python source"),
        (b"x = 1\ndef f(:\n", 2, "syntax error: invalid syntax"),
        (b"if x:\n  y\n z\n", 3, "syntax error: unindent does not match any outer indentation level"),
    ],
)
def test_what_is_not_python_is_named_with_its_line(raw: bytes, line: int, message: str) -> None:
    with pytest.raises(SourceError) as caught:
        source_from_bytes("f.py", raw).tree()
    error = caught.value.error
    assert (error.path, error.line, error.message) == ("f.py", line, message)


def test_code_that_python_cannot_nest_is_an_error_and_no_crash() -> None:
    with pytest.raises(SourceError, match="nested"):
        source_of("x = " + "-" * 100_000 + "1\n").tree()


def test_a_text_that_its_encoding_cannot_express_is_refused() -> None:
    source = source_from_bytes("f.py", b"# coding: latin-1\nx = 1\n")
    with pytest.raises(SourceError, match="cannot encode '→'") as caught:
        source.with_text("# coding: latin-1\n\nx = '→'\n")
    assert caught.value.error.line == 3


def test_a_text_that_would_be_read_back_otherwise_is_refused() -> None:
    source = source_from_bytes("f.py", b"# coding: latin-1\nx = '\xe9'\n")
    with pytest.raises(SourceError):
        source.with_text(
            "import a\nimport b\n" + source.text
        )  # The declaration holds in the first two lines only.


def test_a_link_that_leads_to_itself_cannot_be_read(tmp_path: Path) -> None:
    path = tmp_path / "loop.py"
    path.symlink_to(path)
    with pytest.raises(SourceError, match="cannot read"):
        read_source(str(path))
