"""What the adapters share: lenders, versions, and hooks that are set once."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager
from importlib import metadata
from pathlib import Path
from types import ModuleType
from typing import Any

from .. import report
from ..lease import Contract
from ..lending import IsLent, Lender, Named, any_tensor, lend_bucket
from . import current_level

_PATCHED = "_loaderlint_patched"


def new_lender(contract: Contract) -> Lender:
    """Return the lender of a stream, bucket or buffer that begins now."""
    from ..session import open_session

    return Lender(open_session(current_level()), contract)


def version_beside(module: ModuleType, distribution: str) -> str:
    """Return the version of the distribution beside this very module; several may be on the path."""
    for folder in Path(module.__file__).parents:
        for found in metadata.distributions(name=distribution, path=[str(folder)]):
            return found.version
    return "(unknown version)"


def known_form(module: ModuleType, distribution: str, name: str, *methods: str) -> Any | None:
    """Return the class or function `name` of the module; None, with a note, where it or one of `methods` is missing."""
    found = getattr(module, name, None)
    if found is not None and all(hasattr(found, method) for method in methods):
        return found
    version = version_beside(module, distribution)
    report.note(f"{distribution} {version} has no {name} of the known form: not guarded")
    return None


def hook(
    owner: Any, name: str, wrap: Callable[[Callable[..., Any]], Callable[..., Any]], mark: str = _PATCHED
) -> None:
    """Replace the function `name` of a class or module by `wrap` of it, once for each `mark`."""
    function = vars(owner)[name]
    if hasattr(function, mark):
        return
    wrapper = functools.wraps(function)(wrap(function))
    setattr(wrapper, mark, True)
    setattr(owner, name, wrapper)


def leasing(
    callback: Callable[..., Any], contract: Contract, is_lent: IsLent = any_tensor
) -> Callable[..., Any]:
    """Return a callback whose first argument, a bucket of pairs, is lent until the callback returns."""

    def wrapper(pairs: Iterable[Named], *args: Any, **kwargs: Any) -> Any:
        bucket: AbstractContextManager[list[Named]] = lend_bucket(pairs, new_lender(contract), is_lent)
        with bucket as lent:
            return callback(lent, *args, **kwargs)

    return wrapper
