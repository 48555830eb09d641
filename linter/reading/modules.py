"""Module names and files: what an import of the analysed project leads to. Nothing is imported."""

from __future__ import annotations

import os
from dataclasses import dataclass
from functools import lru_cache


@dataclass(frozen=True, slots=True)
class Module:
    """A file's place in its package: dotted name, whether it is a package's `__init__`, the folder above it all."""

    name: str
    is_package: bool
    root: str

    def absolute(self, level: int, name: str) -> str:
        """The absolute name of a relative import: `level` dots, then `name`. No dots: `name` itself."""
        if level == 0:
            return name
        parts = self.name.split(".")
        keep = len(parts) - level + (1 if self.is_package else 0)
        return ".".join([*parts[: max(keep, 0)], *([name] if name else [])])


@lru_cache(maxsize=None)
def _is_package(folder: str) -> bool:
    return os.path.isfile(os.path.join(folder, "__init__.py"))


def module_of(path: str) -> Module:
    """The module that a file is, by the `__init__.py` files above it."""
    folder, file = os.path.split(os.path.abspath(path))
    stem = file.removesuffix(".py")
    parts = [] if stem == "__init__" else [stem]
    while _is_package(folder) and os.path.dirname(folder) != folder:
        folder, package = os.path.split(folder)
        parts.append(package)
    return Module(".".join(reversed(parts)), stem == "__init__", folder)


@lru_cache(maxsize=None)
def _module_file(base: str) -> str | None:
    for candidate in (f"{base}.py", os.path.join(base, "__init__.py")):
        if os.path.isfile(candidate):
            return candidate
    return None


def locate(qualified: str, roots: tuple[str, ...]) -> tuple[str, str] | None:
    """(file, rest) for a qualified name: the longest part of it that is a module below one of the roots."""
    parts = qualified.split(".")
    for root in roots:
        for count in range(len(parts), 0, -1):
            file = _module_file(os.path.join(root, *parts[:count]))
            if file is not None:
                return file, ".".join(parts[count:])
    return None
