"""`# noqa` comments, read as flake8 reads them, so that both ways to run loaderlint agree.

`# noqa` silences every finding of its line, `# noqa: LDR102, LDR2` those codes and whatever starts with them.
The line is the one that the finding names; lines joined by a backslash or by a string over several lines are
one.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from loaderlint.linter.findings import Finding
from loaderlint.linter.reading.comments import Comment, comments
from loaderlint.linter.reading.source import SourceFile

NOQA = re.compile(r"# noqa(?::\s?(?P<codes>(?:[A-Z]+[0-9]+[,\s]*)+))?", re.IGNORECASE)
_SEPARATOR = re.compile(r"[,\s]+")


def unsuppressed(source: SourceFile, findings: Sequence[Finding]) -> list[Finding]:
    """The findings that no comment of their line silences. Files without findings or noqa cost nothing."""
    if not findings or not NOQA.search(source.text):
        return list(findings)
    silencers = [comment for comment in comments(source) if NOQA.search(comment.text)]
    return [finding for finding in findings if not any(_silences(comment, finding) for comment in silencers)]


def _silences(comment: Comment, finding: Finding) -> bool:
    if not comment.first_line <= finding.line <= comment.last_line:
        return False
    match = NOQA.search(comment.text)
    if match is None or match["codes"] is None:
        return match is not None
    codes = (code for code in _SEPARATOR.split(match["codes"].upper()) if code)
    return finding.code.startswith(tuple(codes))
