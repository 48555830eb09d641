"""Python files as bytes and text: exact enough to write an edited file back with nothing else changed.

Lines are those of Python's own tokenizer: they end at "\\n", "\\r\\n" or "\\r", and at nothing else.
(`str.splitlines` also splits at form feeds and some Unicode characters: it must not be used on source code.)
"""

from __future__ import annotations

import ast
import io
import re
import sys
import tokenize
import warnings
from bisect import bisect_right
from dataclasses import dataclass
from functools import cached_property

from loaderlint.linter.findings import FileError

STANDARD_INPUT = "-"

_LINE_BYTES = re.compile(rb"[^\r\n]*(?:\r\n|\r|\n)|[^\r\n]+")
_LINE_END = re.compile(r"\r\n|\r|\n")


class SourceError(Exception):
    """A file that cannot be read as Python; `error` says where and why."""

    def __init__(self, path: str, line: int, message: str) -> None:
        super().__init__(f"{path}:{line}: {message}")
        self.error = FileError(path, line, message)


@dataclass(frozen=True)
class SourceFile:
    """One file as it was read. `text` has no byte order mark and keeps every line end as it is."""

    path: str
    raw: bytes
    text: str
    encoding: str

    @cached_property
    def lines(self) -> list[str]:
        """The lines with their line ends; line n is `lines[n - 1]`."""
        return lines_of(self.text)

    @cached_property
    def starts(self) -> list[int]:
        """The offsets in `text` at which lines begin, the empty one behind a last line end included."""
        starts = [0]
        for line in self.lines:
            if line[-1] in "\r\n":
                starts.append(starts[-1] + len(line))
        return starts

    def newline_at(self, line: int) -> str:
        """The line end to use at line `line`: its own, else the one before it, else "\\n"."""
        ends = _LINE_END.findall("".join(self.lines[max(0, line - 2) : line]))
        return ends[-1] if ends else "\n"

    def offset(self, line: int, column: int) -> int:
        """The offset in `text` of a place; line and column count from 1, the column in characters.

        A column may lie just behind the line's last character, not behind its line end. Raises `ValueError`
        for a place that the text does not have.
        """
        if not 1 <= line <= len(self.starts):
            raise ValueError(f"{self.path} has no line {line}")
        content = self.lines[line - 1].rstrip("\r\n") if line <= len(self.lines) else ""
        if not 1 <= column <= len(content) + 1:
            raise ValueError(f"{self.path}:{line} has no column {column}")
        return self.starts[line - 1] + column - 1

    def place(self, offset: int) -> tuple[int, int]:
        """(line, column) of an offset in `text`, both from 1; the inverse of `offset`."""
        line = bisect_right(self.starts, offset)
        return line, offset - self.starts[line - 1] + 1

    def column_of_byte(self, line: int, byte_offset: int) -> int:
        """The column (from 1, in characters) of an `ast` node's `col_offset` (from 0, in UTF-8 bytes)."""
        text = self.lines[line - 1]
        if text.isascii():
            return byte_offset + 1
        return len(text.encode("utf-8", "surrogatepass")[:byte_offset].decode("utf-8", "replace")) + 1

    def tree(self) -> ast.Module:
        """The file's syntax tree, parsed anew on each call. Raises `SourceError` for what is not Python."""
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # The user's invalid escapes are not ours to report.
                return ast.parse(self.text, self.path)
        except SyntaxError as error:
            raise SourceError(self.path, error.lineno or 0, f"syntax error: {error.msg}") from None
        except (RecursionError, MemoryError):
            raise SourceError(self.path, 0, "is nested too deeply for Python's own parser") from None
        except ValueError as error:
            raise SourceError(self.path, 0, f"not Python source: {error}") from None

    def with_text(self, text: str) -> SourceFile:
        """The same file with another text, encoded as before.

        Raises `SourceError` where the encoding cannot express the text, or would be read back differently.
        """
        try:
            raw = text.encode(self.encoding)
        except UnicodeEncodeError as error:
            line, _ = SourceFile(self.path, b"", text, self.encoding).place(error.start)
            message = f"{self.encoding} cannot encode {text[error.start]!r}"
            raise SourceError(self.path, line, message) from None
        changed = source_from_bytes(self.path, raw)
        if changed.text != text or self.text.encode(self.encoding) != self.raw:
            raise SourceError(self.path, 0, f"its encoding {self.encoding} cannot be written back as it was")
        return changed


def lines_of(text: str) -> list[str]:
    """The lines of a text with their line ends, as Python's tokenizer sees them."""
    return io.StringIO(text, newline="").readlines()


def read_bytes(path: str) -> bytes:
    """A file's bytes; "-" is standard input. Raises `SourceError` for what cannot be read."""
    try:
        if path == STANDARD_INPUT:
            return sys.stdin.buffer.read()
        with open(path, "rb", buffering=0) as file:
            return file.read()
    except OSError as error:
        raise SourceError(path, 0, f"cannot read: {error.strerror or error}") from None


def read_source(path: str) -> SourceFile:
    """Read a file; "-" is standard input. Raises `SourceError` for what cannot be read or decoded."""
    return source_from_bytes(path, read_bytes(path))


def source_from_bytes(path: str, raw: bytes) -> SourceFile:
    """Decode a file's bytes as Python would (PEP 263). Raises `SourceError` where it would not."""
    null = raw.find(b"\0")
    if null >= 0:
        raise SourceError(
            path, _line_of(raw, null), "null byte: this is a binary file or UTF-16, not Python source"
        )
    try:
        encoding = _encoding_of(path, raw)
        text = raw.decode(encoding)
    except UnicodeDecodeError as error:
        # The codecs that strip a byte order mark count from behind it, in `error.object`.
        bad = f"byte 0x{error.object[error.start]:02x} is not valid {error.encoding}"
        raise SourceError(path, _line_of(error.object, error.start), f"cannot decode: {bad}") from None
    except (LookupError, UnicodeError) as error:
        raise SourceError(path, 0, f"cannot decode: {error}") from None
    return SourceFile(path, raw, text, encoding)


def _encoding_of(path: str, raw: bytes) -> str:
    """The encoding by mark, declaration or default. Raises `UnicodeDecodeError` or `SourceError`."""
    head = (match.group() for match in _LINE_BYTES.finditer(raw))
    try:
        return tokenize.detect_encoding(lambda: next(head))[0]
    except SyntaxError as error:
        if "missing encoding declaration" in str(error):
            raw.decode("utf-8-sig")  # Raises, and says which byte is wrong.
        first = _LINE_BYTES.match(raw)
        declared_in_first = first is not None and b"coding" in first.group()
        raise SourceError(path, 1 if declared_in_first else 2, f"cannot decode: {error}") from None


def _line_of(raw: bytes, offset: int) -> int:
    """The line of a byte, for encodings in which line ends are single bytes."""
    ended = sum(1 for match in _LINE_BYTES.finditer(raw, 0, offset) if match.group()[-1:] in b"\r\n")
    return ended + 1
