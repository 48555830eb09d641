"""verl's BucketedWeightReceiver: every bucket is lent to the callback until that returns.

The tensors are views of the sender's memory, through CUDA IPC or shared memory; the sender writes it again
once it has the answer. What was moved from shared memory to a device is a copy, and owned.
"""

from __future__ import annotations

from collections.abc import Callable
from types import ModuleType
from typing import TYPE_CHECKING, Any

from ..lease import Contract
from . import is_on
from .common import hook, known_form, leasing, version_beside

if TYPE_CHECKING:
    import torch

_DISTRIBUTION = "verl"


def install(module: ModuleType) -> None:
    """Make the receiver class of the imported module lend its buckets."""
    receiver = known_form(module, _DISTRIBUTION, "BucketedWeightReceiver", "receive_weights")
    if receiver is None:
        return
    version = version_beside(module, _DISTRIBUTION)
    contract = Contract(
        producer=f"{_DISTRIBUTION} {version}",
        facts="lent until the callback returns",
        reason="each tensor is a view of the sender's bucket, which is written again once the callback has returned",
        ends="the callback returns",
    )
    hook(receiver, "receive_weights", lambda function: _lending_to_callback(function, contract))


def _lending_to_callback(function: Callable[..., Any], contract: Contract) -> Callable[..., Any]:
    def wrapper(self: Any, on_bucket_received: Callable[..., Any]) -> Any:
        def is_lent(tensor: torch.Tensor) -> bool:
            return not self.use_shm or tensor.device == self.buffer.device

        return function(
            self, leasing(on_bucket_received, contract, is_lent) if is_on() else on_bucket_received
        )

    return wrapper
