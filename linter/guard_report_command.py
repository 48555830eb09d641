"""`loaderlint guard-report`: what the runtime guard saw in all processes of a run."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from loaderlint.runtime_guard.merging import Merged

_SHOWN_PROCESSES = 4


@click.command("guard-report", short_help="Merge the reports of the runtime guard.")
@click.argument("folder", metavar="DIR", type=click.Path(path_type=Path))
@click.option("--format", "chosen", type=click.Choice(["text", "json"]), default="text", show_default=True)
@click.option(
    "--exit-code",
    type=click.IntRange(0, 255),
    default=1,
    show_default=True,
    help="The exit status when anything was reported.",
)
@click.pass_context
def guard_report(context: click.Context, folder: Path, chosen: str, exit_code: int) -> None:
    """Print what the guarded processes of a run reported under DIR, which LOADERLINT_GUARD_REPORT named.

    The same place is printed once, with a count over all processes and ranks.

    \b
    Exit status:
      0  nothing was reported
      1  something was (another one with --exit-code)
      2  DIR or a file in it cannot be read; what the others say is printed all the same
    """
    from loaderlint.runtime_guard.merging import ReportError, merge

    try:
        merged = merge(folder)
    except ReportError as error:
        click.echo(f"loaderlint: {error}", err=True)
        context.exit(2)
    if chosen == "json":
        click.echo(json.dumps(merged.fields(), indent=2))
    else:
        click.echo("\n\n".join(_sections(merged, folder)))
    for line in merged.errors:
        click.echo(f"loaderlint: {line}", err=True)
    context.exit(2 if merged.errors else exit_code if merged.findings else 0)


def _sections(merged: Merged, folder: Path) -> list[str]:
    if not merged.processes and not merged.errors:
        return [f"no report in {folder}: no guarded process streamed lent tensors"]
    sections = [_finding(finding, merged) for finding in merged.findings]
    notes = dict.fromkeys(note for process in merged.processes for note in process.get("notes", ()))
    if notes:
        sections.append("\n".join(f"note: {note}" for note in notes))
    return [*sections, _summary(merged)]


def _finding(finding: dict[str, Any], merged: Merged) -> str:
    from loaderlint.runtime_guard.merging import process_name

    names = [process_name(merged.processes[index]) for index in finding["processes"]]
    more = f" and {len(names) - _SHOWN_PROCESSES} more" if len(names) > _SHOWN_PROCESSES else ""
    seen_in = "; ".join(names[:_SHOWN_PROCESSES]) + more
    return f"{finding['text']}\n  count        {finding['count']}\n  seen in      {seen_in}"


def _summary(merged: Merged) -> str:
    places, processes = len(merged.findings), len(merged.processes)
    total = sum(finding["count"] for finding in merged.findings)
    guards = sorted({guard for process in merged.processes for guard in process.get("guards", ())})
    found = f"{total} times at {places} place(s)" if places else "nothing reported"
    return f"{found}, {processes} guarded process(es) [{'; '.join(guards)}]"
