"""`# noqa` comments that name our codes and silence nothing (LDR901), and what is left of them without these codes."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence

from loaderlint.linter.findings import Applicability, Edit, Finding, Fix
from loaderlint.linter.reading.comments import Comment, comments
from loaderlint.linter.reading.source import SourceFile
from loaderlint.linter.selection import Layer, is_on
from loaderlint.linter.suppressions import NOQA
from loaderlint.rules.codes import INTERNAL_ERROR, UNUSED
from loaderlint.rules.registry import BY_CODE, RULES

_OURS = re.compile(r"# noqa:[^#]*\bLDR[0-9]", re.IGNORECASE)
# A code, and what stands between it and the next one.
_CODE = re.compile(r"(?<![A-Z])([A-Z]+[0-9]+)([,\s]*)", re.IGNORECASE)
# What people write between the codes and their reasons.
_DASHES = " \t-\N{EN DASH}\N{EM DASH}:;,."


def unused(source: SourceFile, found: Sequence[Finding], layers: Iterable[Layer]) -> list[Finding]:
    """A finding for each comment with unused codes; `found` is all that is found in the file, silenced or not.

    Nothing where LDR901 is off, and nothing in a file of which a part was not analysed, or nobody would know of it.
    """
    layers = tuple(layers)
    if not all(is_on(BY_CODE[code], layers) for code in (UNUSED, INTERNAL_ERROR)) or not _OURS.search(
        source.text
    ):
        return []
    if any(finding.code == INTERNAL_ERROR for finding in found):
        return []
    off = [rule.code for rule in RULES if not is_on(rule, layers)]
    return [finding for comment in comments(source) for finding in _judged(source, comment, found, off)]


def _judged(
    source: SourceFile, comment: Comment, found: Sequence[Finding], off: Sequence[str]
) -> Iterator[Finding]:
    match = NOQA.search(comment.text)
    codes = [code for code, _ in _CODE.findall(match["codes"])] if match and match["codes"] else []
    here = [one.code for one in found if comment.first_line <= one.line <= comment.last_line]
    idle = [code for code in codes if _is_idle(code.upper(), here, off)]
    if match and idle:
        yield _finding(source, comment, match, idle)


def _is_idle(code: str, here: Sequence[str], off: Sequence[str]) -> bool:
    """Whether it is ours, could be judged, and silences nothing. What is said of our own work is not judged."""
    if not code.startswith("LDR") or code.startswith("LDR9"):
        return False
    return not any(one.startswith(code) for one in (*here, *off))


def _finding(source: SourceFile, comment: Comment, match: re.Match[str], idle: Sequence[str]) -> Finding:
    named = " and ".join(f"`{code}`" for code in idle)
    silences = "silences" if len(idle) == 1 else "silence"
    place = (comment.line, comment.column + match.start(), comment.line, comment.column + match.end())
    title, edits = f"remove {named} from the comment", (_edit(source, comment, match, idle),)
    message = f"{named} in a `noqa` comment {silences} nothing here"
    return BY_CODE[UNUSED].finding(source.path, place, message, Fix(Applicability.SAFE, title, edits))


def _edit(source: SourceFile, comment: Comment, match: re.Match[str], idle: Sequence[str]) -> Edit:
    left = _without(comment.text, match, idle)
    before = source.lines[comment.line - 1][: comment.column - 1]
    start = comment.column if left else len(before.rstrip(" \t")) + 1
    return Edit(comment.line, start, comment.line, comment.column + len(comment.text), left)


def _without(comment: str, match: re.Match[str], idle: Sequence[str]) -> str:
    """The comment without some of its codes; without the `noqa` where no code is left, "" where nothing is."""
    codes = _CODE.findall(match["codes"])
    kept = [(code, between) for code, between in codes if code not in idle]
    if kept:
        ending = codes[-1][1]
        listed = "".join(code + between for code, between in kept[:-1]) + kept[-1][0] + ending
        return comment[: match.start("codes")] + listed + comment[match.end() :]
    before, after = comment[: match.start()].rstrip(), comment[match.end() :].lstrip(_DASHES)
    if after and not after.startswith("#"):
        after = f"# {after}"
    return f"{before}  {after}".strip() if before else after
