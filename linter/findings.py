"""What loaderlint reports: findings, the steps that prove them, and the edits that repair them."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum


class Category(str, Enum):
    """What a rule promises; the category decides the severity of its findings."""

    CORRECTNESS = "correctness"
    HAZARD = "hazard"
    PERFORMANCE = "performance"
    PEDANTIC = "pedantic"


class Severity(str, Enum):
    """How a finding counts: errors corrupt weights for some producer, warnings depend on more."""

    ERROR = "error"
    WARNING = "warning"


class Applicability(str, Enum):
    """How far a repair may be trusted.

    SAFE gives the same results for every producer and device; UNSAFE changes where or when something runs,
    or could lose a comment; DISPLAY is only shown.
    """

    SAFE = "safe"
    UNSAFE = "unsafe"
    DISPLAY = "display"


@dataclass(frozen=True, slots=True)
class Step:
    """One place on the way from the stream's yield to the stale read. Lines and columns count from 1."""

    kind: str
    path: str
    line: int
    column: int
    text: str


@dataclass(frozen=True, slots=True)
class Edit:
    """Replace the half-open range [(line, column), (end_line, end_column)) by `text`. All count from 1."""

    line: int
    column: int
    end_line: int
    end_column: int
    text: str


@dataclass(frozen=True, slots=True)
class Fix:
    """A repair: all of its edits are applied, or none. Findings of one holder share one equal Fix."""

    applicability: Applicability
    title: str
    edits: tuple[Edit, ...]


@dataclass(frozen=True, slots=True)
class NoFix:
    """Why a finding has no automatic repair, in a sentence for the user."""

    reason: str


@dataclass(frozen=True, slots=True)
class Finding:
    """One retention of a borrowed tensor. Lines and columns count from 1, `end_column` is exclusive.

    `consequences` are the lines that say under which producers it corrupts and what it costs otherwise.
    """

    code: str
    name: str
    category: Category
    severity: Severity
    path: str
    line: int
    column: int
    end_line: int
    end_column: int
    function: str
    message: str
    steps: tuple[Step, ...] = ()
    assumptions: tuple[str, ...] = ()
    consequences: tuple[str, ...] = ()
    fix: Fix | NoFix = NoFix("no repair is known for this shape")


@dataclass(frozen=True, slots=True)
class FileError:
    """A file that could not be checked: where, and what is wrong with it. `line` is 0 when it has no place."""

    path: str
    line: int
    message: str
