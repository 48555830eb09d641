"""Which back end serves a level: the first of its list that passes a test on a dummy in this process."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass

import torch

from ..lease import Contract
from ..levels import CENSUS, PARANOID, POISON, TRAP
from .base import Backend
from .poison import CopyPoison, InPlacePoison, SwapPoison
from .private import PrivateTrap
from .traps import FlagTrap, MessageTrap, PokeTrap
from .untouched import Untouched

_SELF_TEST = Contract("self-test", "", "")
_EXCLUSIVE = Contract("self-test", "", "", exclusive=True, free_on_advance=True)

_BY_LEVEL: dict[str, dict[str, Callable[[], Backend]]] = {
    TRAP: {
        "message": MessageTrap,
        "poke": PokeTrap,
        "flags": FlagTrap,
        "swap": SwapPoison,
        "copy": CopyPoison,
    },
    POISON: {"in-place": InPlacePoison},
    PARANOID: {
        "message": lambda: PrivateTrap(MessageTrap()),
        "poke": lambda: PrivateTrap(PokeTrap()),
        "flags": lambda: PrivateTrap(FlagTrap()),
        "copy": CopyPoison,
    },
}


@dataclass(frozen=True, slots=True)
class Choice:
    """The back end that runs, and one line on what it cannot do that was asked for (empty: nothing)."""

    level: str
    backend: Backend
    shortfall: str

    def describe(self) -> str:
        """Return what reports say of the guard."""
        return f"level {self.level}, {self.backend.name}"


def choose(level: str, without: Collection[str] = ()) -> Choice:
    """Return the best working back end of a level, leaving out those named in `without`.

    Names, best first: for TRAP `message`, `poke`, `flags`, `swap`, `copy`; for PARANOID the same without
    `swap`; for POISON `in-place`; CENSUS has only one. Raises RuntimeError when none is left.
    """
    if level == CENSUS:
        return Choice(level, Untouched(), "")
    for name, make in _BY_LEVEL[level].items():
        if name in without:
            continue
        backend = _working(make)
        if backend is not None:
            return Choice(level, backend, _shortfall(level, backend))
    raise RuntimeError(f"no back end is left for level {level} of the loaderlint guard")


def _shortfall(level: str, backend: Backend) -> str:
    if level not in (TRAP, PARANOID) or backend.raises:
        return ""
    return (
        f"level {level} cannot be had with torch {torch.__version__}: stale reads do not raise, "
        f"they read a pattern ({backend.name}); find it with loaderlint.runtime_guard.poisoned()"
    )


def _working(make: Callable[[], Backend]) -> Backend | None:
    """Return a new back end if it passes on shared and on exclusive storage, else None."""
    try:
        backend = make()
        passed = all(_passes(backend, contract) for contract in (_SELF_TEST, _EXCLUSIVE))
    except (AttributeError, RuntimeError, TypeError):
        return None  # this torch lacks a function or refuses it
    return backend if passed else None


def _passes(backend: Backend, contract: Contract) -> bool:
    source = torch.ones(4, device="cpu")
    lent = backend.lend(source, contract)
    if lent.sum().item() != 4:
        return False
    view = lent[1:]
    backend.revoke(lent, "self-test")
    try:
        total = view.sum()
    except RuntimeError:
        return backend.raises
    return not backend.raises and bool(total.isnan())
