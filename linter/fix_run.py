"""`--fix` and `--diff`: repair every file of a report, and write the files or show what would change."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import partial

from loaderlint.linter.diff import unified_diff
from loaderlint.linter.edits import apply
from loaderlint.linter.engine import Report, findings_to_report
from loaderlint.linter.findings import Applicability, FileError, Finding, Fix
from loaderlint.linter.fixing import Ask, Repair, repair
from loaderlint.linter.reading.source import STANDARD_INPUT, SourceError, SourceFile, read_source
from loaderlint.linter.rewriting import RewriteError, rewrite
from loaderlint.rules.codes import UNUSED

SAFE = frozenset({Applicability.SAFE})
SAFE_AND_UNSAFE = frozenset({Applicability.SAFE, Applicability.UNSAFE})


@dataclass(frozen=True)
class Choice:
    """Which repairs are made: how far they may be trusted, of which codes (or what codes begin with), who is asked."""

    allowed: frozenset[Applicability]
    codes: tuple[str, ...] = ()
    ask: Ask | None = None


@dataclass
class FixRun:
    """What was, or would be, repaired. `withdrawn` are repairs that did not help, each with its reason."""

    findings: int = 0
    files: int = 0
    diff: bytes = b""
    withdrawn: list[FileError] = field(default_factory=list)


def preview(report: Report, choice: Choice) -> FixRun:
    """Repair in memory only; the report keeps all its findings."""
    run = FixRun()
    for path, findings in _by_path(report).items():
        source = report.sources[path]
        result = _repaired(source, findings, choice, report)
        run.diff += unified_diff(source, result.source)
        _count(run, source, result)
    return run


def fix(report: Report, choice: Choice) -> FixRun:
    """Repair and write the files. The report then holds what is left, and what could not be written."""
    run = FixRun()
    left: list[Finding] = []
    for path, findings in _by_path(report).items():
        source = report.sources[path]
        result = _repaired(source, findings, choice, report)
        try:
            _write(source, result.source)
        except RewriteError as error:
            report.errors.append(FileError(path, 0, str(error)))
            left += findings
            continue
        left += result.findings
        report.sources[path] = result.source
        _count(run, source, result)
    report.findings = left
    return run


def _repaired(source: SourceFile, findings: list[Finding], choice: Choice, report: Report) -> Repair:
    """The file after its repairs.

    Comments that silence nothing go first. No other finding depends on them, and a check of this one file could not
    tell them from those that silence what only its callers show.
    """

    beside = _beside(source, findings, report)

    def check(again: SourceFile) -> list[Finding]:
        return findings_to_report(again, report.settings, report.named, beside)

    run = partial(
        repair,
        allowed=choice.allowed,
        check=check,
        codes=choice.codes,
        ask=choice.ask,
        width=report.settings.width,
    )
    unused = [one for one in findings if one.code == UNUSED and isinstance(one.fix, Fix)]
    if not unused or choice.codes and not UNUSED.startswith(choice.codes):
        return run(source, findings)
    try:
        cleaned = source.with_text(apply(source, [edit for one in unused for edit in one.fix.edits]))
    except SourceError as error:
        withdrawn = FileError(source.path, 0, f"repairs of {UNUSED} not applied: {error.error.message}")
        return Repair(source, findings, withdrawn=[withdrawn])
    if choice.ask and not choice.ask(source, cleaned, unused):
        others = [one for one in findings if one.code != UNUSED]
        result = run(source, others)
        result.findings += unused
        return result
    result = run(cleaned, check(cleaned))
    result.repaired += len(unused)
    return result


def _beside(source: SourceFile, findings: list[Finding], report: Report) -> list[SourceFile]:
    """The other files that the findings lead through: without them a check would not see these findings."""
    paths = {step.path for finding in findings for step in finding.steps} - {source.path}
    return [report.sources.get(path) or read_source(path) for path in sorted(paths)]


def _by_path(report: Report) -> dict[str, list[Finding]]:
    by_path: dict[str, list[Finding]] = {}
    for finding in report.findings:
        by_path.setdefault(finding.path, []).append(finding)
    return by_path


def _write(source: SourceFile, repaired: SourceFile) -> None:
    if repaired.raw == source.raw:
        return
    if source.path == STANDARD_INPUT:
        raise RewriteError("not repaired: standard input cannot be written; --diff shows the repair")
    rewrite(source, repaired)


def _count(run: FixRun, source: SourceFile, result: Repair) -> None:
    run.findings += result.repaired
    run.files += result.source.raw != source.raw
    run.withdrawn += result.withdrawn
