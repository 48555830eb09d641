"""Module names and files: what an import of the analysed project leads to. Nothing is imported."""

from __future__ import annotations

import os
from dataclasses import dataclass
from functools import lru_cache

# So many folders without an `__init__.py` may lie between two packages.
_MAX_GAP = 2


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
    root = _root_above(folder)
    inside = os.path.relpath(folder, root)
    parts = [] if inside == "." else inside.split(os.sep)
    return Module(".".join(parts if stem == "__init__" else [*parts, stem]), stem == "__init__", root)


@lru_cache(maxsize=None)
def _root_above(folder: str) -> str:
    """The folder above the outermost package; packages without an `__init__.py` may lie in between."""
    root, gap, current = folder, 0, folder
    while gap <= _MAX_GAP and os.path.basename(current).isidentifier():
        parent = os.path.dirname(current)
        if _is_package(current):
            root, gap = parent, 0
        else:
            gap += 1
        current = parent
    return root


@lru_cache(maxsize=None)
def _module_file(base: str) -> str | None:
    for candidate in (f"{base}.py", os.path.join(base, "__init__.py")):
        if os.path.isfile(candidate):
            return candidate
    return None


@lru_cache(maxsize=None)
def _is_there(base: str) -> bool:
    """Whether a folder has a package, or any other folder, or a module of that name."""
    return os.path.isdir(base) or os.path.isfile(f"{base}.py")


@lru_cache(maxsize=None)
def locate(qualified: str, roots: tuple[str, ...]) -> tuple[str, str] | None:
    """(file, rest) for a qualified name: the longest part of it that is a module below one of the roots."""
    parts = qualified.split(".")
    for root in roots:
        if not _is_there(os.path.join(root, parts[0])):
            continue
        for count in range(len(parts), 0, -1):
            file = _module_file(os.path.join(root, *parts[:count]))
            if file is not None:
                return file, ".".join(parts[count:])
    return None
