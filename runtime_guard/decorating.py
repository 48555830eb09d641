"""A decorator for the loader under test."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any, TypeVar

from .guarding import guard

_Loader = TypeVar("_Loader", bound=Callable[..., Any])


def guard_loader(level: str = "trap", parameter: str = "weights") -> Callable[[_Loader], _Loader]:
    """Decorate a loader, such as `load_weights(self, weights)`, so that what it is given is guarded.

    Every tensor of the iterable or asynchronous iterator in `parameter` counts as lent until the loader asks
    for the next one, as with `guard`. Raises TypeError where the function has no such parameter, and what
    `guard` raises when it is called.
    """

    def decorate(loader: _Loader) -> _Loader:
        signature = inspect.signature(loader)
        if parameter not in signature.parameters:
            raise TypeError(f"{loader.__qualname__}{signature} has no parameter {parameter!r} to guard")

        @functools.wraps(loader)
        def guarded(*args: Any, **kwargs: Any) -> Any:
            bound = signature.bind(*args, **kwargs)
            if parameter in bound.arguments:
                weights = bound.arguments[parameter]
                stream = weights if hasattr(weights, "__aiter__") else iter(weights)
                bound.arguments[parameter] = guard(stream, level)
            return loader(*bound.args, **bound.kwargs)

        return guarded

    return decorate
