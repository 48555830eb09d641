"""The command as a user runs it: real processes on real files."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from conftest import LOADER, Run

SAFELY_REPAIRED = LOADER.replace("list(weights)", "weights")


def test_findings_are_reported_and_nothing_is_changed(loader: Path, loaderlint: Run) -> None:
    done = loaderlint("loader.py")
    assert done.returncode == 1
    headers = [line for line in done.stdout.splitlines() if line.startswith("loader.py:")]
    assert [header.split()[:2] for header in headers] == [
        ["loader.py:7:25", "LDR101"],
        ["loader.py:14:9", "LDR103"],
    ]
    assert "1 file checked: 2 findings in 1 file" in done.stderr
    assert "--fix can repair 1 of them" in done.stderr
    assert loader.read_text() == LOADER


def test_a_clean_file_is_reported_as_clean(tmp_path: Path, loaderlint: Run) -> None:
    (tmp_path / "a.py").write_text("x = 1\n")
    done = loaderlint("a.py")
    assert (done.returncode, done.stdout) == (0, "")
    assert done.stderr == "1 file checked: no findings\n"


@pytest.mark.parametrize(
    "arguments", [("check", "."), (".",), ("check",), (), ("--no-cache", "."), ("loader.py", ".")]
)
def test_check_and_the_current_directory_are_the_defaults(
    loader: Path, loaderlint: Run, arguments: tuple[str]
) -> None:
    assert loaderlint(*arguments).stdout == loaderlint("check", "loader.py").stdout != ""


def test_json_is_all_that_is_on_standard_output(loader: Path, loaderlint: Run) -> None:
    (loader.parent / "bad.py").write_text(LOADER + "def f(:\n")
    done = loaderlint("check", "--output-format", "json", "--no-cache", ".", "nowhere")
    report = json.loads(done.stdout)
    assert list(report) == ["version", "findings", "files", "errors"]
    assert [finding["code"] for finding in report["findings"]] == ["LDR101", "LDR103"]
    assert report["files"] == 1
    assert [(error["path"], error["line"]) for error in report["errors"]] == [("nowhere", 0), ("bad.py", 16)]
    assert done.returncode == 2


def test_fix_makes_the_safe_repairs_and_reports_the_rest(loader: Path, loaderlint: Run) -> None:
    done = loaderlint("--fix", "loader.py")
    assert done.returncode == 1
    assert loader.read_text() == SAFELY_REPAIRED
    assert "LDR103" in done.stdout and "LDR101" not in done.stdout
    assert "repaired 1 finding in 1 file" in done.stderr


def test_unsafe_fixes_leave_a_clean_file_that_a_second_run_does_not_touch(
    loader: Path, loaderlint: Run
) -> None:
    assert loaderlint("check", "--fix", "--unsafe-fixes", ".").returncode == 0
    repaired, written = loader.read_text(), loader.stat().st_mtime_ns
    assert "kept[name] = weight\n" not in repaired
    assert loaderlint("--fix", "--unsafe-fixes", ".").returncode == 0
    assert (loader.read_text(), loader.stat().st_mtime_ns) == (repaired, written)


@pytest.mark.parametrize("options", [(), ("--unsafe-fixes",), ("--fix",)])
def test_the_diff_is_what_fix_would_do(loader: Path, loaderlint: Run, options: tuple[str, ...]) -> None:
    shown = loaderlint("--diff", *options, "loader.py")
    assert shown.returncode == 1
    assert loader.read_text() == LOADER
    subprocess.run(["git", "apply"], cwd=loader.parent, input=shown.stdout, text=True, check=True)
    patched = loader.read_text()
    loader.write_text(LOADER)
    loaderlint("--fix", *options[:1], "loader.py")
    assert patched == loader.read_text() != LOADER


@pytest.mark.parametrize(
    ("head", "encoding", "newline"),
    [
        ("", "utf-8", "\r\n"),
        ("", "utf-8-sig", "\n"),
        ("# coding: latin-1\nname = 'é'\n\f\n", "latin-1", "\n"),
        ("name = 'é\u2028'\n", "utf-8-sig", "\r"),
    ],
)
def test_a_repair_keeps_every_other_byte(
    loader: Path, loaderlint: Run, head: str, encoding: str, newline: str
) -> None:
    def encoded(text: str) -> bytes:
        return (head + text.rstrip().replace("    ", "\t")).replace("\n", newline).encode(encoding)

    loader.write_bytes(encoded(LOADER))
    loader.chmod(0o640)
    loaderlint("--fix", "loader.py")
    assert loader.read_bytes() == encoded(SAFELY_REPAIRED)
    assert loader.stat().st_mode & 0o777 == 0o640


def test_noqa_silences_and_is_not_repaired(loader: Path, loaderlint: Run) -> None:
    text = LOADER.replace("list(weights):", "list(weights):  # noqa: LDR101").replace(
        "= weight\n", "= weight  # noqa\n"
    )
    loader.write_text(text)
    done = loaderlint("--fix", "--unsafe-fixes", "loader.py")
    assert (done.returncode, done.stdout) == (0, "")
    assert loader.read_text() == text


BAD_INPUT = {
    "syntax.py": (b"x = 1\ndef f(:\n", "syntax.py:2: error: syntax error: invalid syntax"),
    "bytes.py": (b"x = 1\ny = '\xe9'\n", "bytes.py:2: error: cannot decode: byte 0xe9 is not valid utf-8"),
    "cookie.py": (b"# coding: klingon\n", "cookie.py:1: error: cannot decode: unknown encoding: klingon"),
    "binary.py": (
        b"\0\1\2",
        "binary.py:1: error: null byte: this is a binary file or UTF-16, not Python source",
    ),
}


@pytest.mark.parametrize("name", BAD_INPUT)
def test_bad_input_is_one_clear_line_and_the_rest_is_checked(
    loader: Path, loaderlint: Run, name: str
) -> None:
    content, line = BAD_INPUT[name]
    (loader.parent / name).write_bytes(content)
    done = loaderlint(name, "loader.py")
    assert done.returncode == 2
    assert done.stderr.splitlines()[0] == line
    assert "LDR103" in done.stdout
    assert "Traceback" not in done.stderr


def test_in_a_directory_only_broken_loaders_are_errors(tmp_path: Path, loaderlint: Run) -> None:
    (tmp_path / "loader.py").write_text(LOADER + "def f(:\n")
    (tmp_path / "template.py").write_text("def {{ name }}(:\n")
    done = loaderlint(".")
    assert done.returncode == 2
    assert [line for line in done.stderr.splitlines() if "syntax" in line] == [
        "loader.py:16: error: syntax error: invalid syntax"
    ]


def test_paths_that_lead_nowhere_are_errors(loader: Path, loaderlint: Run) -> None:
    (loader.parent / "empty").mkdir()
    done = loaderlint("nowhere.py", "empty", "loader.py")
    assert done.returncode == 2
    assert done.stderr.splitlines()[:2] == [
        "nowhere.py: error: cannot read: No such file or directory",
        "empty: error: no Python file in this directory",
    ]
    assert "LDR103" in done.stdout


def test_what_may_not_be_read_is_an_error(
    loader: Path, loaderlint: Run, unprivileged: tuple[str, ...]
) -> None:
    secret = loader.parent / "secret.py"
    secret.write_text("x = 1\n")
    secret.chmod(0)
    closed = loader.parent / "closed"
    closed.mkdir(mode=0)
    done = loaderlint(".", prefix=unprivileged)
    assert done.returncode == 2
    assert "secret.py: error: cannot read: Permission denied" in done.stderr
    assert "closed: error: cannot read this directory: Permission denied" in done.stderr
    assert "LDR103" in done.stdout


def test_a_file_in_a_read_only_directory_is_left(
    loader: Path, loaderlint: Run, unprivileged: tuple[str, ...]
) -> None:
    loader.parent.chmod(0o555)
    done = loaderlint("--fix", "loader.py", prefix=(*unprivileged, "env", "PYTHONDONTWRITEBYTECODE=1"))
    loader.parent.chmod(0o755)
    assert done.returncode == 2
    assert "loader.py: error: not repaired: cannot write: Permission denied" in done.stderr
    assert "LDR101" in done.stdout
    assert loader.read_text() == LOADER
    assert os.listdir(loader.parent) == ["loader.py"]


def test_a_read_only_file_is_left(loader: Path, loaderlint: Run) -> None:
    loader.chmod(0o444)
    done = loaderlint("--fix", "loader.py")
    assert done.returncode == 2
    assert "loader.py: error: not repaired: the file is read-only" in done.stderr
    assert "LDR101" in done.stdout
    assert loader.read_text() == LOADER


def test_odd_files_are_no_problem(tmp_path: Path, loaderlint: Run) -> None:
    for name, content in {
        "empty.py": b"",
        "bom.py": b"\xef\xbb\xbf",
        "ff.py": b"\x0c\n",
        "cr.py": b"x = 1\ry = 2",
    }.items():
        (tmp_path / name).write_bytes(content)
    done = loaderlint(".")
    assert (done.returncode, done.stderr) == (0, "4 files checked: no findings\n")


def test_a_file_name_that_is_no_text(loader: Path, loaderlint: Run) -> None:
    name = os.path.join(os.fsencode(loader.parent), b"\xff.py")
    loader.rename(os.fsdecode(name))
    assert loaderlint(".").stdout.startswith("\ufffd.py:7:25 LDR101")
    assert json.loads(loaderlint("--output-format", "json").stdout)["findings"][0]["path"] == "\udcff.py"


def test_standard_input_is_checked(loader: Path, loaderlint: Run) -> None:
    done = loaderlint("-", input=LOADER)
    assert done.returncode == 1
    assert done.stdout.startswith("-:7:25 LDR101")
    assert loaderlint("--diff", "-", input=LOADER).stdout.startswith("--- a/-\n")
    assert "standard input cannot be written" in loaderlint("--fix", "-", input=LOADER).stderr


def test_a_reader_that_stops_early_is_no_crash(loader: Path) -> None:
    for number in range(100):
        (loader.parent / f"loader{number}.py").write_text(LOADER)
    command = [sys.executable, "-m", "loaderlint.linter", "."]
    pipe = subprocess.PIPE
    with subprocess.Popen(command, cwd=loader.parent, stdout=pipe, stderr=pipe, text=True) as running:
        assert running.stdout is not None and running.stderr is not None
        assert "LDR" in running.stdout.readline()
        running.stdout.close()
        complaints = running.stderr.read()
    assert "Error" not in complaints and "Traceback" not in complaints


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs a device that is always full")
@pytest.mark.parametrize(
    "command", [["check"], ["check", "--output-format=json"], ["rules"], ["--version"], ["--help"]]
)
def test_a_full_disk_behind_the_output_is_one_line(loader: Path, command: list[str]) -> None:
    call = [sys.executable, "-m", "loaderlint.linter", *command]
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(call, cwd=loader.parent, stdout=full, stderr=subprocess.PIPE, text=True)
    assert (done.returncode, done.stderr.splitlines()[-1]) == (
        2,
        "loaderlint: [Errno 28] No space left on device",
    )
    assert "Traceback" not in done.stderr


def test_no_colours_where_nobody_sees_them(loader: Path, loaderlint: Run) -> None:
    assert "\x1b" not in loaderlint(".").stdout


@pytest.mark.parametrize(("environment", "coloured"), [({}, True), ({"NO_COLOR": "1"}, False)])
def test_colours_on_a_terminal(loader: Path, environment: dict[str, str], coloured: bool) -> None:
    reading, terminal = os.openpty()
    settings = {**{name: value for name, value in os.environ.items() if name != "NO_COLOR"}, **environment}
    command = [sys.executable, "-m", "loaderlint.linter", "."]
    subprocess.run(command, cwd=loader.parent, env=settings, stdout=terminal, stderr=subprocess.DEVNULL)
    os.close(terminal)
    assert (b"\x1b[" in os.read(reading, 1000)) is coloured
    os.close(reading)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--unsafe-fixes", "."), "--unsafe-fixes needs --fix"),
        (("--diff", "--output-format", "json", "."), "cannot be combined"),
        (("--output-format", "xml", "."), "is not one of"),
        (("--no-such-option",), "No such option"),
    ],
)
def test_a_wrong_option_is_explained(
    loader: Path, loaderlint: Run, arguments: tuple[str], message: str
) -> None:
    done = loaderlint(*arguments)
    assert done.returncode == 2
    assert message in done.stderr
    assert loader.read_text() == LOADER


@pytest.mark.parametrize(
    ("arguments", "parts"),
    [
        (("--help",), ("Exit status:", "Examples:", "check  ", "explain  ", "rules  ")),
        (("check", "-h"), ("--fix", "--unsafe-fixes", "--diff", "--select", "--output-format", "noqa")),
    ],
)
def test_the_help_explains_status_and_options(
    loaderlint: Run, arguments: tuple[str, ...], parts: tuple[str, ...]
) -> None:
    done = loaderlint(*arguments)
    assert (done.returncode, done.stderr) == (0, "")
    for part in parts:
        assert part in done.stdout


@pytest.mark.parametrize("name", ["check", "explain", "rules"])
def test_what_is_called_like_a_command_can_be_checked(loader: Path, loaderlint: Run, name: str) -> None:
    folder = loader.parent / name
    folder.mkdir()
    loader.rename(folder / "loader.py")
    for arguments in (("check", name), (f"./{name}",), ("--", name)):
        done = loaderlint(*arguments)
        assert (done.returncode, f"{name}/loader.py:7:25 LDR101" in done.stdout) == (1, True), done.stderr


def test_the_version_is_that_of_the_package(loaderlint: Run) -> None:
    from importlib.metadata import version

    assert loaderlint("--version").stdout == f"loaderlint {version('loaderlint')}\n"


def test_the_checked_code_is_not_run(tmp_path: Path, loaderlint: Run) -> None:
    (tmp_path / "danger.py").write_text(f"{LOADER}\nopen('ran', 'w')\n")
    (tmp_path / "click.py").write_text("open('ran', 'w')\n")
    loaderlint("--fix", "danger.py", prefix=("env", "PYTHONSAFEPATH=1"))
    assert not (tmp_path / "ran").exists()
