"""The abstract state at one point of the program: variables of every live frame, and the heap."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace

from loaderlint.linter.interpreter.heap import Kind, Obj
from loaderlint.linter.interpreter.values import (
    NOTHING,
    Atom,
    Loan,
    Loc,
    Method,
    Ref,
    Value,
    leaves,
    rewrite,
)


class State:
    """Mutable: statements change it in place, branches work on copies and are joined.

    A `dead` state is unreachable: nothing changes it, and joining it adds nothing. `pending` are the futures whose
    work may still be running.
    """

    __slots__ = ("frames", "heap", "pending", "dead")

    def __init__(self) -> None:
        self.frames: dict[int, dict[str, Value]] = {}
        self.heap: dict[Loc, Obj] = {}
        self.pending: frozenset[Loc] = frozenset()
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
        self.dead = other.dead

    def join(self, other: State) -> None:
        """Become the state that is either of the two."""
        if other.dead:
            return
        if self.dead:
            self.become(other)
            return
        for frame, names in other.frames.items():
            mine = self.frames.setdefault(frame, {})
            for name, value in names.items():
                mine[name] = mine.get(name, NOTHING) | value
        for loc, obj in other.heap.items():
            known = self.heap.get(loc)
            self.heap[loc] = obj if known is None else known.joined(obj)
        self.pending |= other.pending

    def same_as(self, other: State) -> bool:
        """Whether both hold the same facts: the loop's fixpoint is reached."""
        return (
            self.dead == other.dead
            and self.frames == other.frames
            and self.heap == other.heap
            and self.pending == other.pending
        )

    def allocate(self, loc: Loc, obj: Obj) -> Value:
        """Make `obj` the recent object of its site; an earlier one joins the site's older objects."""
        if loc in self.heap:
            older = loc._replace(recent=False)
            known = self.heap.get(older)
            self.heap[older] = self.heap[loc] if known is None else known.joined(self.heap[loc])
            self.pending = frozenset(older if at == loc else at for at in self.pending)
            self.rewrite(lambda atom: Ref(older) if atom == Ref(loc) else atom)
        self.heap[loc] = obj
        return frozenset({Ref(loc)})

    def rewrite(self, change: Callable[[Atom], Atom]) -> None:
        """Replace every atom that the state holds anywhere."""
        seen: dict[Value, Value] = {}

        def changed(value: Value) -> Value:
            if not value:
                return value
            if value not in seen:
                seen[value] = rewrite(value, change)
            return seen[value]

        for names in self.frames.values():
            for name, value in names.items():
                names[name] = changed(value)
        for loc, obj in self.heap.items():
            self.heap[loc] = obj.mapped(changed)

    def refs(self, value: Value) -> list[Loc]:
        """The objects that `value` itself refers to, in a stable order."""
        return sorted((atom.loc for atom in value if isinstance(atom, Ref)), key=repr)

    def objects(self, value: Value) -> list[tuple[Loc, Obj]]:
        """The same with the objects."""
        return [(loc, self.heap[loc]) for loc in self.refs(value) if loc in self.heap]

    def update(self, loc: Loc, **changes: object) -> None:
        """Overwrite parts of one object."""
        self.heap[loc] = replace(self.heap[loc], **changes)  # type: ignore[arg-type]

    def reachable(self, values: Iterable[Value]) -> Iterator[Atom]:
        """Every atom that can be reached from `values` through containers, attributes and captured frames."""
        todo, seen = list(values), set[Loc]()
        while todo:
            for atom in leaves(todo.pop()):
                yield atom
                if isinstance(atom, Method):
                    todo.append(atom.receiver)
                elif isinstance(atom, Ref) and atom.loc not in seen and atom.loc in self.heap:
                    seen.add(atom.loc)
                    todo.extend(self.heap[atom.loc].values())

    def holds_loans(self, value: Value) -> bool:
        """Whether a borrowed tensor, or a stream of them, can be reached from `value`."""
        streams = (Kind.STREAM, Kind.MAYBE_STREAM, Kind.LAZY, Kind.GENERATOR)
        return any(
            isinstance(atom, Loan)
            or (isinstance(atom, Ref) and atom.loc in self.heap and self.heap[atom.loc].kind in streams)
            for atom in self.reachable([value])
        )
