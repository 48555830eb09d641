"""One program, judged by the linter and run under the guard: where the two disagree."""

from __future__ import annotations

from dataclasses import dataclass

from watched_runs import PROGRAM, Read, compiled, stale_reads

from loaderlint.linter.engine import findings_to_report
from loaderlint.linter.findings import Finding, Severity
from loaderlint.linter.reading.source import source_from_bytes

# Runs that every program gets, and the most that one gets whose findings have not all been seen.
FEW, MANY = 8, 600


@dataclass(frozen=True)
class Comparison:
    """What both sides say of a program, and each disagreement as a line of text."""

    findings: int
    stale_places: int
    disagreements: tuple[str, ...]


def compare(code: str) -> Comparison:
    """Judge and run one program. Raises what the program raises."""
    findings = [
        finding
        for finding in findings_to_report(source_from_bytes(PROGRAM, code.encode()))
        if finding.severity is Severity.ERROR and _is_of_a_kept_tensor(finding)
    ]
    reads = _reads(code, findings)
    unseen = [text for finding in findings if (text := _unconfirmed(finding, reads))]
    lines = {finding.line for finding in findings}
    missed = {
        f"missed: kept at one of {sorted(read.kept)}, read stale by way of {sorted(read.read)}"
        for read in reads
        if not read.kept & lines
    }
    return Comparison(len(findings), len(reads), (*unseen, *sorted(missed)))


def _is_of_a_kept_tensor(finding: Finding) -> bool:
    """Whether it says that stale data is read: of how a stream is used, the guard knows nothing."""
    return any(step.kind == "kept" for step in finding.steps)


def _reads(code: str, findings: list[Finding]) -> set[Read]:
    program = compiled(code)
    reads: set[Read] = set()
    for run in range(MANY):
        reads |= stale_reads(program, run)
        if run >= FEW and not any(_unconfirmed(finding, reads) for finding in findings):
            break
    return reads


def _unconfirmed(finding: Finding, reads: set[Read]) -> str:
    """What no run has shown of a finding; empty when its place was kept at, and read where it says."""
    where = f"{finding.line} {finding.code}"
    kept = [read for read in reads if finding.line in read.kept]
    if not kept:
        return f"false: {where}: nothing kept there was read stale"
    line = next(step.line for step in finding.steps if step.kind == "read")
    if not any(line in read.read for read in kept):
        return f"false read: {where}: what was kept there was not read stale at {line}"
    return ""
