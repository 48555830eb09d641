"""Findings for people: what is wrong, the path from the yield to the stale read, and what can be done."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby

import click
from loaderlint.linter.findings import FileError, Finding, Fix, Severity, Step
from loaderlint.linter.reporting.excerpts import Excerpts, printable, without_common_indent

_NUMBER_WIDTH = 6
_COLOURS = {Severity.ERROR: "red", Severity.WARNING: "yellow"}


def render_finding(finding: Finding, excerpts: Excerpts) -> str:
    """The finding as several lines, without a last line end; styled: `click.echo` strips it where needed."""
    place = click.style(f"{printable(finding.path)}:{finding.line}:{finding.column}", bold=True)
    code = click.style(finding.code, fg=_COLOURS[finding.severity], bold=True)
    lines = [f"{place} {code} {printable(finding.message)}", *_steps(finding, excerpts)]
    lines += [f"  {printable(line)}" for line in finding.consequences]
    lines += [f"  assumes: {printable(assumption)}" for assumption in finding.assumptions]
    return "\n".join([*lines, f"  {_remedy(finding)}"])


def render_error(error: FileError) -> str:
    """One line that says which file could not be checked, where, and why."""
    return _about_file(error, click.style("error", fg="red"))


def render_withdrawal(note: FileError) -> str:
    """One line that says which repair was taken back, and why; its finding is reported as before."""
    return _about_file(note, click.style("note", fg="cyan"))


def _about_file(about: FileError, kind: str) -> str:
    place = f"{about.path}:{about.line}" if about.line else about.path
    return f"{click.style(printable(place), bold=True)}: {kind}: {printable(about.message)}"


def _steps(finding: Finding, excerpts: Excerpts) -> Iterator[str]:
    """Step lines in columns: line number, source, what happens there."""
    steps = [list(same) for _, same in groupby(finding.steps, key=lambda step: (step.path, step.line))]
    labels = [_label(same[0], finding.path) for same in steps]
    sources = without_common_indent([excerpts.line(same[0].path, same[0].line) for same in steps])
    label_width = max([_NUMBER_WIDTH, *map(len, labels)])
    source_width = max(map(len, sources), default=0)
    for same, label, source in zip(steps, labels, sources):
        # What happens on one line one after the other is told on one line.
        note = click.style(printable("; ".join(step.text for step in same)), fg="cyan")
        yield f"{label:>{label_width}} |  {source:<{source_width}}  {note}"


def _label(step: Step, path: str) -> str:
    """The line number; with the path in front where the step lies in another file than the finding."""
    return str(step.line) if step.path == path else f"  {printable(step.path)}:{step.line}"


def _remedy(finding: Finding) -> str:
    if isinstance(finding.fix, Fix):
        return click.style(
            f"fix ({finding.fix.applicability.value}): {printable(finding.fix.title)}", fg="green"
        )
    return f"no fix: {printable(finding.fix.reason)}"
