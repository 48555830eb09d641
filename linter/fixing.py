"""Repair a file in rounds: apply what fits together, check the result, take back what did not help."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field

from loaderlint.linter.edits import EditError, Span, apply, span
from loaderlint.linter.findings import Applicability, FileError, Finding, Fix, Severity
from loaderlint.linter.reading.source import SourceError, SourceFile
from loaderlint.linter.unused_imports import without_unused_imports
from loaderlint.linter.wrapping import DEFAULT_WIDTH, wrapped

Check = Callable[[SourceFile], list[Finding]]
"""Gives a file's findings; raises `SourceError` for a file that is not Python."""

Ask = Callable[[SourceFile, SourceFile, Sequence[Finding]], bool]
"""Whether to take a repair, given the file before and after it, and the findings that it removes."""

# A round applies all repairs that do not meet, so a file needs few. The bound ends those that undo another.
_SPARE_ROUNDS = 10

# A message may name lines, and edits move these.
_DIGITS = re.compile(r"\d+")


@dataclass
class Repair:
    """How far a file could be repaired: its new form, what is still found there, and what did not work."""

    source: SourceFile
    findings: list[Finding]
    repaired: int = 0
    withdrawn: list[FileError] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class _Candidate:
    """A repair and all findings that it is to remove."""

    fix: Fix
    findings: tuple[Finding, ...]

    @property
    def identity(self) -> tuple[str, ...]:
        """What stays the same about a repair while others move its lines."""
        return (self.fix.title, *(key for finding in self.findings for key in _key(finding)))


class _Refused(Exception):
    """A round whose result is not taken, with the reason."""


def repair(
    source: SourceFile,
    findings: Sequence[Finding],
    allowed: frozenset[Applicability],
    check: Check,
    codes: tuple[str, ...] = (),
    ask: Ask | None = None,
    width: int = DEFAULT_WIDTH,
) -> Repair:
    """Apply the `allowed` repairs of `findings` to the file's text; nothing is written.

    A repair counts only if the file still parses and can be encoded, and a new check no longer reports what
    it was for. Otherwise it is withdrawn, with the reason, and its findings stay. With `codes`, only findings whose
    code begins with one of them are repaired; with `ask`, only what it says yes to. Lines that a repair makes longer
    than `width` are broken where they can be.
    """
    result = Repair(source, list(findings))
    given_up: set[tuple[str, ...]] = set()
    one_by_one = False
    for _ in range(2 * len(findings) + _SPARE_ROUNDS):
        possible = _candidates(result.findings, allowed, codes)
        candidates = [one for one in possible if one.identity not in given_up]
        if not candidates:
            break
        batch = candidates[:1] if one_by_one or ask else _apart(result.source, candidates)
        try:
            after, left = _after(result, batch, check, width)
        except _Refused as refusal:
            if len(batch) == 1:
                given_up.add(batch[0].identity)
                result.withdrawn.append(_withdrawal(batch[0], str(refusal)))
            one_by_one = len(batch) > 1  # Until the one that is at fault has shown itself.
        else:
            if ask and not ask(result.source, after, batch[0].findings):
                given_up.add(batch[0].identity)
                continue
            result.source, result.findings = after, left
            result.repaired += sum(len(one.findings) for one in batch)
    else:
        result.withdrawn.append(
            FileError(source.path, 0, "repairs undo each other; finish this file by hand")
        )
    return result


def _candidates(
    findings: Iterable[Finding], allowed: frozenset[Applicability], codes: tuple[str, ...]
) -> list[_Candidate]:
    by_fix: dict[Fix, list[Finding]] = {}
    for finding in findings:
        if isinstance(finding.fix, Fix) and finding.fix.applicability in allowed and finding.fix.edits:
            by_fix.setdefault(finding.fix, []).append(finding)
    wanted = codes or ("",)
    return [
        _Candidate(fix, tuple(those))
        for fix, those in by_fix.items()
        if any(finding.code.startswith(wanted) for finding in those)
    ]


def _apart(source: SourceFile, candidates: Sequence[_Candidate]) -> list[_Candidate]:
    """The first candidate and each later one that meets none chosen before; the others wait for a round."""
    chosen: list[_Candidate] = []
    taken: list[Span] = []
    for candidate in candidates:
        try:
            spans = [span(source, edit) for edit in candidate.fix.edits]
        except EditError:
            spans = []  # It is refused with its reason when it is applied.
        if not any(mine.touches(other) for mine in spans for other in taken):
            chosen.append(candidate)
            taken += spans
    return chosen


def _after(
    before: Repair, batch: Sequence[_Candidate], check: Check, width: int
) -> tuple[SourceFile, list[Finding]]:
    """The file and its findings after the batch. Raises `_Refused` if the result is not what it should be."""
    try:
        text = apply(before.source, [edit for candidate in batch for edit in candidate.fix.edits])
        source = before.source.with_text(text)
        source.tree()
        text = without_unused_imports(before.source.text, text)
        source = source.with_text(wrapped(before.source.text, text, width))
        findings = check(source)
    except EditError as error:
        raise _Refused(str(error)) from None
    except SourceError as error:
        raise _Refused(f"the result would not be valid: {error.error.message}") from None
    expected = Counter(map(_key, before.findings))
    expected.subtract(_key(finding) for candidate in batch for finding in candidate.findings)
    found = Counter(map(_key, findings))
    if any(found[_key(finding)] > expected[_key(finding)] for one in batch for finding in one.findings):
        raise _Refused("the finding would still be there")
    removed = sum(_errors(candidate.findings) for candidate in batch)
    if _errors(findings) > _errors(before.findings) - removed:
        raise _Refused("the repair would only move the error")
    return source, findings


def _key(finding: Finding) -> tuple[str, str, str]:
    """What stays the same about a finding while edits move its line."""
    return finding.code, finding.function, _DIGITS.sub("#", finding.message)


def _errors(findings: Iterable[Finding]) -> int:
    return sum(1 for finding in findings if finding.severity is Severity.ERROR)


def _withdrawal(candidate: _Candidate, reason: str) -> FileError:
    first = candidate.findings[0]
    return FileError(first.path, first.line, f"repair of {first.code} not applied: {reason}")
