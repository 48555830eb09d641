"""`python -m loaderlint.linter` is `loaderlint`."""

from __future__ import annotations

from loaderlint.linter.cli import main

main(prog_name="loaderlint")
