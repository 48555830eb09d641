"""The command `loaderlint`."""

from __future__ import annotations

import os
import sys
from contextlib import suppress
from io import TextIOWrapper
from pathlib import Path

import click
from loaderlint.linter.engine import Report, check_paths
from loaderlint.linter.findings import Applicability
from loaderlint.linter.fix_run import SAFE, SAFE_AND_UNSAFE, FixRun, fix, preview
from loaderlint.linter.reading.source import SourceError
from loaderlint.linter.reporting.excerpts import Excerpts
from loaderlint.linter.reporting.json import render_json
from loaderlint.linter.reporting.summary import offer, repaired, summary
from loaderlint.linter.reporting.text import (
    render_error,
    render_finding,
    render_withdrawal,
)
from loaderlint.linter.settings import Assume, Settings, SettingsError, load_settings

_HELP = """Find weight-loading code that keeps a streamed tensor after its stream has moved on.

Fast checkpoint streamers hand out views of a buffer that they write again. A loader that collects such
tensors (list(weights), pending[name] = w, executor.submit(load, w)) reads other data later: nothing
raises, and the model is silently wrong. loaderlint reads the code, without running it, and shows for each
such place the way from the tensor to the stale read.

PATH is a file or a directory; without one the current directory is checked, and "-" is standard input.
In directories all .py files are checked, except what git ignores and folders such as .venv or build.
A comment "# noqa: LDR102" at the end of a reported line silences that code there, "# noqa" every code.

\b
Exit status:
  0  nothing found
  1  findings (with --fix: findings that are left)
  2  something could not be done: a path that does not exist, a file that is not Python or
     cannot be written, a wrong option; the other files are still checked

\b
Examples:
  loaderlint my_engine/                          check a project
  loaderlint --diff --unsafe-fixes loader.py     show what would be repaired
  loaderlint --fix loader.py                     repair what is safe to repair
"""


class _Check(click.Command):
    """The one command; its name may be left out, so `loaderlint check PATH` is `loaderlint PATH`."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        return super().parse_args(ctx, args[1:] if args[:1] == ["check"] else args)


@click.command(
    cls=_Check,
    name="loaderlint",
    help=_HELP,
    options_metavar="[check] [OPTIONS]",
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110},
)
@click.argument("paths", nargs=-1, metavar="[PATH]...")
@click.option("--fix", "do_fix", is_flag=True, help="Repair in place what gives the same results everywhere.")
@click.option(
    "--unsafe-fixes", is_flag=True, help="With --fix or --diff: also repairs that you should review."
)
@click.option("--diff", "do_diff", is_flag=True, help="Show what --fix would change, and change nothing.")
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
@click.version_option(package_name="loaderlint", message="%(prog)s %(version)s")
@click.pass_context
def main(
    context: click.Context,
    paths: tuple[str, ...],
    do_fix: bool,
    unsafe_fixes: bool,
    do_diff: bool,
    output_format: str,
    assume: str | None,
    show_ownership: str | None,
) -> None:
    if unsafe_fixes and not (do_fix or do_diff):
        raise click.UsageError("--unsafe-fixes needs --fix (repair) or --diff (show the repairs).")
    if do_diff and output_format == "json":
        raise click.UsageError("--diff prints a diff; it cannot be combined with --output-format json.")
    _prepare_output(context)
    try:
        settings = load_settings(Path.cwd(), Assume(assume) if assume else None)
        if show_ownership is not None:
            _show_ownership(show_ownership, settings)
            return
        report = check_paths(paths or (".",), settings)
        allowed = SAFE_AND_UNSAFE if unsafe_fixes else SAFE
        if do_diff:
            run = preview(report, allowed)
            click.echo(run.diff, nl=False)
        else:
            run = fix(report, allowed) if do_fix else None
            _print_findings(report, output_format)
        _print_summary(report, run, allowed, written=not do_diff)
    except SettingsError as error:
        click.echo(str(error), err=True)
        context.exit(2)
    except SourceError as error:
        click.echo(render_error(error.error), err=True)
        context.exit(2)
    except BrokenPipeError:
        raise  # Whoever read the output has seen enough: click ends quietly.
    except OSError as error:
        # A current directory that is gone, a full disk behind standard output.
        with suppress(OSError):
            click.echo(f"loaderlint: {error}", err=True)
        context.exit(2)
    except KeyboardInterrupt:
        click.echo("interrupted", err=True)
        context.exit(130)
    context.exit(2 if report.errors else 1 if report.findings else 0)


def _show_ownership(place: str, settings: Settings) -> None:
    from loaderlint.linter.showing import show_ownership

    path, _, line = place.rpartition(":")
    if not path or not line.isdigit():
        raise click.UsageError(f"--show-ownership needs FILE:LINE, not {place!r}.")
    for text in show_ownership(path, int(line), settings):
        click.echo(text)


def _prepare_output(context: click.Context) -> None:
    """No colours where they are not wanted, and no failure over a name that the terminal cannot show."""
    if os.environ.get("NO_COLOR"):
        context.color = False
    if isinstance(sys.stdout, TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")


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
