"""Writes into tensors: what is written in place, and copies that may still be running."""

from __future__ import annotations

from abc import ABC
from collections.abc import Sequence

import libcst as cst
from loaderlint.linter.interpreter.core import Core
from loaderlint.linter.interpreter.events import Fact, Holder, Note, Observation, Site
from loaderlint.linter.interpreter.frames import Argument, Context
from loaderlint.linter.interpreter.heap import Kind, Obj
from loaderlint.linter.interpreter.state import State
from loaderlint.linter.interpreter.values import NOTHING, Value, loans


class Writing(Core, ABC):
    """Observes writes into lent memory, and starts copies in the background."""

    def written(
        self, tensor: Value, text: cst.CSTNode, source: Value, node: cst.CSTNode, context: Context
    ) -> None:
        """`node` writes `source` into `tensor`, which `text` names. A copy that may be none is left to who made it.

        Nobody writes a tensor into itself: then it is another one, which could not be told from it.
        """
        given = {loan.borrowed for loan in loans(source)}
        lent = (
            loan for loan in loans(tensor) if not (loan.stale or loan.conditional or loan.borrowed in given)
        )
        loan = next(lent, None)
        if loan is not None:
            at = Site(context.unit, node)
            notes = (
                Note("borrowed", loan.borrowed, "borrowed here"),
                Note("written", at, "written in place here"),
            )
            self.observe(Observation(Fact.MUTATED, at, context.unit.text(text), notes))

    def written_out(self, arguments: Sequence[Argument], node: cst.CSTNode, context: Context) -> None:
        """`torch.mul(a, b, out=tensor)`."""
        for item in arguments:
            if item.keyword == "out":
                self.written(item.value, item.node, NOTHING, node, context)

    def copy_in_background(
        self,
        name: str,
        source: Value,
        tensor: cst.CSTNode,
        arguments: Sequence[Argument],
        node: cst.CSTNode,
        state: State,
        context: Context,
    ) -> None:
        """`tensor.to(device, non_blocking=True)` may read its source until something waits for it."""
        keyword = self.contracts.background_if_true.get(name)
        if keyword is None or not _is_asked_for(arguments, keyword):
            return
        kept = self.kept_at(node, context, Holder.COPYING, node, tensor)
        fresh = (loan for loan in loans(source) if not (loan.stale or loan.conditional))
        read = frozenset(loan._replace(kept=kept) for loan in fresh)
        if read:
            copy = self.new(state, node, context, Obj(Kind.FUTURE, read, operation="copy"), "copy")
            state.pending |= frozenset(state.refs(copy))


def _is_asked_for(arguments: Sequence[Argument], keyword: str) -> bool:
    """Whether a flag is set here, also under a condition; of one that is passed on, that is not known."""
    given = next((item.node for item in arguments if item.keyword == keyword), None)
    if isinstance(given, cst.Name):
        return given.value == "True"
    return isinstance(given, (cst.Comparison, cst.BooleanOperation, cst.UnaryOperation))
