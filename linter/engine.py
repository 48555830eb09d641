"""From paths to findings: read the files, check them, drop what comments silence."""

from __future__ import annotations

import gc
from collections.abc import Iterable, Iterator, Sequence, Set
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from loaderlint.linter.edits import keep_comments
from loaderlint.linter.findings import FileError, Finding
from loaderlint.linter.reading.discover import Discovery, discover
from loaderlint.linter.reading.sieve import Sieve
from loaderlint.linter.reading.source import (
    SourceError,
    SourceFile,
    read_bytes,
    source_from_bytes,
)
from loaderlint.linter.settings import Settings
from loaderlint.linter.suppressions import unsuppressed

if TYPE_CHECKING:
    from loaderlint.linter.checking import Checker


@dataclass
class Report:
    """What a run found, under which settings. `sources` holds the files with findings as they were read, by path.

    `named` are the paths of all files that were to be checked.
    """

    findings: list[Finding] = field(default_factory=list)
    files: int = 0
    errors: list[FileError] = field(default_factory=list)
    sources: dict[str, SourceFile] = field(default_factory=dict)
    named: frozenset[str] = frozenset()
    settings: Settings = field(default_factory=Settings)


def check_paths(paths: Sequence[str], settings: Settings | None = None) -> Report:
    """Check every file behind `paths`; a file that cannot be checked becomes an error of the report."""
    found = discover(paths)
    report = Report(errors=list(found.errors), settings=settings or Settings(), named=frozenset(found.files))
    with _no_garbage_collection():
        checker = _analysed(found, report)
        if checker is not None:
            _collect(checker, report)
    _check_contracts(report)
    return report


def _analysed(found: Discovery, report: Report) -> Checker | None:
    """The checker that has seen every file that may hold a loader; None if there was no such file."""
    checker: Checker | None = None
    sieve = Sieve(report.settings.contracts)
    passed_over: dict[str, frozenset[str]] = {}
    for path in found.files:
        try:
            raw = read_bytes(path)
            # A named file is read in full, so that its errors are seen; of a tree only what may hold a loader is.
            if path in found.named or sieve.may_handle_weights(raw):
                checker = checker or _new_checker(report.settings, found)
                _add(checker, source_from_bytes(path, raw))
            else:
                passed_over[path] = sieve.imported(raw)
        except SourceError as error:
            report.errors.append(error.error)
            continue
        report.files += 1
    if checker is not None:
        _add_importers(checker, passed_over, report)
    return checker


def _add_importers(checker: Checker, passed_over: dict[str, frozenset[str]], report: Report) -> None:
    """Take in the files that showed nothing themselves, but import what hands out streams, or what they derive from."""
    found = True
    while found:
        offers, found = checker.offers, False
        for path, imported in list(passed_over.items()):
            try:
                if offers.leads_from(imported) and offers.used_in(raw := read_bytes(path), imported):
                    del passed_over[path]
                    _add(checker, source_from_bytes(path, raw))
                    found = True
            except SourceError as error:
                passed_over.pop(path, None)
                report.errors.append(error.error)
                report.files -= 1


@contextmanager
def _no_garbage_collection() -> Iterator[None]:
    """Syntax trees are many objects that live until the end: looking for garbage among them doubles the time."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            # What is left becomes an old generation at once, or the next object would start a search of all of it.
            gc.freeze()
            gc.unfreeze()
            gc.enable()


def _new_checker(settings: Settings, found: Discovery | None = None) -> Checker:
    # LibCST takes a third of a second to import; a run over files that the sieve rejects does without it.
    from loaderlint.linter.checking import Checker

    return Checker(settings, found.files if found is not None else ())


def _add(checker: Checker, source: SourceFile) -> None:
    try:
        checker.add(source)
    except SourceError:
        raise
    except Exception as error:  # Nothing in a user's file may stop the run over the others.
        message = f"internal error, please report it: {type(error).__name__}: {error}"
        raise SourceError(source.path, 0, message) from error


def _collect(checker: Checker, report: Report) -> None:
    found = checker.findings(report.named)
    # Each file that was analysed, also where nothing is found: a comment there may silence nothing.
    by_path: dict[str, list[Finding]] = {path: [] for path in checker.paths()}
    for finding in found:
        by_path.setdefault(finding.path, []).append(finding)
    for path, findings in sorted(by_path.items()):
        source = checker.source(path)
        kept = _to_report(source, findings)
        if path in report.named:
            kept += _silencing_nothing(source, findings, report.settings)
        if kept:
            report.findings += kept
            report.sources[path] = source


def _to_report(source: SourceFile, found: list[Finding]) -> list[Finding]:
    kept = keep_comments(source, unsuppressed(source, found))
    return sorted(kept, key=lambda finding: (finding.line, finding.column, finding.code))


def _check_contracts(report: Report) -> None:
    """What the project's own contracts name, and does not exist."""
    if report.settings.own is None or not report.settings.own.table:
        return
    from loaderlint.linter.unresolved import unresolved

    wrong = unresolved(report.settings)
    if wrong is not None:
        source, findings = wrong
        report.findings += findings
        report.sources[source.path] = source


def _silencing_nothing(source: SourceFile, found: list[Finding], settings: Settings) -> list[Finding]:
    from loaderlint.linter.unused import unused  # Brings LibCST along, which is loaded by now.

    return unsuppressed(source, unused(source, found, settings.layers))


def findings_to_report(
    source: SourceFile,
    settings: Settings | None = None,
    named: Set[str] = frozenset(),
    beside: Iterable[SourceFile] = (),
) -> list[Finding]:
    """One file's findings, of a check that `named` others too, without the silenced ones.

    What shows only in the files `beside` it, which give it their streams, is found as well. Raises `SourceError`, also
    for a defect of loaderlint's own.
    """
    checker = _new_checker(settings or Settings())
    for one in (source, *beside):
        _add(checker, one)
    found = checker.findings(named)
    return _to_report(source, [finding for finding in found if finding.path == source.path])


def check_file(source: SourceFile, settings: Settings | None = None) -> list[Finding]:
    """One file's findings, the silenced ones too. Raises `SourceError` for what is not Python."""
    checker = _new_checker(settings or Settings())
    checker.add(source)
    return [finding for finding in checker.findings() if finding.path == source.path]
