"""`python -m loaderlint.linter` is `loaderlint`."""

from __future__ import annotations

from loaderlint.linter.cli import run

run()
