"""The comments of a file, found by Python's tokenizer: a string that looks like a comment is none."""

from __future__ import annotations

import tokenize
from collections.abc import Iterator
from dataclasses import dataclass

from loaderlint.linter.reading.source import SourceFile

_NOT_CODE = {tokenize.ENDMARKER, tokenize.DEDENT}


@dataclass(frozen=True, slots=True)
class Comment:
    """A comment with its "#". Line and column count from 1.

    `first_line` to `last_line` are the lines that share the comment: its own, and those joined to it by a
    backslash or a string over several lines.
    """

    line: int
    column: int
    first_line: int
    last_line: int
    text: str


def comments(source: SourceFile) -> Iterator[Comment]:
    """Yield the file's comments in order, up to the first place that cannot be tokenized."""
    joined: list[tokenize.TokenInfo] = []
    for token in _tokens(source):
        if token.type not in _NOT_CODE:
            joined.append(token)
        if token.type in (tokenize.NL, tokenize.NEWLINE):
            yield from _comments_of(joined)
            joined = []
    yield from _comments_of(joined)


def _tokens(source: SourceFile) -> Iterator[tokenize.TokenInfo]:
    # Line ends are unified: older tokenizers do not know a lone "\r". Lines and columns stay the same.
    lines = (line.rstrip("\r\n") + "\n" for line in source.lines)
    try:
        yield from tokenize.generate_tokens(lambda: next(lines, ""))
    except (tokenize.TokenError, SyntaxError):
        return


def _comments_of(tokens: list[tokenize.TokenInfo]) -> Iterator[Comment]:
    found = [token for token in tokens if token.type == tokenize.COMMENT]
    for token in found:
        line, column = token.start
        yield Comment(line, column + 1, tokens[0].start[0], tokens[-1].end[0], token.string)
