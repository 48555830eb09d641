"""The command `loaderlint` and its sub-commands."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from io import TextIOWrapper
from typing import Any, NoReturn

import click
from loaderlint.linter.check_command import check
from loaderlint.linter.guard_report_command import guard_report
from loaderlint.linter.reading.source import SourceError
from loaderlint.linter.reporting.text import render_error
from loaderlint.linter.rule_commands import explain, rules
from loaderlint.linter.settings import SettingsError

_HELP = """Find weight-loading code that keeps a streamed tensor after its stream has moved on.

Fast checkpoint streamers hand out views of a buffer that they write again. A loader that collects such
tensors (list(weights), pending[name] = w, executor.submit(load, w)) reads other data later: nothing
raises, and the model is silently wrong. loaderlint reads the code, without running it, and shows for each
such place the way from the tensor to the stale read.

"check" may be left out: what is no command is a PATH or an option of it, see "loaderlint check --help".
A path that is called like a command needs it: "loaderlint check rules".

\b
Exit status:
  0  nothing found
  1  findings (with --fix: findings that are left)
  2  something could not be done: a path that does not exist, a file that is not Python or
     cannot be written, a wrong option, setting or code; the other files are still checked

\b
Examples:
  loaderlint my_engine/                          check a project
  loaderlint --diff --unsafe-fixes loader.py     show what would be repaired
  loaderlint --fix loader.py                     repair what is safe to repair
  loaderlint explain LDR102                      what a rule finds, why, and what to do
"""


class _ChecksByDefault(click.Group):
    """Takes what names no command for the arguments of `check`, and turns failures into one line and a status."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        own = {*self.commands, "-h", "--help", "--version"}
        # Help and the version are printed here.
        with _failures_told(ctx):
            return super().parse_args(ctx, args if args and args[0] in own else ["check", *args])

    def invoke(self, ctx: click.Context) -> Any:
        with _failures_told(ctx):
            return super().invoke(ctx)


@contextmanager
def _failures_told(ctx: click.Context) -> Iterator[None]:
    try:
        yield
    except SettingsError as error:
        click.echo(str(error), err=True)
        ctx.exit(2)
    except SourceError as error:
        click.echo(render_error(error.error), err=True)
        ctx.exit(2)
    except BrokenPipeError:
        raise  # Whoever read the output has seen enough: click ends quietly.
    except OSError as error:
        # A current directory that is gone, a full disk behind standard output.
        with suppress(OSError):
            click.echo(f"loaderlint: {error}", err=True)
        ctx.exit(2)
    except KeyboardInterrupt:
        click.echo("interrupted", err=True)
        ctx.exit(130)


@click.group(
    cls=_ChecksByDefault,
    name="loaderlint",
    help=_HELP,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110},
)
@click.version_option(package_name="loaderlint", message="%(prog)s %(version)s")
@click.pass_context
def main(context: click.Context) -> None:
    """No colours where they are not wanted, and no failure over a name that the terminal cannot show."""
    if os.environ.get("NO_COLOR"):
        context.color = False
    if isinstance(sys.stdout, TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")


for command in (check, explain, guard_report, rules):
    main.add_command(command)


def run() -> NoReturn:
    """Run the command, and leave at once: to free a large project's syntax trees one by one takes seconds."""
    status = 0
    try:
        main(prog_name="loaderlint")
    except SystemExit as ended:
        status = ended.code if isinstance(ended.code, int) else 0
    for stream in (sys.stdout, sys.stderr):
        # Closed, or its reader has gone: click has seen to the exit status.
        with suppress(AttributeError, OSError, ValueError):
            stream.flush()
    os._exit(status)
