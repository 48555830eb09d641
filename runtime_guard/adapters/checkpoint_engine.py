"""checkpoint-engine: `update_weights_from_ipc(run=...)` lends every bucket to `run` until that returns.

The tensors are views of a buffer in the sender's memory, which it writes again once it has the answer.
"""

from __future__ import annotations

from collections.abc import Callable
from types import ModuleType
from typing import Any

from ..lease import Contract
from . import is_on
from .common import hook, known_form, leasing, version_beside

_DISTRIBUTION = "checkpoint-engine"
_FUNCTION = "update_weights_from_ipc"


def install(module: ModuleType) -> None:
    """Make the receiver of the imported module lend its buckets."""
    if known_form(module, _DISTRIBUTION, _FUNCTION) is None:
        return
    version = version_beside(module, _DISTRIBUTION)
    contract = Contract(
        producer=f"{_DISTRIBUTION} {version}",
        facts="lent until run() returns",
        reason="each tensor is a view of the sender's buffer, which is written again once run() has returned",
        ends="run() returns",
    )
    hook(module, _FUNCTION, lambda function: _lending_to_run(function, contract))


def _lending_to_run(function: Callable[..., Any], contract: Contract) -> Callable[..., Any]:
    def wrapper(*args: Any, run: Callable[..., Any], **kwargs: Any) -> Any:
        return function(*args, run=leasing(run, contract) if is_on() else run, **kwargs)

    return wrapper
