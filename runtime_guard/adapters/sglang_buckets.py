"""SGLang's flattened buckets: tensors sent to `update_weights_from_tensor` are lent until it returns.

The flat tensor is the sender's memory, and FlattenedTensorBucket makes views of it. Buckets made elsewhere,
such as those that receive from a process group into memory of their own, are not touched.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from contextvars import ContextVar
from types import ModuleType
from typing import Any

from ..lease import Contract
from ..lending import Lender, Named
from ..sites import call_site
from . import is_on
from .common import hook, new_lender, version_beside

_DISTRIBUTION = "sglang"
_UPDATE = "update_weights_from_tensor"

# The lender of the update that runs here, if one does.
_update: ContextVar[Lender | None] = ContextVar("loaderlint_update", default=None)


def install(module: ModuleType) -> None:
    """Make the buckets, or the class that applies updates, of the imported module lend."""
    bucket = vars(module).get("FlattenedTensorBucket")
    if bucket is not None and bucket.__module__ == module.__name__:
        hook(bucket, "reconstruct_tensors", _lending)
        return
    version = version_beside(module, _DISTRIBUTION)
    for updater in ("WeightUpdater", "ModelRunner"):
        if _UPDATE in vars(vars(module).get(updater, object)):
            hook(vars(module)[updater], _UPDATE, lambda update: _scoping(update, version))


def _lending(reconstruct: Callable[[Any], list[Named]]) -> Callable[[Any], list[Named]]:
    def wrapper(self: Any) -> list[Named]:
        pairs, lender = reconstruct(self), _update.get()
        if lender is None:
            return pairs
        site = call_site(sys._getframe(1))
        return [(name, lender.lend(name, tensor, site)) for name, tensor in pairs]

    return wrapper


def _scoping(update: Callable[..., Any], version: str) -> Callable[..., Any]:
    contract = Contract(
        producer=f"{_DISTRIBUTION} {version}",
        facts="flattened bucket",
        reason="each tensor is a view of the sender's flat tensor, which is its own again once the update returns",
        ends=f"{_UPDATE} returns",
    )

    def wrapper(self: Any, *args: Any, **kwargs: Any) -> Any:
        if not is_on():
            return update(self, *args, **kwargs)
        lender = new_lender(contract)
        outer = _update.set(lender)
        try:
            return update(self, *args, **kwargs)
        finally:
            _update.reset(outer)
            lender.end(call_site(sys._getframe(1)))

    return wrapper
