"""What the interpreter observed: a borrowed tensor that was kept and read after its lease ended."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

import libcst as cst
from loaderlint.linter.reading.slices import FunctionSlice


class Holder(str, Enum):
    """What kept the tensor reachable."""

    MATERIALIZED = "materialized"
    LIST = "list"
    DICT = "dict"
    OBJECT = "object"
    VARIABLE = "variable"
    CAPTURED = "captured"
    TEED = "teed"
    SUBMITTED = "submitted"


@dataclass(frozen=True, slots=True)
class Site:
    """A node of the user's code, in the function slice that it was parsed from."""

    unit: FunctionSlice
    node: cst.CSTNode


@dataclass(frozen=True, slots=True)
class Retention:
    """A borrowed tensor was kept across an advance and its data read afterwards.

    `kept` is the statement or expression that put it into its holder (`pending[name] = w`, `kept.append(w)`,
    `list(weights)`); `holder` and `tensor` are source text. `advanced` is the loop or call that moved the stream
    on, `read` the place that reads stale data. `conditional` marks a copy that may have been none (`.to(device)`).
    """

    holder_kind: Holder
    holder: str
    tensor: str
    stream: str
    borrowed: Site
    kept: Site
    advanced: Site
    read: Site
    read_note: str
    conditional: bool
    assumptions: tuple[str, ...]
