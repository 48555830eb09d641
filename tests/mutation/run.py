"""Breaks loaderlint on purpose, one place at a time, and shows that a named test notices.

    python tests/mutation/run.py [TEXT...]

Each entry of catalogue.toml replaces a text of one file in a copy of the tree and runs the test that has to fail then.
TEXT chooses the entries whose description or file contains it. First the tests run on the unchanged copy: they have to
pass. Exit status: 0 all are noticed, 1 some are not, 2 no entry was chosen, the text of one is not in its file, or the
tests do not pass before anything is changed.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

ROOT = Path(__file__).resolve().parents[2]
CATALOGUE = Path(__file__).with_name("catalogue.toml")
_PACKAGES = ("linter", "rules", "runtime_guard")
_COPIED = (*_PACKAGES, "tests", "pyproject.toml", "CHANGELOG.md", "README.md", "docs")
_IGNORED = shutil.ignore_patterns("__pycache__")
# pytest's own statuses.
_PASSED, _FAILED = 0, 1


@dataclass(frozen=True)
class Mutation:
    """Replace `old`, which stands once in `file`, by `new`: the test `killed_by` has to fail.

    `breaks` says what breaks.
    """

    breaks: str
    file: str
    old: str
    new: str
    killed_by: str

    def broken(self, text: str) -> str:
        """The text of the file with the breakage in it. Raises StaleEntry."""
        places = text.count(self.old)
        if places != 1:
            raise StaleEntry(
                f"{CATALOGUE.name}: {self.breaks}: `old` stands {places} times in {self.file}, not once; "
                "adapt the entry to the code"
            )
        return text.replace(self.old, self.new)


class StaleEntry(Exception):
    """An entry of the catalogue whose text is not in its file any more, or not only once."""


def mutations() -> list[Mutation]:
    """The catalogue, in its order."""
    entries = tomllib.loads(CATALOGUE.read_text("utf-8"))["mutation"]
    return [Mutation(**entry) for entry in entries]


@contextmanager
def copied_tree() -> Iterator[Path]:
    """A copy of what the tests need, which is removed in the end."""
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder, "tree")
        copy.mkdir()
        for name in _COPIED:
            source = ROOT / name
            if source.is_dir():
                shutil.copytree(source, copy / name, ignore=_IGNORED)
            else:
                shutil.copy(source, copy / name)
        package = copy / "package" / "loaderlint"
        package.mkdir(parents=True)
        for name in _PACKAGES:
            (package / name).symlink_to(copy / name)
        yield copy


def status_of(tests: Sequence[str], tree: Path) -> int:
    """pytest's exit status for these tests, with the package of `tree` instead of the installed one."""
    environment = {**os.environ, "PYTHONPATH": str(tree / "package"), "PYTHONDONTWRITEBYTECODE": "1"}
    command = [sys.executable, "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider", *dict.fromkeys(tests)]
    return subprocess.run(command, cwd=tree, env=environment, capture_output=True, timeout=600).returncode


def is_killed(mutation: Mutation, tree: Path) -> bool:
    """Whether the named test fails on the broken copy. One that cannot be imported proves nothing.

    Raises StaleEntry.
    """
    path = tree / mutation.file
    text = path.read_text("utf-8")
    path.write_text(mutation.broken(text), "utf-8")
    try:
        return status_of([mutation.killed_by], tree) == _FAILED
    finally:
        path.write_text(text, "utf-8")


def stale_entries(chosen: Sequence[Mutation], tree: Path) -> list[str]:
    """What is wrong with the entries that do not fit the files of `tree`, a line each."""
    found = []
    for mutation in chosen:
        try:
            mutation.broken((tree / mutation.file).read_text("utf-8"))
        except (StaleEntry, FileNotFoundError) as error:
            found.append(str(error))
    return found


def main() -> int:
    """Run what was asked for, one line each."""
    chosen = [one for one in mutations() if all(text in one.breaks + one.file for text in sys.argv[1:])]
    if not chosen:
        print("no entry contains that text", file=sys.stderr)
        return 2
    stale = stale_entries(chosen, ROOT)
    if stale:
        print("\n".join(stale), file=sys.stderr)
        return 2
    survived = 0
    with copied_tree() as tree:
        if status_of([one.killed_by for one in chosen], tree) != _PASSED:
            print("the tests do not pass on the unchanged tree", file=sys.stderr)
            return 2
        for mutation in chosen:
            killed = is_killed(mutation, tree)
            survived += not killed
            print(f"{'killed  ' if killed else 'SURVIVED'}  {mutation.file}: {mutation.breaks}", flush=True)
    print(f"{len(chosen) - survived} of {len(chosen)} are noticed")
    return 1 if survived else 0


if __name__ == "__main__":
    sys.exit(main())
