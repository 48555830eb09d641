"""What every part of the interpreter builds on: the state of one analysis, loops to a fixpoint, slots."""

from __future__ import annotations

from abc import ABC
from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

import libcst as cst
from loaderlint.linter.interpreter.copies import Copies
from loaderlint.linter.interpreter.events import Holder, Site
from loaderlint.linter.interpreter.frames import Context
from loaderlint.linter.interpreter.heap import STREAM_KINDS, VARIABLE_SLOT, Kind, Obj
from loaderlint.linter.interpreter.leases import iterated
from loaderlint.linter.interpreter.parts import Parts
from loaderlint.linter.interpreter.state import State
from loaderlint.linter.interpreter.values import NOTHING, Atom, Kept, Loan, Ref, Value, leaves
from loaderlint.linter.interpreter.watching import Watch
from loaderlint.linter.producers import Producer
from loaderlint.linter.reading.index import Class, FileIndex
from loaderlint.linter.reading.nodes import walk
from loaderlint.linter.reading.project import Project
from loaderlint.linter.settings import Settings

# Functions that call each other could be followed for ever; so many calls are followed in one analysis.
MAX_CALLS = 1500
# A loop's facts settle in two or three passes; the bound only guards against facts that keep growing.
MAX_PASSES = 8
MAX_DEPTH = 6


class Core(Parts, Copies, ABC):
    """Shared state of one analysis, and what every part does in the same way."""

    def __init__(self, project: Project, settings: Settings, watch: Watch | None = None) -> None:
        super().__init__()
        self.project = project
        self.watch = watch
        self.settings = settings
        self.contracts = settings.contracts
        self.parents: dict[int, int | None] = {}
        self.executed: set[tuple[FileIndex, str]] = set()
        # The class of the object that the analysed method is called on, and the methods of it that get what is lent.
        self.owner: Class | None = None
        self.hooks: set[str] = set()
        # Who lends, by the place that asked for it; a stream that the analysed function is given has nobody here.
        self.producers: dict[int, Producer] = {}
        self._texts: dict[cst.CSTNode, str] = {}
        self._verdicts: dict[cst.CSTNode, Value] = {}
        self._calls = 0
        # The slots that are named after variables, by frame.
        self._variable_slots: dict[int, set[str]] = {}

    def kept_at(
        self, node: cst.CSTNode, context: Context, kind: Holder, holder: cst.CSTNode, tensor: cst.CSTNode
    ) -> Kept:
        """What `node`, running in `context`, keeps."""
        return Kept(Site(context.unit, node), kind, holder, tensor, self._call_from_named(context))

    def _call_from_named(self, context: Context) -> Site | None:
        """The innermost call, in a file that was named, that led into another one; None inside the named ones."""
        here, call = context, None
        while here.unit.path not in self.project.named and here.caller is not None:
            here, call = here.caller, here.call
        return None if call is None else Site(here.unit, iterated(call))

    def consume(
        self,
        state: State,
        value: Value,
        node: cst.CSTNode,
        context: Context,
        note: str,
        assumptions: tuple[str, ...] = (),
    ) -> None:
        """Something unknown gets `value`: it reads tensors and containers, and drains streams."""

        def read(now: State, item: Value) -> None:
            self.read(now, item, node, context, note, assumptions)

        # It is one of these streams, not one after the other; those inside tuples are all there.
        choices = frozenset(atom for atom in value if self._is_one_stream(atom, state))
        for part in [choices, *(frozenset({atom}) for atom in leaves(value - choices))]:
            if any(self._is_one_stream(atom, state) for atom in part):
                self.iterate(state, part, node, context, read)
            else:
                read(state, part)

    def _is_one_stream(self, atom: Atom, state: State) -> bool:
        return isinstance(atom, Ref) and atom.loc in state.heap and state.heap[atom.loc].kind in STREAM_KINDS

    def evaluate_all(
        self, nodes: Sequence[cst.BaseExpression], state: State, context: Context
    ) -> list[Value]:
        """The values of expressions, one after the other: a later one may end the lease of an earlier one."""
        moving = [place for place, node in enumerate(nodes) if calls_something(node)]
        last = moving[-1] if moving else 0
        parked: dict[int, str] = {}
        values = []
        for place, node in enumerate(nodes):
            values.append(self.evaluate(node, state, context))
            if place < last and any(isinstance(atom, Loan) for atom in leaves(values[-1])):
                parked[place] = f"%part{self.number(('part', node))}"
                state.frames[context.frame][parked[place]] = values[-1]
        for place, slot in parked.items():
            values[place] = state.frames[context.frame].pop(slot, NOTHING)
        return values

    def fixpoint(self, state: State, once: Callable[[State], None]) -> None:
        """Run `once` zero or more times: `state` becomes the join of all."""
        for _ in range(MAX_PASSES):
            if state.dead:
                return
            before, pass_ = state.copy(), state.copy()
            once(pass_)
            state.join(pass_)
            if pass_.ended and not pass_.dead:
                newly = (loc for loc in pass_.ended if loc in before.heap and loc not in before.ended)
                state.ended.update((loc, pass_.ended[loc]._replace(again=True)) for loc in newly)
            if state.same_as(before):
                return

    def is_stream(self, state: State, value: Value) -> bool:
        """Whether `value` may be a stream, or something lazy over one."""
        return any(
            obj.kind in STREAM_KINDS or (obj.kind is Kind.OBJECT and self.iterates(loc, state))
            for loc, obj in state.objects(value)
        )

    def slot_of(self, node: cst.CSTNode | None, state: State, context: Context) -> str | None:
        """The slot of a container that a literal key, or a variable of the running function, names; else None."""
        if isinstance(node, (cst.SimpleString, cst.Integer)):
            return node.value
        if not isinstance(node, cst.Name) or node.value not in state.frames.get(context.frame, ()):
            return None
        slot = f"{VARIABLE_SLOT}{context.frame}:{node.value}"
        self._variable_slots.setdefault(context.frame, set()).add(slot)
        return slot

    def rebound(self, frame: int, name: str, state: State) -> None:
        """A variable gets another value: the slots named after it are other ones from here."""
        state.forget(frame, name)
        slot = f"{VARIABLE_SLOT}{frame}:{name}"
        if slot in self._variable_slots.get(frame, ()):
            state.settle({slot})

    def begun(self, frame: int, state: State) -> None:
        """A frame is used for another call: none of its variables is what it was."""
        state.forget(frame)
        if frame in self._variable_slots:
            state.settle(self._variable_slots[frame])

    def new(self, state: State, node: cst.CSTNode, context: Context, obj: Obj, role: str = "") -> Value:
        """A new object made by `node`."""
        return state.allocate(self.loc(node, context, role), obj)


@cache
def method_for(interpreter: type, prefix: str, kind: type) -> Callable[..., Any] | None:
    """The method of the interpreter that is for one kind of nodes; looked up once, as names made up are slow to find."""
    return getattr(interpreter, f"{prefix}{kind.__name__}", None)


_MOVING = {cst.Call, cst.Await}


@cache
def calls_something(node: cst.CSTNode) -> bool:
    """Whether evaluating an expression may move a stream on."""
    return any(type(inner) in _MOVING for inner in walk(node))
