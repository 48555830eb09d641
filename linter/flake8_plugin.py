"""loaderlint as a flake8 plugin: the codes LDR. Most files hold no loader; they cost no further import."""

from __future__ import annotations

import argparse
import ast
from collections.abc import Iterator
from functools import cache
from importlib.metadata import version
from pathlib import Path

from loaderlint.linter.reading.sieve import Sieve
from loaderlint.linter.settings import Settings, SettingsError, load_settings


class Flake8Plugin:
    """What flake8 creates for each file. It reads `# noqa` comments itself, so it is given all findings."""

    name = "loaderlint"
    version = version("loaderlint")

    def __init__(self, tree: ast.AST, filename: str, lines: list[str]) -> None:
        # flake8 takes a plugin with the argument `tree` for one that looks at whole files.
        del tree
        self._filename = filename
        self._lines = lines

    @staticmethod
    def parse_options(options: argparse.Namespace) -> None:
        """What flake8 calls before it looks at files: a wrong setting ends its run, with status 1."""
        del options
        try:
            _project()
        except SettingsError as error:
            from flake8.exceptions import ExecutionError

            raise ExecutionError(f"loaderlint: {error}") from None

    def run(self) -> Iterator[tuple[int, int, str, type[Flake8Plugin]]]:
        """Yield (line from 1, column from 0, text, plugin). A failure of ours becomes an LDR900."""
        try:
            findings = self._findings()
        except Exception as error:  # flake8 would end the whole run.
            findings = [(1, 0, f"LDR900 internal error, please report it: {type(error).__name__}: {error}")]
        for line, column, text in findings:
            yield line, column, text, Flake8Plugin

    def _findings(self) -> list[tuple[int, int, str]]:
        # These are lines that flake8 has decoded already; a declared encoding no longer matters.
        text = "".join(self._lines)
        raw = text.encode("utf-8", "surrogatepass")
        settings, sieve = _project()
        if not sieve.may_handle_weights(raw):
            return []
        from loaderlint.linter.engine import check_file
        from loaderlint.linter.reading.source import SourceFile

        findings = check_file(SourceFile(self._filename, raw, text, "utf-8"), settings)
        return [(one.line, one.column - 1, f"{one.code} {one.message}") for one in findings]


@cache
def _project() -> tuple[Settings, Sieve]:
    """The settings of the project that flake8 runs in, read once in each of its processes."""
    settings = load_settings(Path.cwd())
    return settings, Sieve(settings.contracts)
