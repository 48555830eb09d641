"""`loaderlint check`: find, show and repair."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import click
from loaderlint.linter.diff import unified_diff
from loaderlint.linter.engine import Report, check_paths
from loaderlint.linter.findings import Applicability, Finding
from loaderlint.linter.fix_run import SAFE, SAFE_AND_UNSAFE, Choice, FixRun, fix, preview
from loaderlint.linter.reading.source import STANDARD_INPUT, SourceFile
from loaderlint.linter.reporting.excerpts import Excerpts
from loaderlint.linter.reporting.json import render_json
from loaderlint.linter.reporting.summary import offer, repaired, summary
from loaderlint.linter.reporting.text import (
    render_error,
    render_finding,
    render_withdrawal,
)
from loaderlint.linter.selection import Layer, SelectionError, layer
from loaderlint.linter.settings import Assume, Settings, load_settings

_HELP = """Find streamed tensors that are kept too long, and show or make the repairs.

PATH is a file or a directory; without one the current directory is checked, and "-" is standard input.
In directories all .py files are checked, except what git ignores and folders such as .venv or build.
A comment "# noqa: LDR102" at the end of a reported line silences that code there, "# noqa" every code.

CODES are rule codes, or what rule codes begin with, separated by commas: LDR102,LDR3. "loaderlint rules"
lists them. The longest that fits a rule decides about it.
"""


def _codes(name: str, help: str) -> object:
    return click.option(name, metavar="CODES", multiple=True, callback=_split, help=help)


def _split(
    context: click.Context, option: click.Parameter, values: tuple[str, ...]
) -> tuple[str, ...] | None:
    """The codes of all uses of one option; None if it was not used."""
    return tuple(code.strip() for value in values for code in value.split(",")) if values else None


@click.command(help=_HELP, short_help="Find, show and repair; the default.")
@click.argument("paths", nargs=-1, metavar="[PATH]...")
@click.option("--fix", "do_fix", is_flag=True, help="Repair in place what gives the same results everywhere.")
@click.option(
    "--unsafe-fixes", is_flag=True, help="With --fix or --diff: also repairs that you should review."
)
@_codes("--fix-only", "With --fix or --diff: repair only what these rules found.")
@click.option("--interactive", is_flag=True, help="With --fix: show each repair, and ask whether to make it.")
@click.option("--diff", "do_diff", is_flag=True, help="Show what --fix would change, and change nothing.")
@_codes("--select", "Only these rules, instead of what the settings select and ignore.")
@_codes("--extend-select", "These rules too: those that are off by default.")
@_codes("--ignore", "Without these rules.")
@click.option(
    "--output-format",
    type=click.Choice(["text", "json"]),
    default="text",
    show_default=True,
    help="How findings are printed to standard output.",
)
@click.option(
    "--assume",
    type=click.Choice(["lent", "owned"]),
    help="What a stream does whose producer is not in the code: lend (the default) or hand over.",
)
@click.option(
    "--show-ownership",
    metavar="FILE:LINE",
    help="Print what is known of the variables before that line runs, and check nothing.",
)
@click.option(
    "--no-cache",
    is_flag=True,
    expose_value=False,
    help="Check every file anew. There is no cache yet: this is always so.",
)
@click.pass_context
def check(
    context: click.Context,
    paths: tuple[str, ...],
    do_fix: bool,
    unsafe_fixes: bool,
    fix_only: tuple[str, ...] | None,
    interactive: bool,
    do_diff: bool,
    select: tuple[str, ...] | None,
    extend_select: tuple[str, ...] | None,
    ignore: tuple[str, ...] | None,
    output_format: str,
    assume: str | None,
    show_ownership: str | None,
) -> None:
    for name, given in (("--unsafe-fixes", unsafe_fixes), ("--fix-only", fix_only is not None)):
        if given and not (do_fix or do_diff):
            raise click.UsageError(f"{name} needs --fix (repair) or --diff (show the repairs).")
    if interactive and (not do_fix or do_diff or output_format == "json" or STANDARD_INPUT in paths):
        raise click.UsageError(
            "--interactive needs --fix, without --diff, JSON or files from standard input."
        )
    if do_diff and output_format == "json":
        raise click.UsageError("--diff prints a diff; it cannot be combined with --output-format json.")
    options = _layer({"select": select, "extend-select": extend_select, "ignore": ignore})
    settings = load_settings(Path.cwd(), Assume(assume) if assume else None, options)
    if show_ownership is not None:
        _show_ownership(show_ownership, settings)
        return
    report = check_paths(paths or (".",), settings)
    allowed = SAFE_AND_UNSAFE if unsafe_fixes else SAFE
    choice = Choice(allowed, _fixable("--fix-only", fix_only), _ask if interactive else None)
    if do_diff:
        run = preview(report, choice)
        click.echo(run.diff, nl=False)
    else:
        run = fix(report, choice) if do_fix else None
        _print_findings(report, output_format)
    _print_summary(report, run, allowed, written=not do_diff)
    context.exit(2 if report.errors else 1 if report.findings else 0)


def _layer(given: dict[str, tuple[str, ...] | None]) -> Layer:
    try:
        return layer({key: codes for key, codes in given.items() if codes is not None})
    except SelectionError as error:
        raise click.UsageError(f"--{error.key}: {error.message}") from None


def _fixable(option: str, codes: tuple[str, ...] | None) -> tuple[str, ...]:
    """The codes of `--fix-only`, each the beginning of a rule's."""
    try:
        return layer({"select": codes}).select or () if codes is not None else ()
    except SelectionError as error:
        raise click.UsageError(f"{option}: {error.message}") from None


def _ask(before: SourceFile, after: SourceFile, findings: Sequence[Finding]) -> bool:
    """Show what a repair is for and what it changes, and ask for it."""
    excerpts = Excerpts({before.path: before})
    for finding in findings:
        click.echo(render_finding(finding, excerpts))
    click.echo(unified_diff(before, after))
    return click.confirm(f"Repair {before.path} like this?", default=False)


def _show_ownership(place: str, settings: Settings) -> None:
    from loaderlint.linter.showing import show_ownership

    path, _, line = place.rpartition(":")
    if not path or not line.isdigit():
        raise click.UsageError(f"--show-ownership needs FILE:LINE, not {place!r}.")
    for text in show_ownership(path, int(line), settings):
        click.echo(text)


def _print_findings(report: Report, output_format: str) -> None:
    if output_format == "json":
        click.echo(render_json(report.findings, report.files, report.errors))
        return
    excerpts = Excerpts(report.sources)
    for finding in report.findings:
        click.echo(render_finding(finding, excerpts))
        click.echo()


def _print_summary(
    report: Report, run: FixRun | None, allowed: frozenset[Applicability], written: bool
) -> None:
    """Everything but findings and diffs goes to standard error: programs can read standard output."""
    for error in report.errors:
        click.echo(render_error(error), err=True)
    if run:
        for note in run.withdrawn:
            click.echo(render_withdrawal(note), err=True)
        click.echo(repaired(run.findings, run.files, written), err=True)
    for line in summary(report.findings, report.files, len(report.errors)):
        click.echo(line, err=True)
    for line in offer(report.findings, allowed if run else frozenset()):
        click.echo(line, err=True)
