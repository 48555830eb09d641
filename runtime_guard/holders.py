"""Who holds an object: the ways to it from a variable, an attribute, a closure or a task.

Python's garbage collector knows which object refers to which, and the running frames are known apart from it.
A pass over all objects costs some 100 ms for a million of them; one is made for each step of the way, for all
objects that are looked for together.
"""

from __future__ import annotations

import gc
import sys
from collections import deque
from collections.abc import Iterable
from types import FrameType, FunctionType
from typing import NamedTuple

from .holder_names import Holder, forget_copy, function_name, place_of, root, step

_LONGEST_WAY = 8
_FEW = 16  # objects whose holders Python's own search finds faster
_OWN_PACKAGE = __package__ + "."
_OPTIMIZED = 0x1  # CO_OPTIMIZED: the frame is a function's


class Own(list):
    """A list of this package, which therefore counts as no holder."""


class _OwnDict(dict):
    """The same for a dictionary."""


class _Link(NamedTuple):
    """A holder that has no name, and the step from there."""

    holder: object
    step: str


class HolderSearch:
    """Finds the holders of some objects; to be dropped soon, for it keeps those holders alive."""

    def __init__(self, sought: Iterable[object]) -> None:
        # By the id of an object: the named holders of it, and the unnamed ones with the step from there.
        self._named: dict[int, list[Holder]] = {}
        self._unnamed: dict[int, Own] = {}
        self._variables = _variables()
        frontier = _OwnDict((id(one), one) for one in sought)
        self._sought = set(frontier)
        for _ in range(_LONGEST_WAY):
            if frontier:
                frontier = self._climb(frontier)

    def holders(self, sought: object) -> list[Holder]:
        """Return the holders of one of the objects that were given, the nearest first."""
        found: list[Holder] = []
        pending: deque[tuple[int, tuple[str, ...]]] = deque([(id(sought), ())])
        seen: set[int] = set()
        while pending:
            current, steps = pending.popleft()
            if current not in seen:
                seen.add(current)
                found += [holder.along(steps) for holder in self._named.get(current, ())]
                unnamed = self._unnamed.get(current, ())
                pending += [(id(holder), (leading, *steps)) for holder, leading in unnamed]
        return found

    def _climb(self, frontier: _OwnDict) -> _OwnDict:
        """Find what refers to the objects of the frontier; return those of them that have no name."""
        for held in frontier:
            self._named.setdefault(held, []).extend(self._variables.get(held, ()))
        following = _OwnDict()
        for holder in _referrers(frontier):
            for held in gc.get_referents(holder):
                if id(held) in frontier and self._note(holder, held):
                    following[id(holder)] = holder
        return _OwnDict((one, holder) for one, holder in following.items() if one not in self._named)

    def _note(self, holder: object, held: object) -> bool:
        """Note one reference; return whether the holder's own holders are of interest."""
        if id(holder) in self._sought:
            return False
        if isinstance(holder, FunctionType) and held is holder.__closure__:
            for name, cell in zip(holder.__code__.co_freevars, holder.__closure__, strict=True):
                known = self._named.setdefault(id(cell), [])
                known.append(Holder(f"closure of {function_name(holder)}", name, "", place_of(holder)))
            return False
        named = root(holder, held)
        if named is not None:
            self._named[id(held)].append(named)
        else:
            self._unnamed.setdefault(id(held), Own()).append(_Link(holder, step(holder, held)))
        return named is None


def _referrers(wanted: _OwnDict) -> list[object]:
    if len(wanted) <= _FEW:
        found = gc.get_referrers(*wanted.values())
    else:
        keys = wanted.keys()
        found = [one for one in gc.get_objects() if not keys.isdisjoint(map(id, gc.get_referents(one)))]
    return [one for one in found if not _is_own(one)]


def _is_own(one: object) -> bool:
    module = getattr(type(one), "__module__", "")
    return isinstance(module, str) and module.startswith(_OWN_PACKAGE)


def _variables() -> dict[int, list[Holder]]:
    """Return the variables of the functions that run now, in all threads, by the id of their value."""
    found: dict[int, list[Holder]] = {}
    for innermost in sys._current_frames().values():
        frame: FrameType | None = innermost
        while frame is not None:
            code = frame.f_code
            if code.co_flags & _OPTIMIZED and frame.f_globals.get("__package__") != __package__:
                values = frame.f_locals
                place = code.co_filename, frame.f_lineno or code.co_firstlineno, code.co_name
                for name, value in values.items():
                    found.setdefault(id(value), []).append(Holder("variable", name, "", place))
                forget_copy(values)
            frame = frame.f_back
    return found
