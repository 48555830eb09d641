from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from loaderlint.linter.reading.discover import discover


@pytest.fixture(autouse=True)
def in_tmp_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def make(*names: str) -> None:
    for name in names:
        path = Path(name)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("")


def files(*paths: str) -> list[str]:
    found = discover(paths)
    assert found.errors == ()
    return list(found.files)


def test_directories_are_walked_and_sorted() -> None:
    make("b.py", "a.py", "p/q/c.py", "p/d.pyi", "p/notes.txt", "p/e.pyc")
    assert files(".") == ["a.py", "b.py", "p/q/c.py"]


def test_paths_are_shown_as_given(tmp_path: Path) -> None:
    make("p/a.py")
    assert files(".") == files("./") == files("p") == files("./p/") == files("./p/a.py") == ["p/a.py"]
    assert files(str(tmp_path)) == [str(tmp_path / "p/a.py")]
    os.chdir("p")
    assert files("../p") == ["../p/a.py"]


def test_each_file_is_checked_once(tmp_path: Path) -> None:
    make("p/a.py")
    Path("z_link.py").symlink_to("p/a.py")
    Path("a_link.py").symlink_to("p/a.py")
    assert files("p", ".", "p/a.py", str(tmp_path)) == ["p/a.py"]
    assert files(".") == ["p/a.py"]


def test_a_link_to_a_file_elsewhere_is_checked_under_its_own_name() -> None:
    make("p/a.py", "q/b.py")
    Path("q/link.py").symlink_to("../p/a.py")
    assert files("q") == ["q/b.py", "q/link.py"]


def test_loops_of_directories_end() -> None:
    make("p/a.py")
    Path("p/again").symlink_to("..", target_is_directory=True)
    assert files(".") == ["p/a.py"]


def test_what_only_looks_like_a_python_file_is_passed_over() -> None:
    make("p.py/a.py")
    Path(".#lock.py").symlink_to("someone@host.1234")
    Path("loop.py").symlink_to("loop.py")
    os.mkfifo("pipe.py")
    assert files(".") == ["p.py/a.py"]


@pytest.mark.parametrize(
    "directory",
    [
        ".git",
        ".venv",
        ".tox",
        "__pycache__",
        "node_modules",
        "x.egg-info",
        ".ruff_cache",
        "site-packages",
        "build",
    ],
)
def test_tools_directories_are_left_out_unless_named(directory: str) -> None:
    make("a.py", f"p/{directory}/b.py")
    assert files(".") == ["a.py"]
    assert files(f"p/{directory}") == [f"p/{directory}/b.py"]


def test_a_virtual_environment_is_left_out_whatever_its_name() -> None:
    make("a.py", "my env/lib/b.py", "my env/pyvenv.cfg")
    assert files(".") == ["a.py"]


def test_a_package_named_build_is_checked() -> None:
    make("build/__init__.py", "build/a.py")
    assert files(".") == ["build/__init__.py", "build/a.py"]


def test_a_named_file_is_checked_whatever_its_name() -> None:
    make("script", ".venv/a.py", ".gitignore")
    assert files("script", ".venv/a.py") == [".venv/a.py", "script"]


def test_git_and_loaderlint_agree_on_what_is_ignored() -> None:
    subprocess.run(["git", "init", "-q"], check=True)
    make(
        "gen.py",
        "keep.py",
        "sub/gen.py",
        "sub/keep.py",
        "sub/deep/x_pb2.py",
        "out/a.py",
        "out/kept.py",
        "priv.py",
    )
    make("sub/deep/gen.py", "sub/own.py", "anchored/a.py", "sub/anchored/a.py", "é/gen.py", "é/a.py")
    Path(".gitignore").write_text("# all\n\ngen.py\n*_pb2.py\nout/*\n!out/kept.py\n/anchored/\n!\n[\n")
    Path("sub/.gitignore").write_text("!gen.py\n/own.py\n")
    Path(".git/info/exclude").write_text("priv.py\n")
    listed = subprocess.run(
        ["git", "-c", "core.quotePath=off", "ls-files", "-o", "--exclude-standard", "*.py"],
        check=True, capture_output=True, text=True,
    ).stdout.splitlines()  # fmt: skip
    assert files(".") == sorted(listed)
    assert "sub/gen.py" in listed and "gen.py" not in listed  # The inner file overrules the outer one.


def test_outer_ignore_files_of_the_repository_hold_in_a_named_directory() -> None:
    make(".git/HEAD", "sub/gen.py", "sub/p/gen.py", "sub/p/a.py")
    Path(".gitignore").write_text("gen.py\n")
    assert files("sub/p") == ["sub/p/a.py"]


def test_a_named_directory_that_git_ignores_is_checked() -> None:
    make(".git/HEAD", "out/p/a.py", "out/p/gen.py")
    Path(".gitignore").write_text("out/\n")
    Path("out/.gitignore").write_text("gen.py\n")
    assert files("out") == ["out/p/a.py"]
    assert files("out/p") == ["out/p/a.py", "out/p/gen.py"]


def test_ignore_files_outside_a_repository_do_not_reach_into_it() -> None:
    make("r/.git/HEAD", "r/a.py")
    Path(".gitignore").write_text("a.py\n")
    assert files("r") == ["r/a.py"]


@pytest.mark.parametrize(
    ("path", "message"),
    [
        ("nowhere", "cannot read: No such file or directory"),
        ("broken.py", "cannot read: broken symbolic link"),
        ("a.py/b.py", "cannot read: Not a directory"),
        ("empty", "no Python file in this directory"),
    ],
)
def test_a_path_that_leads_to_no_file_is_an_error_and_the_others_are_found(path: str, message: str) -> None:
    make("a.py", "empty/notes.txt")
    Path("broken.py").symlink_to("nowhere")
    found = discover([path, "a.py"])
    assert found.files == ("a.py",)
    assert [(error.path, error.message) for error in found.errors] == [(path, message)]
