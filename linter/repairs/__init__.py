"""Repairs: from what the interpreter observed to text edits that remove it."""

from __future__ import annotations

from loaderlint.linter.repairs.planning import plan

__all__ = ["plan"]
