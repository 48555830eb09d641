"""Lets stale reads pass once they are reported: LOADERLINT_GUARD_ON=warn and record.

The trap stays: an operation that it refuses is reported and done again with the trap lifted. What no function
mode of torch sees (threads that `modes` does not reach, C++ code of others) raises as ever.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch.overrides import TorchFunctionMode

from . import report
from .lease import stale
from .modes import run_under
from .reads import observe, token_of

Lift = Callable[[torch.UntypedStorage, bool], None]


class _LetPass(TorchFunctionMode):
    """Runs every operation of torch; one that reads stale tensors is run again with their traps lifted."""

    def __init__(self, lift: Lift, warns: bool) -> None:
        super().__init__()
        self._lift = lift
        self._warns = warns

    def __torch_function__(
        self, function: Callable[..., Any], types: Any, args: Any = (), kwargs: Any = None
    ) -> Any:
        lifted: dict[str, torch.UntypedStorage] = {}
        try:
            while True:
                try:
                    return function(*args, **(kwargs or {}))
                except RuntimeError as error:
                    token = token_of(error)
                    storage = _storage(token)
                    if storage is None or token in lifted:
                        raise
                    self._tell(error)
                self._lift(storage, True)
                lifted[token] = storage
        finally:
            for storage in lifted.values():
                self._lift(storage, False)

    def _tell(self, error: RuntimeError) -> None:
        stale_read = observe(error)
        if stale_read is not None and self._warns and not stale_read.shown:
            stale_read.shown = True
            report.show(stale_read.text())


def _storage(token: str) -> torch.UntypedStorage | None:
    """Return the storage of a stale lease whose memory can still be read."""
    lease, reference = stale.get(token, (None, None))
    return None if lease is None or lease.contract.gone_on_advance else reference()


def let_reads_pass(lift: Lift, warns: bool) -> None:
    """Let stale reads pass in this thread, and in the others that `modes` reaches; they are reported all the same."""
    run_under(_LetPass, lambda: _LetPass(lift, warns))
