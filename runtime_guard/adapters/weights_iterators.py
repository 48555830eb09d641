"""`strict`: every weights iterator of the table counts as lent until its next step.

It answers whether a loader would work with any streamer, whatever the producers at hand promise.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from types import FunctionType, ModuleType
from typing import Any

from ..gates import is_lent_now
from ..lease import Contract
from ..lending import Named, lend_stream
from . import is_strict
from .common import hook, new_lender
from .iterator_table import ITERATORS

_MARK = "_loaderlint_strict"


def install(module: ModuleType) -> None:
    """Make the iterators of the imported module lend, as long as `strict` is set."""
    pattern = ITERATORS[module.__name__]
    owner_name, _, method = pattern.rpartition(".")
    owner = getattr(module, owner_name, None) if owner_name else module
    for name, function in list(vars(owner).items()) if owner is not None else ():
        if isinstance(function, FunctionType) and _matches(name, method):
            hook(owner, name, _lending, _MARK)


def _matches(name: str, pattern: str) -> bool:
    return name.endswith(pattern[1:]) if pattern.startswith("*") else name == pattern


def _lending(function: Callable[..., Iterator[Named]]) -> Callable[..., Iterator[Named]]:
    contract = Contract(
        producer=f"{function.__module__}.{function.__qualname__}",
        facts="strict",
        reason="strict treats every weights iterator as lent until its next step, whatever it promises",
    )

    def wrapper(*args: Any, **kwargs: Any) -> Iterator[Named]:
        stream = function(*args, **kwargs)
        # What an adapter lends already is left to it: its report knows better why.
        return lend_stream(stream, new_lender(contract), _is_not_lent) if is_strict() else stream

    return wrapper


def _is_not_lent(tensor: Any) -> bool:
    return not is_lent_now(tensor)
