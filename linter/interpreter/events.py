"""What an analysis observed: a borrowed tensor kept and read after its lease ended, or another fact about a loader."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum
from typing import NamedTuple, TypeAlias

import libcst as cst
from loaderlint.linter.producers import Producer
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
    KEEPER = "keeper"
    PARAMETER = "parameter"
    COPYING = "copying"


class Fact(str, Enum):
    """What an event says; each rule is about one of these."""

    RETAINED = "retained"
    MUTATED = "mutated"
    MARKER_LOST = "marker-lost"
    STACK_REQUIRED = "stack-required"
    COPY_HELD = "copy-held"
    COPIED_AGAIN = "copied-again"
    ANSWER_LOST = "answer-lost"
    LOADER_LOST = "loader-lost"
    RESTORED_OVER = "restored-over"
    USED_AFTER_CLOSE = "used-after-close"
    READ_UNDRAINED = "read-undrained"
    CONSUMED_TWICE = "consumed-twice"
    ITEM_DROPPED = "item-dropped"
    STREAM_IGNORED = "stream-ignored"


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
    on, `read` the place that reads stale data. `conditional` marks a copy that may have been none (`.to(device)`),
    `yielded` a tensor that was stale already when the generator that kept it yielded it.

    `call` is where the files that were named for the check call into the one that keeps it; None where it is one of
    them. `closed` says that the producer was closed, rather than asked for its next item. `is_callers` says that the
    event is for the call: who did not name the other file can see only that. `producer` lends, if the code tells who.
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
    yielded: bool = False
    call: Site | None = None
    is_callers: bool = False
    closed: bool = False
    producer: Producer | None = None

    @property
    def fact(self) -> Fact:
        """What is to be said of it: a stream that is closed elsewhere is over, a copy that may be none is doubtful."""
        here = self.closed and self.advanced.unit is self.kept.unit
        return Fact.USED_AFTER_CLOSE if here and not self.conditional else Fact.RETAINED

    @property
    def at(self) -> Site:
        """Where it is reported."""
        return self.call if self.is_callers else self.kept


class Note(NamedTuple):
    """One place on the way to an observation: a word for programs, where, and what happens there."""

    kind: str
    site: Site
    text: str


@dataclass(frozen=True, slots=True)
class Observation:
    """A fact about a loader other than a retention.

    `at` is where it is reported; `subject` is the source text that the message names, `detail` a second one where
    the fact needs it. `notes` lead there, in the order in which things happen.
    """

    fact: Fact
    at: Site
    subject: str
    notes: tuple[Note, ...] = ()
    detail: str = ""
    assumptions: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class HeldCopy(Observation):
    """Copies that `made` makes of a stream's tensors are still held, by `at` in a container, when the stream has moved on.

    `whole` says that each tensor is copied and held, whatever it is called.
    """

    made: Site = field(kw_only=True)
    holder_kind: Holder = field(kw_only=True)
    whole: bool = field(kw_only=True)


Event: TypeAlias = "Retention | Observation"
