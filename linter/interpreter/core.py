"""What every part of the interpreter shares: leases, holders, reads, and the places where they happened."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass, field

import libcst as cst

from loaderlint.linter.interpreter.events import Holder, Retention, Site
from loaderlint.linter.interpreter.heap import Kind, Obj
from loaderlint.linter.interpreter.state import State
from loaderlint.linter.interpreter.values import Atom, Guard, Kept, Loan, Loc, Owned, Ref, Tuple, Value, leaves, rewrite
from loaderlint.linter.interpreter.watching import Watch
from loaderlint.linter.reading.index import Class, FileIndex, Function
from loaderlint.linter.reading.project import Project
from loaderlint.linter.reading.slices import FunctionSlice
from loaderlint.linter.settings import Settings

OnItem = Callable[[State, Value], None]
STREAM_KINDS = frozenset({Kind.STREAM, Kind.MAYBE_STREAM, Kind.LAZY, Kind.GENERATOR})
CONTAINER_KINDS = frozenset({Kind.LIST, Kind.DICT, Kind.SET})
# Functions that call each other could be followed for ever; so many calls are followed in one analysis.
MAX_CALLS = 1500
# A loop's facts settle in two or three passes; the bound only guards against facts that keep growing.
MAX_PASSES = 8
MAX_DEPTH = 6


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
    # Inside a `try`: the join of the states in which something may raise.
    failing: State | None = None

    def depth(self) -> int:
        """How many calls this one is nested in."""
        return 0 if self.caller is None else self.caller.depth() + 1

    def runs(self, function: cst.CSTNode) -> bool:
        """Whether `function` is this call or one around it: a recursion."""
        return self.function is function or (self.caller is not None and self.caller.runs(function))


@dataclass(frozen=True, slots=True)
class Argument:
    """One argument of a call, evaluated."""

    value: Value
    node: cst.BaseExpression
    keyword: str = ""
    star: str = ""


class Core(ABC):
    """Shared state of one analysis, and the operations on leases. Each mixin implements one abstract method."""

    def __init__(self, project: Project, settings: Settings, watch: Watch | None = None) -> None:
        self.project = project
        self.watch = watch
        self.settings = settings
        self.contracts = settings.contracts
        self.retentions: dict[Hashable, Retention] = {}
        self.parents: dict[int, int | None] = {}
        self.executed: set[tuple[FileIndex, str]] = set()
        self._numbers: dict[Hashable, int] = {}
        self._texts: dict[cst.CSTNode, str] = {}
        self._verdicts: dict[cst.CSTNode, Value] = {}
        self._calls = 0
        self._advanced: dict[Loan, Site] = {}

    @abstractmethod
    def evaluate(self, node: cst.CSTNode, state: State, context: Context) -> Value:
        """The value of an expression; `state` is changed by its side effects."""

    @abstractmethod
    def execute(self, body: Sequence[cst.CSTNode], state: State, context: Context) -> None:
        """Run statements on `state`, in place."""

    @abstractmethod
    def iterate(
        self, state: State, value: Value, node: cst.CSTNode, context: Context, on_item: OnItem, pairs: bool = True
    ) -> None:
        """Iterate `value` to its end: `on_item` for each item, to a fixpoint; `node` is where it advances.

        `pairs` says that the items are used as (name, tensor), which tells a stream from an unknown result.
        """

    @abstractmethod
    def call(
        self, callee: Value, arguments: Sequence[Argument], node: cst.CSTNode, state: State, context: Context
    ) -> Value:
        """The result of calling `callee`."""

    @abstractmethod
    def member(self, node: cst.Attribute, state: State, context: Context) -> Value:
        """An attribute or bound method of a value."""

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
    def joins_at_exit(self, value: Value) -> bool:
        """Whether leaving a `with` over `value` waits for what was submitted."""

    @abstractmethod
    def captured(self, value: Value, state: State) -> list[Value]:
        """What the functions in `value` refer to in the scopes around them."""

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
    def global_object(self, state: State, index: FileIndex) -> Loc:
        """The object whose attributes are the module's global variables."""

    @abstractmethod
    def assign(self, target: cst.CSTNode, value: Value, state: State, context: Context, site: Assignment) -> None:
        """Bind or store `value`."""

    def number(self, key: Hashable) -> int:
        """A small number for `key`, the same for each asking, in the order of first asking."""
        return self._numbers.setdefault(key, len(self._numbers))

    def loc(self, node: cst.CSTNode, context: Context, role: str = "") -> Loc:
        """The allocation site of what `node` makes in this frame; `role` tells several of one node apart."""
        return Loc(self.number((node, context.frame, role)))

    def keep(self, value: Value, kept: Kept) -> Value:
        """`value` after it was put into a holder: its fresh loans are now held by it.

        Of a kept pair `(name, tensor)`, each part's loans remember the part that they came from.
        """
        display = kept.tensor
        if isinstance(display, cst.Tuple) and len(value) == 1:
            (atom,) = value
            if isinstance(atom, Tuple) and len(atom.items) == len(display.elements):
                parts = zip(atom.items, display.elements, strict=True)
                items = (self.keep(item, kept._replace(tensor=part.value)) for item, part in parts)
                return frozenset({Tuple(tuple(items))})

        def held(atom: Atom) -> Atom:
            if not isinstance(atom, Loan) or atom.stale:
                return atom
            # What a `partial` has captured stays captured, wherever the `partial` itself is put.
            captured = atom.kept is not None and atom.kept.kind is Holder.CAPTURED
            return atom if captured else atom._replace(kept=kept)

        return rewrite(value, held)

    def keep_inside(self, state: State, value: Value, kept: Kept) -> None:
        """A container was put into a holder: what it holds that nothing else has kept is held by that holder."""

        def held(atom: Atom) -> Atom:
            free = isinstance(atom, Loan) and not atom.stale and atom.kept is None
            return atom._replace(kept=kept) if free else atom

        for atom in list(state.reachable([value], within_call=True)):
            if isinstance(atom, Ref) and atom.loc in state.heap and state.heap[atom.loc].kind in CONTAINER_KINDS:
                state.heap[atom.loc] = state.heap[atom.loc].mapped(lambda inner: rewrite(inner, held))

    def advance(self, state: State, stream: Loc, site: Site) -> None:
        """The stream moves on: every loan of it, wherever it is held, is stale from here."""

        def aged(atom: Atom) -> Atom:
            if isinstance(atom, Guard) and atom.stream == stream:
                return Owned()
            if not isinstance(atom, Loan) or atom.stale or atom.stream != stream:
                return atom
            stale = atom._replace(stale=True)
            self._advanced.setdefault(stale._replace(conditional=False), site)
            return stale

        state.rewrite(aged)
        for loc in sorted(state.pending):
            self._report_all(
                state.reachable([state.heap[loc].items]),
                lambda loan: (loan.kept.site, "a worker may read it only now"),
            )

    def advance_all(self, state: State, value: Value, site: Site) -> None:
        """Every stream that `value` is, or is made from, moves on."""
        for atom in list(state.reachable([value])):
            if isinstance(atom, Ref) and atom.loc in state.heap and state.heap[atom.loc].kind is Kind.STREAM:
                self.advance(state, atom.loc, site)

    def read(
        self,
        state: State,
        value: Value,
        node: cst.CSTNode,
        context: Context,
        note: str = "read here",
        assumptions: tuple[str, ...] = (),
    ) -> None:
        """The data of everything in `value` is read at `node`; stale loans become retentions."""
        if value and not state.dead:
            self._report_all(
                state.reachable([value], within_call=True),
                lambda loan: self._visible(node, context, loan, note),
                assumptions,
            )

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
        for atom in list(leaves(value)):
            if isinstance(atom, Ref) and atom.loc in state.heap and state.heap[atom.loc].kind in STREAM_KINDS:
                self.iterate(
                    state,
                    frozenset({atom}),
                    node,
                    context,
                    lambda now, item: self.read(now, item, node, context, note, assumptions),
                )
            else:
                self.read(state, frozenset({atom}), node, context, note, assumptions)

    def outlive(self, value: Value, state: State) -> None:
        """What `value` refers to stays after the call: a function that is called later has captured it."""
        for loc, obj in state.objects(value):
            if obj.kind in CONTAINER_KINDS:
                state.update(loc, escapes=True)

    def escape(self, state: State) -> None:
        """The analysed call ended: what outlives it is read later."""
        outliving = [value for obj in state.heap.values() if obj.escapes for value in obj.values()]
        self._report_all(
            state.reachable(outliving),
            lambda loan: (loan.kept.site, "outlives this call, so it is read later"),
        )

    def _report_all(
        self,
        atoms: Iterable[Atom],
        read: Callable[[Loan], tuple[Site, str]],
        assumptions: tuple[str, ...] = (),
    ) -> None:
        """Report the stale loans among `atoms` that some holder kept, each holder's place once."""
        stale = {
            atom
            for atom in atoms
            if isinstance(atom, Loan)
            and atom.stale
            and atom.kept is not None
            and (atom.kept.site.node, atom.conditional) not in self.retentions
        }
        for loan in sorted(stale, key=_order) if len(stale) > 1 else stale:
            self._report(loan, *read(loan), assumptions)

    def _visible(self, node: cst.CSTNode, context: Context, loan: Loan, note: str) -> tuple[Site, str]:
        """The read as seen from the function that kept the tensor: its own statement, or the call made there."""
        here, seen = context, node
        while here is not None:
            if here.unit is loan.kept.site.unit:
                return Site(here.unit, seen), note if here is context else "read here, inside this call"
            seen, here = here.call or seen, here.caller
        return Site(context.unit, node), note

    def _report(self, loan: Loan, read: Site, note: str, assumptions: tuple[str, ...]) -> None:
        kept = loan.kept
        key = (kept.site.node, loan.conditional)
        if key in self.retentions:
            return
        unit = kept.site.unit
        self.retentions[key] = Retention(
            holder_kind=kept.kind,
            holder=unit.text(kept.holder),
            tensor=unit.text(kept.tensor),
            stream=unit.text(iterated(loan.borrowed.node)) if loan.borrowed.unit is unit else "",
            borrowed=loan.borrowed,
            kept=kept.site,
            advanced=self._advanced[loan._replace(conditional=False)],
            read=read,
            read_note=note,
            conditional=loan.conditional,
            assumptions=assumptions,
        )

    def fixpoint(self, state: State, once: Callable[[State], None]) -> None:
        """Run `once` zero or more times: `state` becomes the join of all."""
        for _ in range(MAX_PASSES):
            if state.dead:
                return
            before, pass_ = state.copy(), state.copy()
            once(pass_)
            state.join(pass_)
            if state.same_as(before):
                return

    def is_stream(self, state: State, value: Value) -> bool:
        """Whether `value` may be a stream or something lazy over one."""
        return any(obj.kind in STREAM_KINDS for _, obj in state.objects(value))

    def new(self, state: State, node: cst.CSTNode, context: Context, obj: Obj, role: str = "") -> Value:
        """A new object made by `node`."""
        return state.allocate(self.loc(node, context, role), obj)


@dataclass(frozen=True, slots=True)
class Assignment:
    """The statement that stores (`node`), and the expression whose value it stores."""

    node: cst.CSTNode
    value: cst.CSTNode


def _order(loan: Loan) -> tuple[object, ...]:
    """The order of the places that keep, so that reports do not depend on hashing."""
    kept = loan.kept
    parts = (kept.site.unit.range(node) for node in (kept.holder, kept.tensor))
    return (_place(kept.site), _place(loan.borrowed), *parts)


def _place(site: Site) -> tuple[object, ...]:
    return (site.unit.path, *site.unit.range(site.node))


def iterated(node: cst.CSTNode) -> cst.CSTNode:
    """What is iterated at a place that borrows: the loop's iterable, or the call itself."""
    return node.iter if isinstance(node, (cst.For, cst.CompFor)) else node
