"""Parameters and buffers that are made of a tensor, or given its memory: they live as long as their module."""

from __future__ import annotations

from abc import ABC
from collections.abc import Sequence

import libcst as cst
from loaderlint.linter.interpreter.core import Core
from loaderlint.linter.interpreter.events import Holder
from loaderlint.linter.interpreter.frames import Argument, Context
from loaderlint.linter.interpreter.heap import Kind, Obj
from loaderlint.linter.interpreter.state import State
from loaderlint.linter.interpreter.values import NOTHING, Loan, Value, loans


class Adoption(Core, ABC):
    """Makes parameters, and stores tensors in what belongs to a module."""

    def parameter(
        self, arguments: Sequence[Argument], node: cst.CSTNode, state: State, context: Context
    ) -> Value:
        """`Parameter(tensor)`: wherever it is put, it is the tensor's memory."""
        made = [
            self.keep(
                self.view(item.value, node, context),
                self.kept_at(node, context, Holder.PARAMETER, node, item.node),
            )
            for item in arguments
        ]
        return NOTHING.union(*made)

    def adopt(
        self, arguments: Sequence[Argument], node: cst.CSTNode, state: State, context: Context
    ) -> Value:
        """`module.register_buffer(name, tensor)`: a module has the tensor, also one in a dict, from here on."""
        held: Value = NOTHING
        for item in arguments:
            self.read(state, item.value, node, context)
            reached = state.reachable([item.value], within_call=True)
            lent = frozenset(atom for atom in reached if isinstance(atom, Loan))
            kept = self.kept_at(node, context, Holder.PARAMETER, node, item.node)
            held |= self.keep(lent, kept)
        if held:
            self.new(state, node, context, Obj(Kind.OBJECT, held, escapes=True), "module")
        return NOTHING

    def belong_to_module(
        self, holders: Value, held: Value, node: cst.CSTNode, state: State, context: Context
    ) -> None:
        """What a parameter is stored in, and nothing is known of, is a module or a parameter: it outlives the call."""
        made = (loan for loan in loans(held) if loan.kept is not None and loan.kept.kind is Holder.PARAMETER)
        parameters: Value = frozenset(made)
        objects = state.objects(holders) if parameters else []
        for loc, obj in objects:
            if obj.kind is Kind.OBJECT and obj.code is None:
                state.update(loc, escapes=True)
        if parameters and not objects:
            self.new(state, node, context, Obj(Kind.OBJECT, parameters, escapes=True), "module")
