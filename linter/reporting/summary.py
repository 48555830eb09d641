"""The last lines of a run for people: how much was checked, found, and can be repaired."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from loaderlint.linter.findings import Applicability, Finding, Fix


def summary(findings: Sequence[Finding], files: int, errors: int) -> Iterator[str]:
    """Lines on the whole run; `files` were checked, `errors` were met."""
    places = len({finding.path for finding in findings})
    found = f"{_count(len(findings), 'finding')} in {_count(places, 'file')}" if findings else "no findings"
    yield f"{_count(files, 'file')} checked: {found}"
    if errors:
        yield f"{_count(errors, 'error')}: not everything could be done"


def offer(findings: Sequence[Finding], offered: frozenset[Applicability]) -> Iterator[str]:
    """Which options would repair how many of the findings; `offered` are the repairs already asked for."""
    available = [finding.fix.applicability for finding in findings if isinstance(finding.fix, Fix)]
    safe, unsafe = available.count(Applicability.SAFE), available.count(Applicability.UNSAFE)
    if safe and Applicability.SAFE not in offered:
        yield f"--fix can repair {safe} of them"
    if unsafe and Applicability.UNSAFE not in offered:
        more = " more" if safe else ""
        yield f"--fix --unsafe-fixes can repair {unsafe}{more}; look at --diff --unsafe-fixes first"


def repaired(findings: int, files: int, written: bool) -> str:
    """One line on what `--fix` did or `--diff` would do."""
    verb = "repaired" if written else "would repair"
    return f"{verb} {_count(findings, 'finding')} in {_count(files, 'file')}"


def _count(number: int, what: str) -> str:
    return f"{number} {what}" if number == 1 else f"{number} {what}s"
