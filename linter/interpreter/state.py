"""The abstract state at one point of the program: variables of every live frame, and the heap."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Set
from dataclasses import replace

from loaderlint.linter.interpreter.events import Site
from loaderlint.linter.interpreter.heap import STREAM_KINDS, Kind, Obj
from loaderlint.linter.interpreter.values import (
    NOTHING,
    TEXT,
    Aside,
    Atom,
    Ended,
    Loan,
    Loc,
    Method,
    Ref,
    Tuple,
    Value,
    leaves,
    rewrite,
)


class State:
    """Mutable: statements change it in place, branches work on copies and are joined.

    A `dead` state is unreachable: nothing changes it, and joining it adds nothing. `pending` are the futures whose
    work may still be running, `facts` the outcomes of conditions: the frame and text of one, and its names. `ended` are
    the streams that are over on every way that leads here, `copied` those whose newest item is, on every such way,
    copied and held, `aside` the containers that generators fill. `touched` are the streams that may have been
    mentioned, `loads` where on some way weights come from elsewhere, and the stream that had not been mentioned before.
    """

    __slots__ = ("frames", "heap", "pending", "copied", "facts", "ended", "aside", "touched", "loads", "dead")

    def __init__(self) -> None:
        self.frames: dict[int, dict[str, Value]] = {}
        self.heap: dict[Loc, Obj] = {}
        self.pending: frozenset[Loc] = frozenset()
        self.copied: frozenset[Loc] = frozenset()
        self.facts: dict[tuple[int, str], tuple[bool, frozenset[str]]] = {}
        self.ended: dict[Loc, Ended] = {}
        self.aside: dict[Loc, Aside] = {}
        self.touched: frozenset[Ref] = frozenset()
        self.loads: frozenset[tuple[Ref, Site]] = frozenset()
        self.dead = False

    def copy(self) -> State:
        """An independent state; the objects, being immutable, are shared."""
        other = State()
        other.become(self)
        return other

    def become(self, other: State) -> None:
        """Take over everything of `other`."""
        self.frames = {frame: dict(names) for frame, names in other.frames.items()}
        self.heap = dict(other.heap)
        self.pending = other.pending
        self.copied = other.copied
        self.facts = dict(other.facts)
        self.ended = dict(other.ended)
        self.aside = dict(other.aside)
        self.touched = other.touched
        self.loads = other.loads
        self.dead = other.dead

    def join(self, other: State) -> None:
        """Become the state that is either of the two."""
        if other.dead:
            return
        if self.dead:
            self.become(other)
            return
        self._join_ended(other)
        # Before the variables: what they refer to on each side decides which objects are garbage there.
        self._join_heap(other)
        for frame, names in other.frames.items():
            mine = self.frames.setdefault(frame, {})
            for name, value in names.items():
                known = mine.get(name, NOTHING)
                if known is not value:
                    mine[name] = known | value
        self.pending |= other.pending
        self.copied &= other.copied
        self.touched |= other.touched
        self.loads |= other.loads
        if other.aside:
            self.aside = {**other.aside, **self.aside}
        if self.facts:
            self.facts = {key: fact for key, fact in self.facts.items() if other.facts.get(key) == fact}

    def forget(self, frame: int, name: str | None = None) -> None:
        """A variable or attribute is set (no name: all are): what was known of conditions on it counts no more."""
        if self.facts:
            self.facts = {
                key: fact
                for key, fact in self.facts.items()
                if key[0] != frame or not (name is None or name in fact[1])
            }

    def _join_ended(self, other: State) -> None:
        """Over is what is so on both sides; one of them may not have the stream at all."""
        if not (self.ended or other.ended):
            return
        mine = {loc: end for loc, end in self.ended.items() if loc in other.ended or loc not in other.heap}
        for loc, end in other.ended.items():
            if loc in mine:
                mine[loc] = mine[loc]._replace(again=mine[loc].again or end.again)
            elif loc not in self.heap:
                mine[loc] = end
        self.ended = mine

    def _join_heap(self, other: State) -> None:
        """Join the objects. One that is garbage on one side counts as it is on the other.

        Without that, a list that a loop's pass made anew in one branch would get back, from the branch that did not
        make it, what the pass before had put into it.
        """
        mine_of = self.heap.get
        # Most objects are shared, and there are many.
        others = [(loc, obj) for loc, obj in other.heap.items() if mine_of(loc) is not obj]
        differing = [loc for loc, obj in others if self.heap.setdefault(loc, obj) != obj]
        if not differing:
            return
        mine, theirs = self.live(), other.live()
        for loc in differing:
            if loc in mine or loc not in theirs:
                keep_mine = loc in mine and loc not in theirs
                self.heap[loc] = self.heap[loc] if keep_mine else self.heap[loc].joined(other.heap[loc])
            else:
                self.heap[loc] = other.heap[loc]

    def live(self, values: Iterable[Value] = ()) -> set[Loc]:
        """The objects that can be reached from `values`, a variable, a running job, or from outside."""
        heap = self.heap
        roots = [*values, *(value for names in self.frames.values() for value in names.values() if value)]
        # Joins ask this all the time, so it is `reachable` without what they do not ask for.
        found = {loc for loc, obj in heap.items() if obj.escapes} | self.pending
        for loc in found:
            if loc in heap:
                roots += heap[loc].values()
        while roots:
            for atom in roots.pop():
                kind = type(atom)
                if kind is Ref and atom.loc not in found:
                    found.add(atom.loc)
                    if atom.loc in heap:
                        roots += heap[atom.loc].values()
                elif kind is Tuple:
                    roots += atom.items
                elif kind is Method:
                    roots.append(atom.receiver)
        return found

    def finish(self, operation: str) -> None:
        """The jobs of that kind are waited for: work of others, or copies."""
        self.pending = frozenset(loc for loc in self.pending if self.heap[loc].operation != operation)

    def same_as(self, other: State) -> bool:
        """Whether both hold the same facts: the loop's fixpoint is reached."""
        return (
            self.dead == other.dead
            and self.frames == other.frames
            and self.heap == other.heap
            and self.pending == other.pending
            and self.copied == other.copied
            and self.ended == other.ended
            and self.aside == other.aside
            and self.touched == other.touched
            and self.loads == other.loads
        )

    def allocate(self, loc: Loc, obj: Obj) -> Value:
        """Make `obj` the recent object of its site; an earlier one joins the site's older objects."""
        if loc in self.heap:
            older = loc._replace(recent=False)
            known = self.heap.get(older)
            self.heap[older] = self.heap[loc] if known is None else known.joined(self.heap[loc])
            self.pending = frozenset(older if at == loc else at for at in self.pending)
            self.rewrite(lambda atom: Ref(older) if atom == Ref(loc) else atom)
            self.ended = {at: end for at, end in self.ended.items() if at not in (loc, older)}
        self.heap[loc] = obj
        return frozenset({Ref(loc)})

    def rewrite(self, change: Callable[[Atom], Atom]) -> None:
        """Replace every atom that the state holds anywhere."""
        seen: dict[Value, Value] = {}

        def changed(value: Value) -> Value:
            if not value:
                return value
            if value not in seen:
                new = rewrite(value, change)
                seen[value] = value if new == value else new
            return seen[value]

        for names in self.frames.values():
            for name, value in names.items():
                names[name] = changed(value)
        for loc, obj in self.heap.items():
            if obj.items or obj.keys or obj.fields or obj.slots:
                self.heap[loc] = obj.mapped(changed)

    def refs(self, value: Value) -> list[Loc]:
        """The objects that `value` itself refers to, in a stable order."""
        return sorted(atom.loc for atom in value if isinstance(atom, Ref))

    def objects(self, value: Value) -> list[tuple[Loc, Obj]]:
        """The same with the objects."""
        return [(loc, self.heap[loc]) for loc in self.refs(value) if loc in self.heap]

    def update(self, loc: Loc, **changes: object) -> None:
        """Overwrite parts of one object."""
        self.heap[loc] = replace(self.heap[loc], **changes)  # type: ignore[arg-type]

    def settle(self, slots: Set[str]) -> None:
        """The variables that these slots are named after hold other keys from here."""
        for loc, obj in self.heap.items():
            if obj.slots:
                self.heap[loc] = obj.settled(slots)

    def reachable(self, values: Iterable[Value], within_call: bool = False) -> Iterator[Atom]:
        """Every atom that can be reached from `values` through containers and attributes.

        `within_call` stops at objects that came from outside, like `self`: who is given one does not read all of it.
        """
        todo, seen = list(values), set[Loc]()
        while todo:
            for atom in leaves(todo.pop()):
                yield atom
                if isinstance(atom, Method):
                    todo.append(atom.receiver)
                elif isinstance(atom, Ref) and atom.loc not in seen and atom.loc in self.heap:
                    seen.add(atom.loc)
                    obj = self.heap[atom.loc]
                    if not (within_call and obj.escapes and obj.kind is Kind.OBJECT):
                        todo.extend(obj.values())

    def holds_loans(self, value: Value, through: bool = False) -> bool:
        """Whether a borrowed tensor, or a stream of them, can be reached from `value`.

        `through` looks into objects from outside, like `self`, too.
        """
        if not value or value == TEXT:
            return False
        return any(
            isinstance(atom, Loan)
            or (isinstance(atom, Ref) and atom.loc in self.heap and self.heap[atom.loc].kind in STREAM_KINDS)
            for atom in self.reachable([value], within_call=not through)
        )
