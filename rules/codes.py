"""Which rule codes there are. A rule is a module `ldr*.py` of this package: it needs no entry elsewhere."""

from __future__ import annotations

from functools import cache
from pkgutil import iter_modules

from loaderlint import rules

# What is said about loaderlint's own work.
INTERNAL_ERROR = "LDR900"
UNUSED = "LDR901"
UNRESOLVED = "LDR902"


@cache
def rule_codes() -> tuple[str, ...]:
    """All codes, sorted. No rule is imported for it: settings are checked in runs that never need one."""
    return tuple(
        sorted(name.upper() for _, name, _ in iter_modules(rules.__path__) if name.startswith("ldr"))
    )
