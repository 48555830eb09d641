"""Abstract values: what a variable may hold, as a set of atoms.

The empty value stands for everything that holds no lent memory: numbers, modules, owned tensors.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple, TypeAlias

import libcst as cst
from loaderlint.linter.interpreter.events import Holder, Site

MAX_TUPLE_DEPTH = 4


class Loc(NamedTuple):
    """An allocation site. `recent` is the object of the newest run of that site, else all older ones together."""

    key: int
    recent: bool = True


class Kept(NamedTuple):
    """The place that put a borrowed tensor into a holder: where, what kind of holder, its node, the tensor's node.

    `yielded` says that the generator around that place has handed the tensor on when it was stale. `call` is where
    the files that were named for the check call into the file of that place; None for a place in one of them.
    """

    site: Site
    kind: Holder
    holder: cst.CSTNode
    tensor: cst.CSTNode
    call: Site | None = None
    yielded: bool = False


class Loan(NamedTuple):
    """A borrowed tensor or a view of it.

    `conditional` marks what went through a conditional copy and so may own its memory. `view` is where another tensor
    of the same memory was made of the one that was lent, None for that one itself.
    """

    stream: Loc
    borrowed: Site
    kept: Kept | None = None
    stale: bool = False
    conditional: bool = False
    view: Site | None = None


Way: TypeAlias = "tuple[tuple[int, Site], ...]"
"""A place in each of the running calls: by frame, innermost first."""


class Ended(NamedTuple):
    """A stream that has nothing more to give, on every way that led here.

    `way` is where it ended. `callee` is the name of what is assumed to have read it to its end, "" where that is
    known; `closed` says that its producer was closed. `again`: it ends in every pass of a loop, so what ended it finds
    nothing in the next one.
    """

    way: Way
    callee: str = ""
    closed: bool = False
    again: bool = False


class Aside(NamedTuple):
    """A container that a generator fills beside what it yields: the generator, and where it does so."""

    generator: Loc
    way: Way


class Text(NamedTuple):
    """A parameter name or another string; tells a mapping's key from a tensor's index."""

    mark: str = "text"


class Ref(NamedTuple):
    """A reference to an object of the heap."""

    loc: Loc


class Tuple(NamedTuple):
    """A tuple whose items are known one by one."""

    items: tuple[Value, ...]


class Named(NamedTuple):
    """A module, function or class of another module, by its qualified name."""

    name: str


class Instance(NamedTuple):
    """An object made by calling the named class; `arguments` are its literal keyword arguments.

    `made` is where: what lends until it is closed lends as a stream of that site.
    """

    cls: str
    made: Loc
    arguments: tuple[tuple[str, object], ...] = ()


class Method(NamedTuple):
    """An attribute of a value that is not in the heap, about to be called."""

    receiver: Value
    name: str


class Owned(NamedTuple):
    """A tensor that was lent as far as the code shows, but is known to have memory of its own here."""

    mark: str = "owned"


class Copy(NamedTuple):
    """Memory of its own, made of a borrowed tensor at `made`. It is `stale` in name only: the stream has moved on since.

    `held` is the statement or expression that put it into a container.
    """

    stream: Loc
    made: Site
    held: Kept | None = None
    stale: bool = False


class Guard(NamedTuple):
    """A truth value that is true only if the item that `stream` lent at `borrowed` carries no ownership marker."""

    stream: Loc
    borrowed: Site


class Flag(NamedTuple):
    """A literal truth value."""

    value: bool


Atom: TypeAlias = "Loan | Text | Ref | Tuple | Named | Instance | Method | Owned | Copy | Guard | Flag"
Value: TypeAlias = "frozenset[Atom]"

NOTHING: Value = frozenset()
TEXT: Value = frozenset({Text()})


def ref(loc: Loc) -> Value:
    """The value that refers to one object."""
    return frozenset({Ref(loc)})


def tuple_of(*items: Value) -> Value:
    """The tuple of `items`; nesting deeper than MAX_TUPLE_DEPTH is flattened, so that loops reach a fixpoint."""
    if any(_depth(item) >= MAX_TUPLE_DEPTH for item in items):
        items = tuple(frozenset(leaves(item)) for item in items)
    return frozenset({Tuple(items)})


def _depth(value: Value) -> int:
    inner = [_depth(item) for atom in value if isinstance(atom, Tuple) for item in atom.items]
    return 1 + max(inner) if inner else int(any(isinstance(atom, Tuple) for atom in value))


def leaves(value: Value) -> Iterator[Atom]:
    """The atoms of `value`, with those inside tuples instead of the tuples."""
    for atom in value:
        if isinstance(atom, Tuple):
            for item in atom.items:
                yield from leaves(item)
        else:
            yield atom


def rewrite(value: Value, change: Callable[[Atom], Atom]) -> Value:
    """`value` with every leaf, also inside tuples and methods, replaced by what `change` gives."""
    if not value:
        return value
    return frozenset(_rewrite_atom(atom, change) for atom in value)


def _rewrite_atom(atom: Atom, change: Callable[[Atom], Atom]) -> Atom:
    if isinstance(atom, Tuple):
        return Tuple(tuple(rewrite(item, change) for item in atom.items))
    if isinstance(atom, Method):
        return Method(rewrite(atom.receiver, change), atom.name)
    return change(atom)


def copied_of(value: Value) -> frozenset[Loc]:
    """The streams of which `value` is, in any case, a copy of the newest item."""
    tensors = [atom for atom in leaves(value) if isinstance(atom, (Copy, Loan, Owned))]
    copied = all(isinstance(atom, Copy) and not atom.stale for atom in tensors)
    return frozenset(atom.stream for atom in tensors) if copied else frozenset()  # type: ignore[union-attr]


def loans(value: Value) -> Iterator[Loan]:
    """The loans in `value`, also those inside tuples."""
    return (atom for atom in leaves(value) if isinstance(atom, Loan))


def fresh_item(element: object, stream: Loc, site: Site) -> Value:
    """One item of a stream, just borrowed."""
    loan = frozenset({Loan(stream, site)})
    kinds = {"tensor": loan, "text": TEXT}
    return tuple_of(*(kinds.get(part, NOTHING) for part in element))  # type: ignore[attr-defined]


def if_kept_by_none(kept: Kept) -> Callable[[Atom], Atom]:
    """The change that a loan is now held at `kept`, if no holder has kept it yet."""

    def held(atom: Atom) -> Atom:
        free = isinstance(atom, Loan) and not atom.stale and atom.kept is None
        return atom._replace(kept=kept) if free else atom

    return held


def made_conditional(value: Value) -> Value:
    """The loans of `value` after a copy that may not have happened. A stale one was read by it, and is settled."""
    return frozenset(loan._replace(conditional=True) for loan in loans(value) if not loan.stale)


def is_text(value: Value) -> bool:
    """Whether `value` is made of strings, as the key of a name map is (also a tuple with a string in it)."""
    return any(isinstance(atom, Text) for atom in leaves(value))
