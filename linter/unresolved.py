"""Entries of a project's own contracts that name what the project does not have (LDR902)."""

from __future__ import annotations

import os
from collections.abc import Iterator
from difflib import get_close_matches

from loaderlint.linter.contracts import load_contracts
from loaderlint.linter.findings import Finding, NoFix
from loaderlint.linter.reading.defined import missing_name
from loaderlint.linter.reading.modules import locate
from loaderlint.linter.reading.source import SourceFile
from loaderlint.linter.selection import is_on
from loaderlint.linter.settings import OwnContracts, Settings
from loaderlint.linter.toml_lines import line_of
from loaderlint.rules.codes import UNRESOLVED
from loaderlint.rules.registry import BY_CODE
from packaging.utils import canonicalize_name

# The tables that list qualified names, and those whose keys are qualified names.
_LISTING = ("functions", "classes")
_KEYED = ("lazy", "eager")


def unresolved(settings: Settings) -> tuple[SourceFile, list[Finding]] | None:
    """The file with the project's contracts and what is wrong in it; None for nothing."""
    own = settings.own
    if own is None or not own.table or not is_on(BY_CODE[UNRESOLVED], settings.layers):
        return None
    path = os.path.relpath(own.path)
    source = SourceFile(own.path if path.startswith("..") else path, own.text.encode(), own.text, "utf-8")
    found = [
        _finding(source, *_place(own, keys, entry, name), message)
        for keys, entry, name in _names(own)
        if (message := _problem(own, name))
    ]
    return (source, found) if found else None


def _names(own: OwnContracts) -> Iterator[tuple[tuple[str, ...], int, str]]:
    """(keys that lead to it, which of several entries, qualified name) of each name in the tables."""
    for place, producer in enumerate(own.table.get("producer", ())):
        yield from ((("producer", "calls"), place, name) for name in producer.get("calls", ()))
    for table in _LISTING:
        for effect, names in own.table.get(table, {}).items():
            yield from (((table, effect), 0, name) for name in names)
    for table in _KEYED:
        yield from (((table, name), 0, name) for name in own.table.get(table, {}))


def _problem(own: OwnContracts, name: str) -> str:
    """What is wrong with a name; "" for nothing, and for what belongs to others."""
    top = name.partition(".")[0]
    if top in _shipped_packages() or canonicalize_name(top) in own.requires:
        return ""
    folder = os.path.dirname(own.path)
    located = locate(name, (folder, os.path.join(folder, "src")))
    if located is None or not located[1]:
        return ""
    file, inside = located
    missing = missing_name(file, inside)
    if missing is None:
        return ""
    inner, part, others = missing
    where = ".".join(filter(None, [name.removesuffix(f".{inside}"), inner]))
    close = get_close_matches(part, others, 1)
    hint = f"; did you mean `{close[0]}`?" if close else ""
    return f"the contract for `{name}` has no effect: `{where}` has no `{part}`{hint}"


def _shipped_packages() -> frozenset[str]:
    contracts = load_contracts()
    names = (*contracts.producer_by_call, *contracts.functions, *contracts.classes, *contracts.lazy)
    return frozenset(name.partition(".")[0] for name in (*names, *contracts.modules))


def _place(own: OwnContracts, keys: tuple[str, ...], entry: int, name: str) -> tuple[int, int, int]:
    """(line, column, end column) of a name: where it stands in quotes, else where its key is."""
    line = line_of(own.text, ("tool", "loaderlint", "contracts", *keys), entry)
    lines = own.text.splitlines()
    for number in range(line, len(lines) + 1):
        for quote in "\"'":
            column = lines[number - 1].find(f"{quote}{name}{quote}")
            if column >= 0:
                return number, column + 1, column + len(name) + 3
    return line, 1, 1 + len(lines[line - 1])


def _finding(source: SourceFile, line: int, column: int, end_column: int, message: str) -> Finding:
    fix = NoFix("which name is meant is for you to say")
    return BY_CODE[UNRESOLVED].finding(source.path, (line, column, line, end_column), message, fix)
