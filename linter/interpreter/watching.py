"""A place that the interpreter is asked about while it runs."""

from __future__ import annotations

from dataclasses import dataclass

import libcst as cst
from loaderlint.linter.interpreter.state import State
from loaderlint.linter.reading.slices import FunctionSlice


@dataclass(slots=True)
class Watch:
    """A line of a file; `state` becomes the join of all states in which its statement begins, in `frame`."""

    path: str
    line: int
    state: State | None = None
    frame: int = -1

    def look(self, statement: cst.CSTNode, unit: FunctionSlice, state: State, frame: int) -> None:
        """The interpreter is about to run `statement`."""
        is_it = unit.path == self.path and not isinstance(statement, cst.BaseSmallStatement)
        if not is_it or unit.range(statement)[0] != self.line:
            return
        if self.state is None:
            self.state, self.frame = state.copy(), frame
        else:
            self.state.join(state)
