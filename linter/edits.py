"""Text edits: applied to a file's text so that everything outside them stays as it was."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

from loaderlint.linter.findings import Applicability, Edit, Finding, Fix
from loaderlint.linter.reading.comments import comments
from loaderlint.linter.reading.source import SourceFile

_LINE_END = re.compile(r"\r\n|\r|\n")


class EditError(Exception):
    """Edits that cannot be applied: they overlap, or name a place that the file does not have."""


@dataclass(frozen=True, slots=True)
class Span:
    """The half-open range of offsets that an edit replaces."""

    start: int
    end: int

    def overlaps(self, other: Span) -> bool:
        """Whether the two share a character, or one inserts inside the other."""
        return self.start < other.end and other.start < self.end

    def touches(self, other: Span) -> bool:
        """Whether the two overlap or meet, so that their order could matter."""
        return self.start <= other.end and other.start <= self.end


def span(source: SourceFile, edit: Edit) -> Span:
    """Where `edit` is in the file's text. Raises `EditError` for a place that is not there."""
    try:
        start = source.offset(edit.line, edit.column)
        end = source.offset(edit.end_line, edit.end_column)
    except ValueError as error:
        raise EditError(str(error)) from None
    if end < start:
        raise EditError(f"an edit at line {edit.line} ends before it begins")
    return Span(start, end)


def apply(source: SourceFile, edits: Sequence[Edit]) -> str:
    """The file's text after all `edits`; their line ends become those of the lines they are made in.

    Edits that insert at one place are applied in the order given. Raises `EditError` where edits overlap.
    """
    text = source.text
    placed = sorted(
        ((span(source, edit), edit) for edit in edits), key=lambda pair: (pair[0].start, pair[0].end)
    )
    for (before, _), (after, edit) in zip(placed, placed[1:]):
        if before.overlaps(after):
            raise EditError(f"two edits of one repair overlap at line {edit.line}")
    for where, edit in reversed(placed):
        text = (
            text[: where.start] + _LINE_END.sub(source.newline_at(edit.line), edit.text) + text[where.end :]
        )
    return text


def keep_comments(source: SourceFile, findings: Sequence[Finding]) -> list[Finding]:
    """The findings, with repairs that would lose a comment made unsafe."""
    return [
        replace(finding, fix=replace(finding.fix, applicability=Applicability.UNSAFE))
        if isinstance(finding.fix, Fix)
        and finding.fix.applicability is Applicability.SAFE
        and _loses_comment(source, finding.fix)
        else finding
        for finding in findings
    ]


def _loses_comment(source: SourceFile, fix: Fix) -> bool:
    """Whether a comment in the replaced ranges is missing from the new text of all the repair's edits."""
    try:
        replaced = [span(source, edit) for edit in fix.edits]
    except EditError:
        return True
    if not any("#" in source.text[where.start : where.end] for where in replaced):
        return False  # Finding the comments of a file takes longer than finding its defects.
    rest = "\n".join(edit.text for edit in fix.edits)
    for comment in comments(source):
        at = source.offset(comment.line, comment.column)
        written = Span(at, at + len(comment.text))
        if any(written.overlaps(where) for where in replaced):
            if comment.text not in rest:
                return True
            rest = rest.replace(comment.text, "", 1)
    return False
