"""The runtime guard: makes every read of a stale streamed tensor visible, on real streamers.

Importing this package imports neither torch nor a streamer.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .activation import activate
from .levels import GuardSettingError

if TYPE_CHECKING:
    from .backends.poison import Poisoned, poisoned
    from .decorating import guard_loader
    from .guarding import guard, guard_scope
    from .sweeping import census

__all__ = [
    "GuardSettingError",
    "Poisoned",
    "activate",
    "census",
    "guard",
    "guard_loader",
    "guard_scope",
    "poisoned",
]

_LAZY = {
    "census": "sweeping",
    "guard": "guarding",
    "guard_loader": "decorating",
    "guard_scope": "guarding",
    "poisoned": "backends.poison",
    "Poisoned": "backends.poison",
}


def __getattr__(name: str) -> Any:
    if name not in _LAZY:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(f"{__name__}.{_LAZY[name]}"), name)
