"""Runs a function right after a module is imported, whenever that happens."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from importlib.machinery import ModuleSpec
from types import ModuleType

Callback = Callable[[ModuleType], None]


class _Loader:
    """Stands in for a module's loader until the module is executed."""

    def __init__(self, loader: object, callback: Callback) -> None:
        self._loader = loader
        self._callback = callback

    def __getattr__(self, name: str) -> object:
        return getattr(self._loader, name)

    def create_module(self, spec: ModuleSpec) -> ModuleType | None:
        return self._loader.create_module(spec)

    def exec_module(self, module: ModuleType) -> None:
        module.__spec__.loader = module.__loader__ = self._loader
        self._loader.exec_module(module)
        self._callback(module)


class _Finder:
    """A finder that knows no file: it asks the others, and wraps the loader of the modules it waits for."""

    def __init__(self) -> None:
        self.callbacks: dict[str, Callback] = {}

    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        callback = self.callbacks.get(name)
        if callback is None:
            return None
        # Not importlib.util.find_spec: that would import the parent package again, from inside its import.
        for finder in sys.meta_path:
            find = getattr(finder, "find_spec", None)
            spec = find(name, path, target) if finder is not self and find is not None else None
            if spec is not None:
                break
        else:
            return None
        if hasattr(spec.loader, "exec_module"):
            spec.loader = _Loader(spec.loader, callback)
        return spec


_finder = _Finder()


def after_import(name: str, callback: Callback) -> None:
    """Call `callback(module)` once the module is imported, at once if it is; a later callback replaces it.

    What the callback raises is what the import raises.
    """
    _finder.callbacks[name] = callback
    module = sys.modules.get(name)
    if module is not None and not getattr(module.__spec__, "_initializing", False):
        callback(module)
    elif _finder not in sys.meta_path:
        sys.meta_path.insert(0, _finder)


def is_awaited(*names: str) -> bool:
    """Whether a callback for any of those modules was given."""
    return not _finder.callbacks.keys().isdisjoint(names)
