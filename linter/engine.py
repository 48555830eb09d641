"""From paths to findings: read the files, check them, drop what comments silence."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from loaderlint.linter.edits import keep_comments
from loaderlint.linter.findings import FileError, Finding
from loaderlint.linter.reading.discover import discover
from loaderlint.linter.reading.source import SourceError, SourceFile, read_bytes, source_from_bytes
from loaderlint.linter.reading.sieve import may_handle_weights
from loaderlint.linter.suppressions import unsuppressed


@dataclass
class Report:
    """What a run found. `sources` holds the files with findings as they were read, by path."""

    findings: list[Finding] = field(default_factory=list)
    files: int = 0
    errors: list[FileError] = field(default_factory=list)
    sources: dict[str, SourceFile] = field(default_factory=dict)


def check_paths(paths: Sequence[str]) -> Report:
    """Check every file behind `paths`; a file that cannot be checked becomes an error of the report."""
    found = discover(paths)
    report = Report(errors=list(found.errors))
    for path in found.files:
        try:
            raw = read_bytes(path)
            # A named file is read in full, so that its errors are seen; of a tree only what may hold a loader is.
            if path not in found.named and not may_handle_weights(raw):
                report.files += 1
                continue
            source = source_from_bytes(path, raw)
            findings = findings_to_report(source)
        except SourceError as error:
            report.errors.append(error.error)
            continue
        report.files += 1
        if findings:
            report.findings += findings
            report.sources[path] = source
    return report


def findings_to_report(source: SourceFile) -> list[Finding]:
    """The file's findings without the silenced ones. Raises `SourceError`, also for a defect of loaderlint's own."""
    try:
        found = check_file(source)
    except SourceError:
        raise
    except Exception as error:  # Nothing in a user's file may stop the run over the others.
        message = f"internal error, please report it: {type(error).__name__}: {error}"
        raise SourceError(source.path, 0, message) from error
    kept = keep_comments(source, unsuppressed(source, found))
    return sorted(kept, key=lambda finding: (finding.line, finding.column, finding.code))


def check_file(source: SourceFile) -> list[Finding]:
    """The findings of one file. Raises `SourceError` for what is not Python."""
    # LibCST takes a third of a second to import; a run over files that the sieve rejects does without it.
    from loaderlint.linter.checking import check_source

    return check_source(source)
