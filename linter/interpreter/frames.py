"""Running functions: their frames, what leaves them early, and what calls and assignments carry."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import NamedTuple

import libcst as cst
from loaderlint.linter.interpreter.state import State
from loaderlint.linter.interpreter.values import Guard, Value
from loaderlint.linter.reading.index import Class, FileIndex
from loaderlint.linter.reading.slices import FunctionSlice

OnItem = Callable[[State, Value], None]


@dataclass(frozen=True, slots=True)
class Returned:
    """One way out of a function: the state there, the value, and the expression that gave it."""

    state: State
    value: Value
    node: cst.CSTNode


@dataclass(slots=True, eq=False)
class Context:
    """One running function: its frame, where `yield` goes, and the states that leave its loops and itself early."""

    frame: int
    index: FileIndex
    owner: Class | None
    unit: FunctionSlice
    function: cst.CSTNode
    qualname: str
    caller: Context | None = None
    call: cst.CSTNode | None = None
    on_yield: OnItem | None = None
    breaks: list[State] = field(default_factory=list)
    continues: list[State] = field(default_factory=list)
    returns: list[Returned] = field(default_factory=list)
    globals: set[str] = field(default_factory=set)
    nonlocals: set[str] = field(default_factory=set)
    lent: frozenset[Guard] = frozenset()
    # Inside a comprehension, which has a frame of its own: the frame of the function around it.
    around: int | None = None
    # Inside a `try`: the join of the states in which something may raise.
    failing: State | None = None

    def depth(self) -> int:
        """How many calls this one is nested in."""
        return 0 if self.caller is None else self.caller.depth() + 1

    def runs(self, function: cst.CSTNode) -> bool:
        """Whether `function` is this call or one around it: a recursion."""
        return self.function is function or (self.caller is not None and self.caller.runs(function))


class Consumer(NamedTuple):
    """Who iterates: `on_item` runs for each item, and `node` is where it asks for the next one.

    `pairs` says that the items are used as (name, tensor), which tells a stream from an unknown result.
    """

    node: cst.CSTNode
    context: Context
    on_item: OnItem
    pairs: bool = True

    def of(self, on_item: OnItem, pairs: bool = True) -> Consumer:
        """The same place of iteration, with something else done for each item."""
        return self._replace(on_item=on_item, pairs=pairs)


@dataclass(frozen=True, slots=True)
class Argument:
    """One argument of a call, evaluated."""

    value: Value
    node: cst.BaseExpression
    keyword: str = ""
    star: str = ""


@dataclass(frozen=True, slots=True)
class Assignment:
    """The statement that stores (`node`), and the expression whose value it stores."""

    node: cst.CSTNode
    value: cst.CSTNode
