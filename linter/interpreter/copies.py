"""Copies of streamed tensors: which are held while the stream moves on, and which nobody needs."""

from __future__ import annotations

from abc import ABC
from collections.abc import Iterator, Sequence

import libcst as cst
from loaderlint.linter.interpreter.events import Fact, HeldCopy, Holder, Note, Observation, Site
from loaderlint.linter.interpreter.frames import Argument, Context
from loaderlint.linter.interpreter.heap import CONTAINER_KINDS
from loaderlint.linter.interpreter.state import State
from loaderlint.linter.interpreter.untouched import Untouched
from loaderlint.linter.interpreter.values import NOTHING, Copy, Loan, Loc, Method, Value, leaves, loans
from loaderlint.linter.reading.nodes import receiver_node


class Copies(Untouched, ABC):
    """Follows copies as far as their cost is in question; what they hold is safe."""

    def __init__(self) -> None:
        super().__init__()
        # Whether there is a copy to look for, and the places that hold one of every item of a stream.
        self.copies_made = False
        self.whole_copies: set[cst.CSTNode] = set()

    def copied(self, loan: Loan, name: str, node: cst.CSTNode, context: Context) -> Value:
        """What a method that copies returns: only what contracts call a copy is as large as the tensor."""
        if loan.stale or name not in self.contracts.tensor_methods or name in self.contracts.tensor_results:
            return NOTHING
        self.copies_made = True
        return frozenset({Copy(loan.stream, Site(context.unit, node))})

    def copy_method(
        self,
        copy: Copy,
        name: str,
        arguments: Sequence[Argument],
        node: cst.CSTNode,
        state: State,
        context: Context,
    ) -> Value:
        """A method of a copy: what returns a tensor of that size returns a copy, too."""
        for item in arguments:
            self.read(state, frozenset(loans(item.value)), node, context)
        effect = self.contracts.tensor_methods.get(name, "metadata")
        other = effect == "metadata" or name in self.contracts.tensor_results
        return NOTHING if other else frozenset({copy})

    def look_at_copies(self, state: State, stream: Loc, loop: Site) -> None:
        """A step of `stream` is over. What was copied in the one before and is still held, is to the end, or nearly so."""
        if not self.copies_made or state.dead:
            return
        held = list(_held(state, stream))
        if stream in state.copied:
            self.whole_copies.update(copy.held.site.node for copy in held if not copy.stale)
        for copy in sorted((copy for copy in held if copy.stale), key=_place):
            self._observe_held(copy, loop)

    def _observe_held(self, copy: Copy, loop: Site) -> None:
        kept = copy.held
        unit = kept.site.unit
        notes = (
            Note("copied", copy.made, "copied here"),
            Note("kept", kept.site, "kept here"),
            Note("advanced", loop, "the stream moves on, and the copies stay"),
        )
        self.observe(
            HeldCopy(
                Fact.COPY_HELD,
                kept.site,
                unit.text(kept.tensor),
                notes,
                unit.text(kept.holder),
                made=copy.made,
                holder_kind=kept.kind,
                whole=kept.site.node in self.whole_copies,
            )
        )

    def copied_again(self, callee: Value, node: cst.Call, context: Context) -> None:
        """`tensor.clone().clone()`: the tensor is owned already."""
        methods = [atom for atom in callee if isinstance(atom, Method)]
        copies = [
            atom
            for method in methods
            for atom in method.receiver
            if isinstance(atom, Copy) and atom.held is None
        ]
        if not copies or node.args or len(copies) != len(callee) or _is_called(context):
            return
        name = methods[0].name
        if self.contracts.tensor_methods.get(name) == "copy" and name not in self.contracts.tensor_results:
            self._observe_again(copies[0].made, node, Note("read", Site(context.unit, node), "copied again"))

    def copied_to_be_copied(self, source: Argument, node: cst.CSTNode, context: Context) -> None:
        """`param.copy_(tensor.clone())`: nothing else can know the copy."""
        made = source.node
        copies = [atom for atom in source.value if isinstance(atom, Copy) and atom.made.node is made]
        if isinstance(made, cst.Call) and not made.args and copies and len(copies) == len(source.value):
            self._observe_again(
                copies[0].made, made, Note("read", Site(context.unit, node), "copied from there")
            )

    def _observe_again(self, made: Site, node: cst.Call, read: Note) -> None:
        at = Site(read.site.unit, node)
        tensor = at.unit.text(receiver_node(node))
        reader = "" if read.site.node is node else at.unit.text(read.site.node.func)
        notes = (Note("copied", made, "copied here"), read)
        self.observe(Observation(Fact.COPIED_AGAIN, at, tensor, notes, reader))


def _held(state: State, stream: Loc) -> Iterator[Copy]:
    """The copies in containers that can be reached, or that are just being made of the whole stream."""
    kept = [
        (loc, atom, atom.held)
        for loc, obj in state.heap.items()
        if obj.kind in CONTAINER_KINDS
        for atom in leaves(obj.contents)
        if isinstance(atom, Copy) and atom.stream == stream and atom.held is not None
    ]
    # What can be reached is looked up only where it matters: it takes long.
    live = state.live() if kept else ()
    for loc, atom, held in kept:
        if loc in live or (loc.recent and held.kind is Holder.MATERIALIZED):
            yield atom


def _is_called(context: Context) -> bool:
    """Whether a function of its own is running, which other callers may give what is lent."""
    here = context
    while here.caller is not None:
        here = here.caller
    return here.unit is not context.unit


def _place(copy: Copy) -> tuple[object, ...]:
    return (copy.made.unit.path, *copy.made.unit.range(copy.made.node))
