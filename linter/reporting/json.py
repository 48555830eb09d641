"""Findings for programs: one JSON object whose form only changes together with its "version"."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import Any

from loaderlint.linter.findings import FileError, Finding, Fix

VERSION = 1


def render_json(findings: list[Finding], files: int, errors: list[FileError]) -> str:
    """The whole report as JSON text. `files` is the number of files that were checked."""
    report = {
        "version": VERSION,
        "findings": [_finding(finding) for finding in findings],
        "files": files,
        "errors": [asdict(error) for error in errors],
    }
    return json.dumps(report, indent=2)


def _finding(finding: Finding) -> dict[str, Any]:
    return {
        "code": finding.code,
        "name": finding.name,
        "category": finding.category.value,
        "severity": finding.severity.value,
        "path": finding.path,
        "line": finding.line,
        "column": finding.column,
        "end_line": finding.end_line,
        "end_column": finding.end_column,
        "function": finding.function,
        "message": finding.message,
        "steps": [asdict(step) for step in finding.steps],
        "assumptions": list(finding.assumptions),
        "fix": _fix(finding.fix) if isinstance(finding.fix, Fix) else None,
    }


def _fix(fix: Fix) -> dict[str, Any]:
    return {
        "applicability": fix.applicability.value,
        "title": fix.title,
        "edits": [asdict(edit) for edit in fix.edits],
    }
