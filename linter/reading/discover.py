"""Which files to check: the named ones, and the Python files below the named directories."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fnmatch import fnmatch
from pathlib import Path

from loaderlint.linter.findings import FileError
from loaderlint.linter.reading.ignores import GitIgnores, ignores_above
from loaderlint.linter.reading.source import STANDARD_INPUT

# Directories that hold tools' data, caches or other people's code. Named by the user they are checked.
EXCLUDED_DIRECTORIES = frozenset(
    {".git", ".hg", ".svn", ".eggs", ".nox", ".tox", ".venv", "__pycache__", "node_modules", "site-packages"}
)
EXCLUDED_PATTERNS = ("*.egg-info", ".*_cache")
# Build outputs repeat the sources, but these are also fair names for a package.
BUILD_DIRECTORIES = frozenset({"build", "dist"})


@dataclass(frozen=True, slots=True)
class Discovery:
    """The files to check, sorted, each real file once; those named one by one; the paths that led to none."""

    files: tuple[str, ...]
    named: frozenset[str]
    errors: tuple[FileError, ...]


@dataclass(frozen=True, slots=True)
class _Folder:
    """A directory to walk: its path as shown, its absolute path without links, and the ignores above it."""

    shown: str
    real: Path
    ignores: GitIgnores


def discover(paths: Sequence[str]) -> Discovery:
    """Find the files behind `paths`. A path that does not exist or leads to no Python file is an error."""
    shown_by_file: dict[str, str] = {}
    errors: list[FileError] = []
    for path in paths:
        try:
            found = _files_behind(path, errors)
        except OSError as error:
            why = "broken symbolic link" if os.path.islink(path) else error.strerror or str(error)
            errors.append(FileError(path, 0, f"cannot read: {why}"))
            continue
        for file, shown in found:
            shown_by_file.setdefault(file, shown)
    named = frozenset(_as_shown(path) for path in paths)
    return Discovery(tuple(sorted(shown_by_file.values())), named, tuple(errors))


def _files_behind(path: str, errors: list[FileError]) -> list[tuple[str, str]]:
    """Pairs of real path and shown path for one path as given. Raises `OSError` if there is none."""
    if path == STANDARD_INPUT:
        return [(path, path)]
    if not stat.S_ISDIR(os.stat(path).st_mode):
        return [(os.path.realpath(path), _as_shown(path))]
    unreadable: list[FileError] = []
    found = list(_walk(path, unreadable))
    if not found and not unreadable:
        errors.append(FileError(_as_shown(path) or ".", 0, "no Python file in this directory"))
    errors.extend(unreadable)
    return found


def _as_shown(path: str) -> str:
    """The path as given, without a leading "./"; the current directory becomes ""."""
    while path.startswith("./"):
        path = path[2:].lstrip("/")
    return "" if path == "." else path


def _walk(path: str, errors: list[FileError]) -> Iterator[tuple[str, str]]:
    """The Python files below a directory. Links to directories are not followed, so the walk ends."""
    real = Path(os.path.realpath(path))
    links: list[tuple[str, str]] = []
    folders = [_Folder(_as_shown(path), real, ignores_above(real))]
    while folders:
        folder = folders.pop()
        ignores = folder.ignores.entered(folder.real)
        for entry in _entries(folder, errors):
            shown = os.path.join(folder.shown, entry.name)
            if entry.is_dir(follow_symlinks=False):
                inner = folder.real / entry.name
                if not _is_excluded(entry) and not ignores.ignore(inner, is_directory=True):
                    folders.append(_Folder(shown, inner, ignores))
            elif _is_python_file(entry) and not ignores.ignore(folder.real / entry.name, is_directory=False):
                if entry.is_symlink():
                    links.append((os.path.realpath(entry.path), shown))
                else:
                    yield entry.path, shown
    # A link is the name of its file only where the walk did not meet the file itself.
    yield from links


def _entries(folder: _Folder, errors: list[FileError]) -> list[os.DirEntry[str]]:
    try:
        with os.scandir(folder.real) as entries:
            return list(entries)
    except OSError as error:
        errors.append(
            FileError(folder.shown or ".", 0, f"cannot read this directory: {error.strerror or error}")
        )
        return []


def _is_python_file(entry: os.DirEntry[str]) -> bool:
    """Broken links are no files: editors leave such locks beside the file they have open."""
    return entry.name.endswith(".py") and os.path.isfile(entry.path)


def _is_excluded(directory: os.DirEntry[str]) -> bool:
    name = directory.name
    if name in EXCLUDED_DIRECTORIES or any(fnmatch(name, pattern) for pattern in EXCLUDED_PATTERNS):
        return True
    if name in BUILD_DIRECTORIES:
        return not os.path.exists(os.path.join(directory.path, "__init__.py"))
    return os.path.exists(os.path.join(directory.path, "pyvenv.cfg"))
