"""From paths to findings: read the files, check them, drop what comments silence."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from dataclasses import dataclass, field

from loaderlint.linter.edits import keep_comments
from loaderlint.linter.findings import Applicability, Category, Edit, FileError, Finding, Fix, Severity, Step
from loaderlint.linter.reading.discover import discover
from loaderlint.linter.reading.source import SourceError, SourceFile, read_source
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
            source = read_source(path)
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
    """The findings of one file, in order of place. Raises `SourceError` for what is not Python."""
    tree = source.tree()
    return [
        finding
        for loop in ast.walk(tree)
        if isinstance(loop, ast.For) and ast.unparse(loop.iter) in ("weights", "list(weights)")
        for finding in [*_appends(source, loop), *_materialized(source, loop)]
    ]


def _appends(source: SourceFile, loop: ast.For) -> list[Finding]:
    findings = []
    for node in ast.walk(loop):
        if isinstance(node, ast.Call) and ast.unparse(node.func).endswith(".append"):
            value = node.args[0]
            value = value.elts[-1] if isinstance(value, ast.Tuple) else value
            edit = _edit(source, value, f'{ast.unparse(value)}.detach().to("cpu", copy=True)')
            if not isinstance(value, ast.Name):
                continue
            findings.append(
                _finding(source, node, "LDR102", "streamed tensor is kept", loop, Applicability.UNSAFE, edit)
            )
    return findings


def _materialized(source: SourceFile, loop: ast.For) -> list[Finding]:
    if isinstance(loop.iter, ast.Name):
        return []
    edit = _edit(source, loop.iter, "weights")
    return [_finding(source, loop.iter, "LDR101", "stream is kept in a list", loop, Applicability.SAFE, edit)]


def _edit(source: SourceFile, node: ast.expr, text: str) -> Edit:
    return Edit(*_range(source, node), text)


def _range(source: SourceFile, node: ast.expr) -> tuple[int, int, int, int]:
    end_line = node.end_lineno or node.lineno
    column = source.column_of_byte(node.lineno, node.col_offset)
    return node.lineno, column, end_line, source.column_of_byte(end_line, node.end_col_offset or 0)


def _finding(
    source: SourceFile, node: ast.expr, code: str, message: str, loop: ast.For, how: Applicability, edit: Edit
) -> Finding:
    line, column, end_line, end_column = _range(source, node)
    steps = (
        Step("borrowed", source.path, loop.lineno, loop.col_offset + 1, "borrowed here, valid until the next step"),
        Step("kept", source.path, line, column, "kept here"),
    )
    return Finding(
        code, "stub", Category.CORRECTNESS, Severity.ERROR, source.path, line, column, end_line, end_column,
        "load_weights", message, steps, fix=Fix(how, "own it on the host", (edit,)),
    )  # fmt: skip
