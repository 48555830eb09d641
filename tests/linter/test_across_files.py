"""Defects that lie in more than one file: how a definition is reached must not matter, what it does must."""

from __future__ import annotations

import os
import re
from dataclasses import replace
from pathlib import Path

import pytest
from across_files import PROJECTS, Place, Tree, tree
from conftest import Run
from spec_cases import ALL_RULES

from loaderlint.linter.engine import check_paths
from loaderlint.linter.settings import load_settings

LOAD = """
def load_weights(model, weights):
    kept = {{}}
    for name, weight in weights:
        {call}(kept, name, weight)
    model.finish(kept)
"""
KEEP = """
def keep(kept, name, weight):
    kept[name] = weight  # LDR103
"""

# The helper `keep` of pkg/helpers.py, reached in every way that an import can be written.
WAYS = {
    "absolute": ("from pkg.helpers import keep", "keep"),
    "absolute, under another name": ("from pkg.helpers import keep as put", "put"),
    "relative": ("from .helpers import keep", "keep"),
    "the module, relative": ("from . import helpers", "helpers.keep"),
    "the module, absolute": ("from pkg import helpers as h", "h.keep"),
    "dotted": ("import pkg.helpers", "pkg.helpers.keep"),
    "dotted, under another name": ("import pkg.helpers as h", "h.keep"),
    "through __init__": ("from pkg import keep", "keep"),
    "through __init__, dotted": ("import pkg", "pkg.keep"),
    "through __init__, relative": ("from . import keep", "keep"),
    "through a try": ("try:\n    from .helpers import keep\nexcept ImportError:\n    keep = None", "keep"),
    "under TYPE_CHECKING's else": ("if 0:\n    keep = None\nelse:\n    from .helpers import keep", "keep"),
}
FROM_INSIDE = {
    "absolute": ("from pkg.helpers import keep", "keep"),
    "relative": ("from .helpers import keep", "keep"),
    "the module": ("import pkg.helpers as h", "h.keep"),
    "dotted": ("import pkg.helpers", "pkg.helpers.keep"),
    "through __init__": ("from . import keep as put", "put"),
}


def found(paths: list[str], project: Path | None = None) -> list[Place]:
    """(path, line, code) of what is found under `paths`, with the settings of a project, by default the current one."""
    # What a copy costs is no question of these: they copy to be right.
    rules = replace(ALL_RULES.layers[0], ignore=("LDR302", "LDR305"))
    report = check_paths(paths, load_settings(project or Path.cwd(), options=rules))
    assert report.errors == []
    return sorted((one.path, one.line, one.code) for one in report.findings)


def kept_by_callees(paths: list[str]) -> tuple[set[tuple[str, int]], list[tuple[str, int]]]:
    """Where files that were not named keep what they are given, and the lines of the calls that lead there."""
    kept, calls = set(), []
    for one in check_paths(paths).findings:
        # What is only written to, or copied, is kept by nobody for the caller.
        if one.code == "LDR305":
            continue
        for place in ((step.path, step.line) for step in one.steps if step.kind == "kept"):
            if place[0] == one.path:
                continue
            assert one.code in ("LDR109", "LDR301")
            kept.add(place)
            calls.append((one.path, one.line))
    return kept, calls


def places(project: Tree) -> set[tuple[str, int]]:
    """Where something is expected, whatever it is."""
    return {(path, line) for path, line, _ in project.expected}


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("place", ["helpers.py", "helpers/__init__.py"])
def test_a_helper_is_reached_through_every_import(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, way: str, place: str
) -> None:
    imported, call = WAYS[way]
    files = f"=== pkg/__init__.py\nfrom .helpers import keep\n=== pkg/{place}\n{KEEP}\n=== pkg/load.py\n"
    project = tree(files + imported + LOAD.format(call=call))
    project.write(tmp_path)
    monkeypatch.chdir(tmp_path)
    assert found(["."]) == project.expected
    assert kept_by_callees(["pkg/load.py"]) == (places(project), [("pkg/load.py", 5 + imported.count("\n"))])


@pytest.mark.parametrize("way", FROM_INSIDE)
def test_a_helper_is_reached_through_an_import_in_the_function(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, way: str
) -> None:
    imported, call = FROM_INSIDE[way]
    load = LOAD.format(call=call).replace("    kept = {}", f"    {imported}\n    kept = {{}}")
    helper = f"=== pkg/__init__.py\nfrom .helpers import keep\n=== pkg/helpers.py\n{KEEP}\n"
    project = tree(f"{helper}=== pkg/load.py\n{load}")
    project.write(tmp_path)
    monkeypatch.chdir(tmp_path)
    assert found(["."]) == project.expected


def check_everywhere(project: Tree, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The findings, from inside, from outside, and with the files in the other order."""
    project.write(folder)
    monkeypatch.chdir(folder)
    assert found(["."]) == project.expected
    assert found(sorted(project.files, reverse=True)) == project.expected
    monkeypatch.chdir(folder.parent)
    outside = [
        (os.path.relpath(path, folder.name), line, code) for path, line, code in found([folder.name], folder)
    ]
    assert sorted(outside) == project.expected


@pytest.mark.parametrize("title", PROJECTS)
def test_a_project_of_several_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, title: str) -> None:
    check_everywhere(PROJECTS[title], tmp_path / "project", monkeypatch)


@pytest.mark.parametrize("title", [title for title in PROJECTS if "load.py" in PROJECTS[title].files])
def test_one_file_is_enough_to_find_what_its_helpers_keep(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, title: str
) -> None:
    project = PROJECTS[title]
    project.write(tmp_path)
    monkeypatch.chdir(tmp_path)
    here = [one for one in project.expected if one[0] == "load.py"]
    kept, calls = kept_by_callees(["load.py"])
    assert [one for one in found(["load.py"]) if one[:2] not in calls] == here
    assert kept == places(project) - {one[:2] for one in here}
    lines = project.files["load.py"].splitlines()
    assert all(path == "load.py" and "(" in lines[line - 1] for path, line in calls)


def test_an_imported_file_with_a_syntax_error_costs_only_itself(tmp_path: Path, loaderlint: Run) -> None:
    project = PROJECTS["helpers: a helper that keeps in a global"]
    project.write(tmp_path)
    (tmp_path / "ops.py").write_text(project.files["ops.py"] + "def f(:\n")
    done = loaderlint("load.py")
    assert (done.returncode, done.stdout) == (0, "")
    done = loaderlint("load.py", "ops.py")
    assert done.returncode == 2
    assert "ops.py:5" in done.stderr


@pytest.mark.parametrize("content", [b"\0", b"x = '\xff'\n", b"\xff\xfe", b""])
def test_an_imported_file_that_is_no_text_costs_only_itself(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, content: bytes
) -> None:
    project = PROJECTS["helpers: a helper that keeps in a global"]
    project.write(tmp_path)
    (tmp_path / "ops.py").write_bytes(content)
    monkeypatch.chdir(tmp_path)
    assert found(["load.py"]) == []


def test_a_helper_that_may_not_be_read_costs_only_itself(
    tmp_path: Path, loaderlint: Run, unprivileged: tuple[str, ...]
) -> None:
    PROJECTS["helpers: a helper that keeps in a global"].write(tmp_path)
    (tmp_path / "ops.py").chmod(0)
    done = loaderlint("load.py", prefix=unprivileged)
    assert (done.returncode, done.stdout) == (0, "")


def test_the_command_shows_the_helpers_line_and_the_callers_loop(tmp_path: Path, loaderlint: Run) -> None:
    PROJECTS["helpers: a helper that keeps on the object that it is given"].write(tmp_path)
    shown = loaderlint("load.py").stdout
    assert shown.startswith("load.py:5:9 LDR109")
    assert re.search(r"ops\.py:2 .*model\.head = weight +kept here", shown)
    assert re.search(r"for name, weight in weights: +borrowed here", shown)


def test_a_comment_in_the_helpers_file_silences_it(tmp_path: Path, loaderlint: Run) -> None:
    project = PROJECTS["helpers: a helper that keeps in a global"]
    project.write(tmp_path)
    silenced = project.files["ops.py"].replace("append(weight)", "append(weight)  # noqa: LDR102")
    (tmp_path / "ops.py").write_text(silenced)
    assert silenced != project.files["ops.py"]
    assert loaderlint("load.py").returncode == 0
    assert loaderlint(".").returncode == 0


BASE = """
=== lib/__init__.py
=== lib/base.py
from collections.abc import Iterable
from torch import Tensor

class Base:
    def load_weights(self, weights: Iterable[tuple[str, Tensor]]):
        for name, weight in weights:
            self.accept(name, weight)
        self.finish()
=== model.py
"""
KEEPS = """
    def accept(self, name, weight):
        self.kept = getattr(self, "kept", [])
        self.kept.append(weight)  # LDR102

    def finish(self):
        print([weight.sum() for weight in self.kept])
"""

# The base class of lib/base.py, named in every way that a header can be written.
HEADERS = {
    "plain": ("from lib.base import Base", "class Model(Base):"),
    "over several lines": (
        "from lib.base import Base",
        "class Model(\n    object,  # (not) much\n    Base,\n):",
    ),
    "continued": ("from lib.base import Base", "class Model \\\n    (Base):"),
    "behind a call": ("from lib.base import Base", "class Model(mixed(1, lambda: ()), Base):"),
    "behind a type": ("from lib.base import Base", "class Model(dict[str, tuple[()]], Base):"),
    "with a metaclass": ("from lib.base import Base", "class Model(Base, metaclass=Meta()):"),
    "behind other classes": (
        "from lib.base import Base",
        "class A: pass\n\nclass B(A): pass\n\nclass Model(Base):",
    ),
    "of the module": ("import lib.base as b", "class Model(b.Base):"),
    "renamed": ("from lib.base import Base as Parent", "class Model(Parent):"),
    "renamed behind a comment": (
        "from lib.base import (\n    Base  # that one\n    as Pärent,\n)",
        "class Model(Pärent):",
    ),
    "a name that is not ASCII": ("from lib.base import Base", "class Mödel(Base):"),
}


@pytest.mark.parametrize("way", HEADERS)
def test_a_class_is_found_however_it_names_its_base(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, way: str
) -> None:
    imported, header = HEADERS[way]
    check_everywhere(tree(f"{BASE}{imported}\n\n{header}{KEEPS}"), tmp_path, monkeypatch)


def test_a_class_that_cannot_be_read_stops_nobody(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    derived = f"from lib.base import Base\n\nclass Model(Base):{KEEPS}"
    project = tree(
        f"{BASE}{derived}\n=== other.py\nfrom lib.base import Base\n\nclass Other(Base):\n    x = (\n"
    )
    project.write(tmp_path)
    monkeypatch.chdir(tmp_path)
    report = check_paths(["."])
    assert [str(error.path) for error in report.errors] == ["other.py"]
    assert [(one.path, one.line, one.code) for one in report.findings] == project.expected
    assert report.files == len(project.files) - 1
