"""How a person calls what holds an object: names and places for roots, text for the steps from there."""

from __future__ import annotations

import functools
import sys
from dataclasses import dataclass, replace
from types import (
    AsyncGeneratorType,
    CodeType,
    CoroutineType,
    FrameType,
    FunctionType,
    GeneratorType,
    TracebackType,
)
from typing import Any

from .sites import Place

# Objects of these modules only lead on: containers, their views and iterators, chains of itertools.
_LEADING_ON = ("builtins", "collections", "itertools", "types")
_SUSPENDED = {GeneratorType: "gi", CoroutineType: "cr", AsyncGeneratorType: "ag"}
_LONGEST_KEY = 60
_ENDED = "traceback of an ended function"
ATTRIBUTES = "."  # a path that begins so: what follows is a dictionary of attributes


@dataclass(frozen=True, slots=True)
class Holder:
    """What holds an object: `what` called `name`, and the `path` from there, as in name[0].attribute.

    `place` is a line of the function that a variable belongs to; for a module or a class its file, line 0.
    """

    what: str
    name: str
    path: str
    place: Place

    def is_left_behind(self) -> bool:
        """Whether this is a plain variable that still points at the object, or belongs to an ended function."""
        return self.what == _ENDED or (self.what in ("variable", "global variable") and not self.path)

    def along(self, steps: tuple[str, ...]) -> Holder:
        """Return the same root with the steps that lead on from it."""
        if self.path == ATTRIBUTES and steps:
            return replace(self, path="." + steps[0].strip("[]'") + "".join(steps[1:]))
        return replace(self, path=self.path + "".join(steps))


def root(holder: object, held: object) -> Holder | None:
    """Return the holder as one that a person can look for, None where it only leads on."""
    if isinstance(holder, (FrameType, TracebackType)):
        return Holder(_ENDED, "", "", ("", 0, ""))
    if isinstance(holder, dict):
        return _global(holder, held)
    if type(holder) in _SUSPENDED:
        return _suspended(holder, held)
    if isinstance(holder, functools.partial):
        return Holder("partial", function_name(holder.func), _attribute(holder, held), place_of(holder.func))
    if isinstance(holder, FunctionType) and held in (holder.__defaults__, holder.__kwdefaults__):
        return Holder("default argument", function_name(holder), "", place_of(holder))
    if isinstance(holder, type):
        place = _file_of(holder.__module__), 0, holder.__qualname__
        return Holder("class attribute", holder.__qualname__, ATTRIBUTES, place)
    if type(holder).__module__ in _LEADING_ON:
        return None
    return _of_object(holder, held)


def _global(module: dict[Any, Any], held: object) -> Holder | None:
    name = module.get("__name__")
    owner = sys.modules.get(name) if isinstance(name, str) else None
    if owner is None or owner.__dict__ is not module:
        return None
    variable = next((str(key) for key, value in list(module.items()) if value is held), "")
    return Holder("global variable", variable, "", (_file_of(name), 0, name))


def _suspended(holder: Any, held: object) -> Holder:
    prefix = _SUSPENDED[type(holder)]
    code: CodeType = getattr(holder, f"{prefix}_code")
    frame: FrameType | None = getattr(holder, f"{prefix}_frame")
    line = frame.f_lineno if frame is not None else code.co_firstlineno
    name = name_in(frame, held) if frame is not None else ""
    return Holder("variable of a suspended generator", name, "", (code.co_filename, line, code.co_name))


def name_in(frame: FrameType, held: object) -> str:
    """Return the name of the variable of this frame that holds an object."""
    values = frame.f_locals
    name = next((name for name, value in values.items() if value is held), "")
    forget_copy(values)
    return name


def forget_copy(values: object) -> None:
    """Empty what frame.f_locals of a function returned: before Python 3.13 a copy that stays with the frame."""
    if type(values) is dict:
        values.clear()


def _of_object(holder: Any, held: object) -> Holder:
    owner = type(holder)
    path = ATTRIBUTES if held is getattr(holder, "__dict__", None) else _attribute(holder, held)
    task = getattr(holder, "fn", None)
    if owner.__module__.startswith("concurrent.futures") and task is not None:
        return Holder("waiting task", function_name(task), path, place_of(task))
    place = _file_of(owner.__module__), 0, owner.__qualname__
    return Holder("attribute of an object", owner.__qualname__, path, place)


def _attribute(holder: object, held: object) -> str:
    names = [*getattr(holder, "__dict__", ())]
    for owner in type(holder).__mro__:
        slots = owner.__dict__.get("__slots__", ())
        names += [slots] if isinstance(slots, str) else slots
    if isinstance(holder, functools.partial):
        names += ["args", "keywords", "func"]
    return next((f".{name}" for name in names if getattr(holder, name, None) is held), "")


def function_name(function: Any) -> str:
    """Return how a person calls a function or another callable."""
    return str(getattr(function, "__qualname__", None) or type(function).__qualname__)


def place_of(function: Any) -> Place:
    """Return where a function is defined, or the file of a callable's module with line 0."""
    code = getattr(getattr(function, "__func__", function), "__code__", None)
    if code is None:
        return _file_of(str(getattr(function, "__module__", ""))), 0, function_name(function)
    return code.co_filename, code.co_firstlineno, code.co_name


def _file_of(module: str) -> str:
    # Python takes the name of the script from its module before the process ends.
    fallback = sys.argv[0] if module == "__main__" and sys.argv[0] else module
    return str(getattr(sys.modules.get(module), "__file__", None) or fallback)


def step(holder: object, held: object) -> str:
    """Return how one leads from a holder that has no name to what it holds, as it is written in Python."""
    if isinstance(holder, dict):
        for key, value in list(holder.items()):
            if value is held:
                text = repr(key)
                return f"[{text if len(text) <= _LONGEST_KEY else text[:_LONGEST_KEY] + '...'}]"
    if isinstance(holder, (list, tuple)):
        return next((f"[{index}]" for index, value in enumerate(holder) if value is held), "")
    return ""
