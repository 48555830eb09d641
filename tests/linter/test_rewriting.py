from __future__ import annotations

import os
import stat
import sys
from pathlib import Path
from types import FrameType

import pytest

from loaderlint.linter.reading.source import read_source
from loaderlint.linter.rewriting import RewriteError, rewrite


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "f.py"
    path.write_text("old = 1\n")
    return path


def refused(path: Path) -> str:
    """The reason for which `path` is not rewritten; nothing may be different or left over."""
    before = path.read_bytes()
    names = sorted(os.listdir(path.parent))
    source = read_source(str(path))
    with pytest.raises(RewriteError) as caught:
        rewrite(source, source.with_text("new = 1\n"))
    assert path.read_bytes() == before
    assert sorted(os.listdir(path.parent)) == names
    return str(caught.value)


def rewritten(path: Path) -> None:
    source = read_source(str(path))
    rewrite(source, source.with_text("new = 1\n"))


def test_content_changes_and_nothing_is_left_over(file: Path) -> None:
    rewritten(file)
    assert file.read_text() == "new = 1\n"
    assert os.listdir(file.parent) == ["f.py"]


@pytest.mark.parametrize("mode", [0o600, 0o644, 0o755, 0o775, 0o4755])
def test_the_mode_stays(file: Path, mode: int) -> None:
    file.chmod(mode)
    rewritten(file)
    assert stat.S_IMODE(file.stat().st_mode) == mode


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give files away")
def test_the_owner_stays(file: Path) -> None:
    os.chown(file, 1234, 4321)
    rewritten(file)
    assert (file.stat().st_uid, file.stat().st_gid) == (1234, 4321)


def test_a_link_stays_and_its_file_changes(file: Path) -> None:
    folder = file.parent / "links"
    folder.mkdir()
    link = folder / "link.py"
    link.symlink_to("../f.py")
    rewritten(link)
    assert link.is_symlink()
    assert file.read_text() == "new = 1\n"


def test_a_file_that_changed_since_it_was_read_is_left(file: Path) -> None:
    source = read_source(str(file))
    file.write_text("somebody = 'else'\n")
    with pytest.raises(RewriteError, match="has changed since it was read"):
        rewrite(source, source.with_text("new = 1\n"))
    assert file.read_text() == "somebody = 'else'\n"
    assert os.listdir(file.parent) == ["f.py"]


def test_a_file_that_has_gone_stays_gone(file: Path) -> None:
    source = read_source(str(file))
    file.unlink()
    with pytest.raises(RewriteError, match="No such file"):
        rewrite(source, source.with_text("new = 1\n"))
    assert os.listdir(file.parent) == []


def test_a_read_only_file_is_left(file: Path) -> None:
    file.chmod(0o444)
    assert refused(file) == "not repaired: the file is read-only"


def test_what_is_no_regular_file_is_left() -> None:
    assert "not a regular file" in refused(Path("/dev/null"))


def _rewrite_and_die(path: Path, moment: int) -> None:
    """In a process of its own: rewrite, but be gone when the `moment`-th line of it would run."""
    lines = 0

    def count(frame: FrameType, event: str, argument: object) -> object:
        nonlocal lines
        if not frame.f_code.co_filename.endswith(("rewriting.py", "tempfile.py")):
            return None
        lines += event == "line"
        if lines == moment:
            os._exit(9)
        return count

    sys.settrace(count)
    rewritten(path)
    os._exit(0)


def test_killed_at_any_moment_the_file_is_old_or_new(file: Path) -> None:
    old, moment, results = file.read_bytes(), 0, set()
    status = -1
    while status != 0:
        moment += 1
        file.write_bytes(old)
        child = os.fork()
        if child == 0:
            _rewrite_and_die(file, moment)
        status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        assert status in (0, 9)
        results.add(file.read_bytes())
    assert results == {b"old = 1\n", b"new = 1\n"}
    assert moment > 20
