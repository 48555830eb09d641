"""InstantTensor: which tensors of `safe_open` are views of its ring, and the hook.

Up to 0.1.8 every tensor is. From 0.1.9 on `copy` decides, and hands copies over by default; where it does not,
a tensor whose address does not fit its dtype may be copied all the same.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from types import ModuleType
from typing import TYPE_CHECKING, Any

from ..lease import Contract
from ..lending import Lender, Named, lend_stream
from ..sites import call_site
from . import is_on
from .common import hook, known_form, new_lender, version_beside

if TYPE_CHECKING:
    import torch

_DISTRIBUTION = "instanttensor"
_LENDER = "_loaderlint_lender"


def install(module: ModuleType) -> None:
    """Make `safe_open` of the imported module guard the streams that it lends."""
    opener = known_form(module, _DISTRIBUTION, "safe_open", "tensors", "__exit__")
    if opener is None:
        return
    version = version_beside(module, _DISTRIBUTION)
    hook(opener, "tensors", lambda tensors: _guarding(tensors, version))
    hook(opener, "__exit__", _ending)


def _guarding(tensors: Callable[[Any], Iterator[Named]], version: str) -> Callable[[Any], Iterator[Named]]:
    def wrapper(self: Any) -> Iterator[Named]:
        stream = tensors(self)
        if not is_on() or getattr(self, "copy", False):
            return stream
        lender = new_lender(_contract(version, hasattr(self, "copy")))
        self.__dict__[_LENDER] = lender
        return lend_stream(stream, lender, _views_the_ring)

    return wrapper


def _ending(leave: Callable[..., Any]) -> Callable[..., Any]:
    def wrapper(self: Any, *exception: Any) -> Any:
        lender: Lender | None = self.__dict__.pop(_LENDER, None)
        if lender is not None:
            lender.end(call_site(sys._getframe(1)))  # the ring goes, and with it what a loop left early holds
        return leave(self, *exception)

    return wrapper


def _views_the_ring(tensor: torch.Tensor) -> bool:
    """Whether the tensor came from the ring through DLPack; torch can resize copies, but not those."""
    return not tensor.untyped_storage().resizable()


def _contract(version: str, has_flag: bool) -> Contract:
    why = "the files were opened with copy=False" if has_flag else "this version always lends"
    return Contract(
        producer=f"{_DISTRIBUTION} {version}",
        facts="copy=False" if has_flag else "no copy flag before 0.1.9",
        reason=f"{why}: each tensor is a view of the loader's ring, which may be written again at the next step",
        gone_on_advance=True,
    )
