"""What every part of the interpreter builds on: the leases, and what the other parts provide."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable, Sequence
from functools import cache

import libcst as cst
from loaderlint.linter.interpreter.copies import Copies
from loaderlint.linter.interpreter.events import Holder, Site
from loaderlint.linter.interpreter.frames import Argument, Assignment, Consumer, Context, OnItem
from loaderlint.linter.interpreter.heap import STREAM_KINDS, VARIABLE_SLOT, Kind, Obj
from loaderlint.linter.interpreter.leases import iterated
from loaderlint.linter.interpreter.state import State
from loaderlint.linter.interpreter.values import NOTHING, Atom, Kept, Loan, Loc, Ref, Value, leaves
from loaderlint.linter.interpreter.watching import Watch
from loaderlint.linter.reading.index import Class, FileIndex, Function
from loaderlint.linter.reading.makers import Maker
from loaderlint.linter.reading.nodes import walk
from loaderlint.linter.reading.project import Project
from loaderlint.linter.settings import Settings

# Functions that call each other could be followed for ever; so many calls are followed in one analysis.
MAX_CALLS = 1500
# A loop's facts settle in two or three passes; the bound only guards against facts that keep growing.
MAX_PASSES = 8
MAX_DEPTH = 6


class Core(Copies, ABC):
    """Shared state of one analysis. Each part of the interpreter implements some of the abstract methods."""

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
        self._texts: dict[cst.CSTNode, str] = {}
        self._verdicts: dict[cst.CSTNode, Value] = {}
        self._calls = 0
        # Results of calls that changed nothing, with the objects that they were made with.
        self._results: dict[Hashable, tuple[Value, tuple[Obj, ...]]] = {}
        # The slots that are named after variables, by frame.
        self._variable_slots: dict[int, set[str]] = {}

    @abstractmethod
    def evaluate(self, node: cst.CSTNode, state: State, context: Context) -> Value:
        """The value of an expression; `state` is changed by its side effects."""

    @abstractmethod
    def execute(self, body: Sequence[cst.CSTNode], state: State, context: Context) -> None:
        """Run statements on `state`, in place."""

    @abstractmethod
    def iterate(
        self,
        state: State,
        value: Value,
        node: cst.CSTNode,
        context: Context,
        on_item: OnItem,
        pairs: bool = True,
    ) -> None:
        """Iterate `value` to its end: `on_item` for each item, to a fixpoint; `node` is where it advances.

        `pairs` says that the items are used as (name, tensor), which tells a stream from an unknown result.
        """

    @abstractmethod
    def feed(self, state: State, value: Value, to: Consumer) -> None:
        """The same, for a consumer that is at hand."""

    @abstractmethod
    def next_item(self, state: State, value: Value, node: cst.CSTNode, context: Context) -> Value:
        """What `next(value)` gives: the first item of any step, the states after it joined."""

    @abstractmethod
    def iterate_object(self, state: State, loc: Loc, to: Consumer) -> bool:
        """Iterate an object as its class says; False if the class does not say how."""

    @abstractmethod
    def missing(self, loc: Loc, state: State, context: Context) -> None:
        """A key is asked for that may not be in the container at `loc`."""

    @abstractmethod
    def put_into(
        self, arguments: Sequence[Argument], node: cst.CSTNode, state: State, context: Context
    ) -> Value:
        """A function that puts its last argument into the first."""

    @abstractmethod
    def subscript_slot(self, node: cst.Subscript, state: State, context: Context) -> str | None:
        """The slot that a subscript with one known key or index names."""

    @abstractmethod
    def taken_from(self, holder: Value, state: State) -> Value:
        """Any item of a container."""

    @abstractmethod
    def reduced(self, inputs: Sequence[Value], node: cst.CSTNode, state: State, context: Context) -> Value:
        """The result of folding a function over what is iterated."""

    @abstractmethod
    def place(self, node: cst.CSTNode, state: State, context: Context, depth: int = 0) -> Value:
        """The object that `node` names, made up where nothing is known of it."""

    @abstractmethod
    def special(
        self,
        loc: Loc,
        name: str,
        arguments: Sequence[Argument],
        node: cst.CSTNode,
        state: State,
        context: Context,
    ) -> Value | None:
        """The result of a method that the language calls on an object; None if its class has none."""

    @abstractmethod
    def accessor(self, loc: Loc, name: str, state: State) -> Function | None:
        """The property of that name (its setter: `name.setter`) that the class of an object has."""

    @abstractmethod
    def worth_running(self, function: Function, arguments: Sequence[Argument], state: State) -> bool:
        """Whether a function of the project can matter."""

    @abstractmethod
    def call(
        self, callee: Value, arguments: Sequence[Argument], node: cst.CSTNode, state: State, context: Context
    ) -> Value:
        """The result of calling `callee`."""

    @abstractmethod
    def member(self, node: cst.Attribute, state: State, context: Context) -> Value:
        """An attribute or bound method of a value."""

    @abstractmethod
    def attribute_value(self, loc: Loc, name: str, state: State) -> Value:
        """What the class of the object at `loc` sets an attribute to."""

    @abstractmethod
    def made_by(self, made: Maker, loc: Loc, state: State) -> Value:
        """The object of a known class, or the container, that `made` makes at `loc`."""

    @abstractmethod
    def member_object(self, loc: Loc, name: str, state: State) -> Value:
        """The object behind an attribute, made up if need be."""

    @abstractmethod
    def outcome(self, test: cst.BaseExpression, state: State, context: Context) -> bool | None:
        """The outcome of a condition that is known, None for any other."""

    @abstractmethod
    def narrow(self, test: cst.BaseExpression, passed: State, failed: State, context: Context) -> None:
        """Learn from a condition that has been evaluated, in the states of both its outcomes."""

    @abstractmethod
    def put(self, loc: Loc, value: Value, state: State, kept: Kept, keys: Value = frozenset()) -> None:
        """Add one item to a container."""

    @abstractmethod
    def extend(
        self,
        loc: Loc,
        source: Value,
        state: State,
        context: Context,
        node: cst.CSTNode,
        holder: cst.CSTNode,
        tensor: cst.CSTNode,
    ) -> None:
        """Add all items of an iterable to a container."""

    @abstractmethod
    def materialized(
        self, value: Value, node: cst.CSTNode, source: cst.CSTNode, state: State, context: Context
    ) -> Value:
        """The list of all items of a stream, which `node` collects."""

    @abstractmethod
    def looks_at_loans(self, test: cst.BaseExpression, state: State, context: Context) -> bool:
        """Whether a condition depends on a borrowed tensor itself."""

    @abstractmethod
    def await_futures(self, value: Value, state: State) -> Value:
        """Wait for the futures that can be reached."""

    @abstractmethod
    def joins_at_exit(self, value: Value) -> bool:
        """Whether leaving a `with` over `value` waits for what was submitted."""

    @abstractmethod
    def captured(self, value: Value, state: State) -> list[Value]:
        """What the functions in `value` refer to in the scopes around them."""

    @abstractmethod
    def parameter(
        self, arguments: Sequence[Argument], node: cst.CSTNode, state: State, context: Context
    ) -> Value:
        """A parameter or buffer that is made of a tensor."""

    @abstractmethod
    def adopt(
        self, arguments: Sequence[Argument], node: cst.CSTNode, state: State, context: Context
    ) -> Value:
        """A module gets the memory of what is given."""

    @abstractmethod
    def belong_to_module(
        self, holders: Value, held: Value, node: cst.CSTNode, state: State, context: Context
    ) -> None:
        """What a parameter is stored in outlives the call."""

    @abstractmethod
    def written(
        self, tensor: Value, text: cst.CSTNode, source: Value, node: cst.CSTNode, context: Context
    ) -> None:
        """`node` writes `source` into a tensor."""

    @abstractmethod
    def view(self, value: Value, node: cst.CSTNode, context: Context) -> Value:
        """What `node` makes of the tensors in `value`: other tensors of the same memory."""

    @abstractmethod
    def ask_for_marker(
        self, arguments: Sequence[Argument], node: cst.CSTNode, state: State, context: Context
    ) -> None:
        """A tensor is asked whether it has an attribute."""

    @abstractmethod
    def mark(self, value: Value, name: cst.CSTNode | str, state: State, context: Context) -> None:
        """Something is given an attribute."""

    @abstractmethod
    def written_out(self, arguments: Sequence[Argument], node: cst.CSTNode, context: Context) -> None:
        """The result of a function is written into a tensor that it is given."""

    @abstractmethod
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
        """A method that may copy later is called."""

    @abstractmethod
    def keep_for_good(
        self, arguments: Sequence[Argument], node: cst.CSTNode, state: State, context: Context
    ) -> Value:
        """A callee that a contract calls a keeper."""

    @abstractmethod
    def run_as_loader(self, loader: Value, node: cst.CSTNode, state: State, context: Context) -> None:
        """What may happen once a parameter has this weight loader."""

    @abstractmethod
    def function_value(self, node: cst.CSTNode, state: State, context: Context) -> Value:
        """A nested function or lambda, with the frame that it captures."""

    @abstractmethod
    def project_function(self, function: Function, state: State) -> Value:
        """A function or method of the project."""

    @abstractmethod
    def comprehend(
        self,
        clause: cst.CompFor,
        source: Value,
        state: State,
        context: Context,
        emit: Callable[[State, Context], None],
    ) -> None:
        """Run the clauses of a comprehension."""

    @abstractmethod
    def global_place(self, index: FileIndex) -> Loc:
        """Where the module's global variables are."""

    @abstractmethod
    def global_object(self, state: State, index: FileIndex) -> Loc:
        """The object whose attributes are the module's global variables."""

    @abstractmethod
    def assign(
        self, target: cst.CSTNode, value: Value, state: State, context: Context, site: Assignment
    ) -> None:
        """Bind or store `value`."""

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

    @abstractmethod
    def iterates(self, loc: Loc, state: State) -> bool:
        """Whether an object hands out what is lent when it is iterated."""

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
def calls_something(node: cst.CSTNode) -> bool:
    """Whether evaluating an expression may move a stream on."""
    return any(isinstance(inner, (cst.Call, cst.Await)) for inner in walk(node))
