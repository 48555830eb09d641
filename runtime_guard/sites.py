"""Where in the user's code something happened."""

from __future__ import annotations

import linecache
import os
import sysconfig
from collections.abc import Iterable, Iterator
from functools import lru_cache
from types import FrameType, TracebackType

# One place is (file, line, function). A site is the innermost user frame; where that is a generator, which
# only hands on what another frame asked for, its callers follow up to the first that is none.
Place = tuple[str, int, str]
Site = tuple[Place, ...]

_DEPTH = 6
_GENERATOR = 0x20 | 0x200  # CO_GENERATOR and CO_ASYNC_GENERATOR, without the cost of importing inspect
_COROUTINE = 0x80
_OWN_FOLDER = os.path.dirname(os.path.abspath(__file__)) + os.sep
_STANDARD_LIBRARY = sysconfig.get_paths()["stdlib"] + os.sep
# Packages whose frames lie between the user's line and the event, and say nothing about it.
_PLUMBING = (
    "torch",
    "numpy",
    "tqdm",
    "safetensors",
    "runai_model_streamer",
    "fastsafetensors",
    "instanttensor",
)
# A read by one of these only shows a value to a person: a failing test's locals, a debugger's display.
_DISPLAYS = ("_pytest", "rich", "IPython")
_DISPLAY_MODULES = ("pdb.py", "bdb.py", "reprlib.py", "traceback.py")


def _packages(filename: str) -> list[str]:
    _, found, rest = filename.rpartition("-packages" + os.sep)
    return rest.split(os.sep)[:1] if found else []


@lru_cache(maxsize=4096)
def is_user_file(filename: str) -> bool:
    """Whether a frame of this file is the user's: not the guard, the standard library, torch or plumbing."""
    if filename.startswith(_OWN_FOLDER) or filename.startswith("<frozen"):
        return False
    package = _packages(filename)
    if package:
        return package[0] not in _PLUMBING
    return not filename.startswith(_STANDARD_LIBRARY)


@lru_cache(maxsize=4096)
def is_display_file(filename: str) -> bool:
    """Whether a frame of this file reads values only to show them to a person."""
    package = _packages(filename)
    if package:
        return package[0] in _DISPLAYS
    return filename.startswith(_STANDARD_LIBRARY) and os.path.basename(filename) in _DISPLAY_MODULES


# Frames with the line that runs or ran in each, the innermost first.
Stack = list[tuple[FrameType, int]]


def site_of(stack: Iterable[tuple[FrameType, int]]) -> Site:
    """Return the site of a stack; empty when it holds no user frame."""
    places: list[Place] = []
    for frame, line in stack:
        code = frame.f_code
        if not is_user_file(code.co_filename):
            continue
        places.append((code.co_filename, line, code.co_name))
        if not code.co_flags & _GENERATOR or len(places) == _DEPTH:
            break
    return tuple(places)


def _outwards(frame: FrameType | None) -> Iterator[tuple[FrameType, int]]:
    while frame is not None:
        yield frame, frame.f_lineno or frame.f_code.co_firstlineno
        frame = frame.f_back


def call_site(frame: FrameType | None) -> Site:
    """Return the site of what `frame` is doing now."""
    code = frame.f_code if frame is not None else None
    if code is not None and is_user_file(code.co_filename) and not code.co_flags & _GENERATOR:
        return _single(code.co_filename, frame.f_lineno or code.co_firstlineno, code.co_name)
    return site_of(_outwards(frame))


@lru_cache(maxsize=1024)
def _single(filename: str, line: int, function: str) -> Site:
    """Return the site of one place: a loop asks for every tensor at the same line, and reports share it."""
    return ((filename, line, function),)


def consumer_frame(frame: FrameType | None) -> FrameType | None:
    """Return the innermost user frame from `frame` outwards that runs to its end without being suspended."""
    for candidate, _ in _outwards(frame):
        code = candidate.f_code
        if is_user_file(code.co_filename) and not code.co_flags & (_GENERATOR | _COROUTINE):
            return candidate
    return None


def stack_of_error(traceback: TracebackType | None, frame: FrameType | None = None) -> Stack:
    """Return where an error came from, then its callers.

    `frame` is the frame that the error is passing now, for errors whose traceback is not begun yet.
    """
    stack: Stack = []
    outer = traceback.tb_frame.f_back if traceback is not None else frame
    while traceback is not None:
        stack.insert(0, (traceback.tb_frame, traceback.tb_lineno))
        traceback = traceback.tb_next
    return [*stack, *_outwards(outer)]


def is_for_display(stack: Stack) -> bool:
    """Whether a read was made by a tool that shows values: it comes before any user frame."""
    for frame, _ in stack:
        filename = frame.f_code.co_filename
        if is_display_file(filename):
            return True
        if is_user_file(filename):
            return False
    return False


def source_line(place: Place) -> str:
    """Return the stripped source line of a place, or an empty string where it cannot be had."""
    return linecache.getline(place[0], place[1]).strip()


def show_place(place: Place) -> str:
    """Return a place as `file:line in function: source line`; without the line where that is 0."""
    filename, line, function = place
    source = source_line(place)
    relative = os.path.relpath(filename) if filename.startswith(os.getcwd() + os.sep) else filename
    if not line:
        return relative
    return f"{relative}:{line} in {function}" + (f": {source}" if source else "")


@lru_cache(maxsize=1024)
def describe(site: Site) -> str:
    """Return the innermost place of a site as `file:line in function: source line`, then its callers."""
    if not site:
        return "(no frame of user code)"
    callers = [f"\n{'':15}for {show_place(place)}" for place in site[1:]]
    return show_place(site[0]) + "".join(callers)
