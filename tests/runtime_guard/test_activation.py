"""LOADERLINT_GUARD reaches every process by the .pth file of the installed wheel, and its reports arrive."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import sysconfig
from importlib import metadata
from pathlib import Path

import pytest

_ROOT = Path(__file__).parents[2]
_SOURCES = ("pyproject.toml", "setup.py", "README.md", "LICENSE", "linter", "rules", "runtime_guard")

# Imported where it is needed: most parents of a process that loads do not.
_LOADER = """
import sys

def load(owned=False, swallow=False):
    from runai_model_streamer import SafetensorsStreamer
    with SafetensorsStreamer() as streamer:
        streamer.stream_files(sys.argv[1:], owned=owned)
        kept = []
        for name, weight in streamer.get_tensors():
            kept.append((name, weight))
    for name, weight in kept:
        try:
            weight.sum()
        except RuntimeError:
            if not swallow:
                raise
    print("loaded", len(kept))
"""


# One process makes the wheel and its environment.
pytestmark = pytest.mark.xdist_group("wheel")


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel of this tree."""
    folder = tmp_path_factory.mktemp("wheel")
    _copy_sources(folder / "source")
    _pip("wheel", *_build_options(), "--no-deps", "--wheel-dir", str(folder), str(folder / "source"))
    (built,) = folder.glob("*.whl")
    return built


@pytest.fixture(scope="module")
def installed_python(wheel: Path) -> Path:
    """The interpreter of a virtual environment that has the wheel, and torch from where the tests have it."""
    return _environment(wheel.parent / "venv", Path(sys.executable), wheel)


def _environment(environment: Path, made_by: Path, wheel: Path) -> Path:
    subprocess.run([str(made_by), "-m", "venv", "--without-pip", str(environment)], check=True)
    (packages,) = environment.glob("lib/python*/site-packages")
    # Not --prefix: with that, pip uninstalls what the tests themselves run on.
    _pip("install", "--no-deps", "--target", str(packages), str(wheel))
    (packages / "outer.pth").write_text(sysconfig.get_paths()["purelib"] + "\n")
    return environment / "bin" / "python"


def _copy_sources(target: Path) -> None:
    target.mkdir()
    for name in _SOURCES:
        source = _ROOT / name
        if source.is_dir():
            shutil.copytree(source, target / name)
        else:
            shutil.copy(source, target / name)


def _pip(*arguments: str) -> None:
    command = [sys.executable, "-m", "pip", "--quiet", "--disable-pip-version-check", *arguments]
    result = subprocess.run(command, capture_output=True, text=True)
    assert result.returncode == 0, result.stderr


def _build_options() -> list[str]:
    """Build with the setuptools at hand where it is new enough, else pip fetches one."""
    try:
        recent = int(metadata.version("setuptools").split(".")[0]) >= 77
    except metadata.PackageNotFoundError:
        recent = False
    return ["--no-build-isolation"] if recent else []


@pytest.fixture
def run(
    installed_python: Path, checkpoint_files: list[Path], clean_environment: dict[str, str], tmp_path: Path
):
    """Run Python code after the loader above, in a new process, with these variables set."""

    def start(
        code: str, *options: str, python: Path = installed_python, before: str = "", **variables: str
    ) -> subprocess.CompletedProcess[str]:
        script = tmp_path / "loader.py"
        script.write_text(before + _LOADER + code)
        return subprocess.run(
            [str(python), *options, str(script), *map(str, checkpoint_files)],
            env={**clean_environment, **variables},
            capture_output=True,
            text=True,
            cwd=tmp_path,
        )

    return start


def test_a_plain_process_dies_by_the_stale_read_with_the_three_places(run) -> None:
    result = run("load()\n", LOADERLINT_GUARD="1")
    assert result.returncode == 1
    report = result.stderr[result.stderr.index("RuntimeError: LOADERLINT-E101 read-after-advance ") :]
    assert " via runai-model-streamer 0.17.1 [owned=False, limit=unset]\n" in report
    assert "  read at      loader.py:13 in load: weight.sum()\n" in report
    assert "  advanced at  loader.py:9 in load: for name, weight in streamer.get_tensors():\n" in report
    assert "  yielded at   loader.py:9 in load: for name, weight in streamer.get_tensors():\n" in report
    assert "started with owned=False" in report
    assert result.stderr.count("LOADERLINT-E101") == 1


def test_a_swallowed_error_is_reported_as_the_process_ends(run) -> None:
    result = run("load(swallow=True)\n", LOADERLINT_GUARD="trap")
    assert result.returncode == 0
    assert result.stdout == "loaded 371\n"
    assert "loaderlint guard: 371 stale read(s) in process " in result.stderr
    assert "  read at      loader.py:13 in load: weight.sum()\n" in result.stderr
    assert result.stderr.endswith("  count        371 stale reads here\n")


def test_unset_off_and_owned_runs_say_nothing(run) -> None:
    for variables in ({}, {"LOADERLINT_GUARD": "off"}):
        result = run("load()\nassert 'loaderlint.runtime_guard.guarding' not in sys.modules", **variables)
        assert (result.returncode, result.stdout, result.stderr) == (0, "loaded 371\n", "")
    result = run("load(owned=True)\n", LOADERLINT_GUARD="trap")
    assert (result.returncode, result.stdout, result.stderr) == (0, "loaded 371\n", "")


_CHILDREN = """
import multiprocessing, subprocess
if __name__ == "__main__":
    if {method!r} == "subprocess":
        command = [sys.executable, "-c", "import loader; loader.load()", *sys.argv[1:]]
        sys.exit(subprocess.run(command).returncode)
    if {method!r} == "fork":
        import runai_model_streamer
    child = multiprocessing.get_context({method!r}).Process(target=load, args=(False, {swallow}))
    child.start()
    child.join()
    sys.exit(child.exitcode)
"""


@pytest.mark.parametrize("option", ["-I", "-E", "-s"])
def test_isolated_interpreters_are_guarded(run, option: str) -> None:
    result = run("load()\n", option, LOADERLINT_GUARD="1")
    assert result.returncode == 1
    assert "  read at      loader.py:13 in load: weight.sum()\n" in result.stderr


def test_an_environment_made_by_an_environment_is_guarded_and_told_once(
    run, wheel: Path, installed_python: Path
) -> None:
    inner = _environment(wheel.parent / "inner", installed_python, wheel)
    result = run("load(swallow=True)\n", python=inner, LOADERLINT_GUARD="1", LOADERLINT_GUARD_EXITCODE="66")
    assert (result.returncode, result.stdout) == (66, "loaded 371\n")
    assert result.stderr.count("LOADERLINT-E101") == 1
    result = run("load()\n", python=inner, LOADERLINT_GUARD="loud")
    assert result.stderr.count("loaderlint guard: LOADERLINT_GUARD='loud' is not a level") == 1


_ENGINE = """
from importlib.metadata import entry_points
for plugin in entry_points(group={group!r}):
    plugin.load()()
"""


@pytest.mark.parametrize("group", ["vllm.general_plugins", "sglang.srt.plugins"])
def test_engines_find_the_guard_as_their_plugin(run, group: str, installed_python: Path) -> None:
    """Where no .pth file is read: -S leaves them out, and the packages are put on the path by hand."""
    (packages,) = installed_python.parents[1].glob("lib/python*/site-packages")
    path = f"import sys\nsys.path += {[str(packages), sysconfig.get_paths()['purelib']]}\n"
    code = "load()\n"
    for variables, status in (({}, 0), ({"LOADERLINT_GUARD": "trap"}, 1)):
        result = run(code, "-S", before=path + _ENGINE.format(group=group), **variables)
        assert result.returncode == status, result.stderr
        assert ("LOADERLINT-E101" in result.stderr) is bool(variables)


@pytest.mark.parametrize("method", ["subprocess", "spawn", "fork", "forkserver"])
def test_children_are_guarded(run, method: str, tmp_path: Path) -> None:
    reports = tmp_path / "reports"
    code = _CHILDREN.format(method=method, swallow=False)
    result = run(code, LOADERLINT_GUARD="trap", LOADERLINT_GUARD_REPORT=str(reports))
    assert result.returncode == 1
    assert "LOADERLINT-E101 read-after-advance" in result.stderr
    assert "advanced at  " in result.stderr
    (file,) = reports.iterdir()
    head, stale_read = map(json.loads, file.read_text().splitlines())
    assert (head["kind"], head["version"]) == ("guard", 1)
    assert head["guards"][0].startswith("level trap, trap by")
    assert (stale_read["code"], stale_read["count"]) == ("LOADERLINT-E101", 1)
    assert stale_read["read"][0]["line"] == 13
    assert stale_read["yielded"][0]["source"] == "for name, weight in streamer.get_tensors():"


def test_a_forked_child_that_swallows_reports_as_it_ends(run) -> None:
    result = run(_CHILDREN.format(method="fork", swallow=True), LOADERLINT_GUARD="trap")
    assert (result.returncode, result.stdout) == (0, "loaded 371\n")
    assert result.stderr.endswith("  count        371 stale reads here\n")


def test_a_value_that_is_no_level_is_one_line_and_stops_only_who_streams(run, installed_python: Path) -> None:
    line = (
        "LOADERLINT_GUARD='loud' is not a level of the loaderlint guard; "
        "valid: trap (or 1), paranoid, poison, census, off (or 0)\n"
    )
    variables = {"LOADERLINT_GUARD": "loud"}
    bystander = subprocess.run(
        [str(installed_python), "-c", "print(1)"], env=variables, capture_output=True, text=True
    )
    assert (bystander.returncode, bystander.stdout) == (0, "1\n")
    assert bystander.stderr == f"loaderlint guard: {line}"
    loader = run("load()\n", **variables)
    assert loader.returncode == 1
    assert loader.stdout == ""
    assert loader.stderr.endswith(f"GuardSettingError: {line}")


def test_a_report_folder_that_cannot_be_written_is_one_line(run, tmp_path: Path) -> None:
    blocked = tmp_path / "file"
    blocked.write_text("")
    result = run("load(swallow=True)\n", LOADERLINT_GUARD="trap", LOADERLINT_GUARD_REPORT=str(blocked))
    assert result.returncode == 0
    line = f"loaderlint guard: no report file: cannot write to LOADERLINT_GUARD_REPORT={str(blocked)!r}: "
    assert result.stderr.count(line) == 1
    assert "371 stale reads here" in result.stderr


def test_warn_and_record_let_the_read_pass_and_tell(run, tmp_path: Path) -> None:
    code = "load()\nprint('went on', file=sys.stderr)\n"
    for reaction in ("warn", "record"):
        result = run(code, LOADERLINT_GUARD="trap", LOADERLINT_GUARD_ON=reaction)
        assert (result.returncode, result.stdout) == (0, "loaded 371\n")
        before, _, after = result.stderr.partition("went on\n")
        told = before if reaction == "warn" else after
        assert told.count("LOADERLINT-E101 read-after-advance") == 1
        assert "  read at      loader.py:13 in load: weight.sum()\n" in told
        assert "LOADERLINT" not in (after if reaction == "warn" else before)
    result = run(code, LOADERLINT_GUARD="trap", LOADERLINT_GUARD_ON="shout")
    assert "LOADERLINT_GUARD_ON='shout' is unknown; valid: raise, warn, record" in result.stderr
    assert result.returncode == 1


_ENDING = """
import atexit, multiprocessing
def late():
    print("other handlers ran")
atexit.register(late)
if __name__ == "__main__":
    unclosed = open("unclosed.txt", "w")
    unclosed.write("all of it")
    if {method!r} == "fork":
        import runai_model_streamer
    if {method!r}:
        child = multiprocessing.get_context({method!r}).Process(target=load, args=({owned}, True))
        child.start()
        child.join()
        sys.exit(child.exitcode)
    load({owned}, swallow=True)
"""


@pytest.mark.parametrize("method", ["", "spawn", "fork", "forkserver"])
@pytest.mark.parametrize("owned", [False, True])
def test_a_process_that_swallowed_ends_with_the_chosen_status(
    run, method: str, owned: bool, tmp_path: Path
) -> None:
    code = _ENDING.format(method=method, owned=owned)
    result = run(code, LOADERLINT_GUARD="trap", LOADERLINT_GUARD_EXITCODE="66")
    assert result.returncode == (0 if owned else 66), result.stderr
    assert result.stdout.startswith("loaded 371\n") and "other handlers ran\n" in result.stdout
    assert (tmp_path / "unclosed.txt").read_text() == "all of it"
    assert ("LOADERLINT-E101" in result.stderr) is not owned


def test_an_exit_status_that_is_none_is_named(run) -> None:
    result = run("load()\n", LOADERLINT_GUARD="trap", LOADERLINT_GUARD_EXITCODE="many")
    assert "LOADERLINT_GUARD_EXITCODE='many' is no exit status; valid: 0 to 255" in result.stderr
