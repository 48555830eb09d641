"""`loaderlint explain` and `loaderlint rules`: what the rules are."""

from __future__ import annotations

import json

import click
from loaderlint.linter.selection import near


@click.command(short_help="Print the pages of rules.")
@click.argument("named", nargs=-1, required=True, metavar="RULE...")
def explain(named: tuple[str, ...]) -> None:
    """Print the page of each RULE, given by its code or its name."""
    # The rules bring LibCST along, which takes a third of a second to import.
    from loaderlint.rules.pages import page
    from loaderlint.rules.registry import BY_CODE

    by_name = {rule.name: rule for rule in BY_CODE.values()}
    chosen = []
    for one in named:
        rule = BY_CODE.get(one.upper()) or by_name.get(one.lower())
        if rule is None:
            raise click.UsageError(f"there is no rule {one!r}{near(one, tuple(by_name))}")
        chosen.append(rule)
    click.echo("\n".join(page(rule) for rule in chosen), nl=False)


@click.command(short_help="List all rules.")
@click.option(
    "--output-format",
    type=click.Choice(["text", "json"]),
    default="text",
    show_default=True,
    help="How the rules are printed.",
)
def rules(output_format: str) -> None:
    """List all rules: category, whether they are on by default, whether a repair is ever offered, since when."""
    from loaderlint.rules.pages import facts, repair, state
    from loaderlint.rules.registry import BY_CODE

    if output_format == "json":
        listed = [facts(rule) for rule in BY_CODE.values()]
        click.echo(json.dumps({"version": 1, "rules": listed}, indent=2))
        return
    rows = [("code", "name", "category", "by default", "repair", "since")]
    rows += [
        (rule.code, rule.name, rule.category.value, state(rule), repair(rule), rule.since)
        for rule in BY_CODE.values()
    ]
    widths = [max(map(len, column)) for column in zip(*rows)]
    for row in rows:
        click.echo("  ".join(f"{cell:<{width}}" for cell, width in zip(row, widths)).rstrip())
