"""[tool.loaderlint] of pyproject.toml, in real runs: wrong entries, `assume`, the admitted versions."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from conftest import LOADER, Run

from loaderlint.linter.settings import Assume, Settings, SettingsError, load_settings

CONTRACTS = "[tool.loaderlint.contracts]\n"
PRODUCER = "[[tool.loaderlint.contracts.producer]]\n"


def contracts(table: str, entry: str) -> str:
    return f"[tool.loaderlint.contracts.{table}]\n{entry}\n"


# The settings, the wrong one's line, and what is said of it.
WRONG = [
    ("[tool.loaderlint]\nasume = 'owned'\n", 2, ["`asume`", "assume, contracts"]),
    ("[tool.loaderlint]\nassume = 'borrowed'\n", 2, ["'borrowed'", "lent, owned"]),
    ("[tool.loaderlint]\nassume = ['owned']\n", 2, ["`assume`", "lent, owned"]),
    ("[tool]\nloaderlint = 3\n", 2, ["[tool.loaderlint] has to be a table"]),
    ("[tool.loaderlint]\ncontracts = 3\n", 2, ["`contracts` has to be a table"]),
    (f"{CONTRACTS}functions = 3\n", 2, ["`functions` has to be a table"]),
    (contracts("function", "keep = []"), 1, ["unknown table `function`", "functions, lazy"]),
    (contracts("functions", "keeps = ['a.b']"), 2, ["unknown key `keeps`", "consume, copy"]),
    (contracts("functions", "keep = 'a.b'"), 2, ["`functions.keep` has to be a list of names"]),
    (contracts("methods", "keep = [\n  'a',\n  3,\n]"), 2, ["`methods.keep`", "list of names"]),
    (contracts("lazy", "'a.b' = 'sam'"), 2, ["`lazy.a.b` has to be one of: batched, chain"]),
    (contracts("lazy", "'a.b' = ['same']"), 2, ["`lazy.a.b` has to be one of"]),
    (contracts("copy_if_true", "own = true"), 2, ["`copy_if_true.own`", "a keyword's name"]),
    (contracts("weight_loader", "params = ['p']"), 2, ["`params`", "attributes, parameters"]),
    (f"{CONTRACTS}producer = 'a.b'\n", 2, ["list of tables: [[producer]]"]),
    (f"{PRODUCER}label = 'x'\nleese = 'y'\n", 3, ["unknown key `leese`", "lease, calls"]),
    (f"{PRODUCER}calls = 'a.b'\n", 2, ["`calls` has to be a list of texts"]),
    (f"{PRODUCER}calls = [3]\n", 2, ["`calls` has to be a list of texts"]),
    (f"{PRODUCER}calls = ['a.b']\npackage = 3\n", 3, ["`package` has to be a text"]),
    (f"{PRODUCER}package = 'a'\n", 1, ["needs `calls`"]),
    (f"{PRODUCER}calls = ['a.b']\nlease = 'long'\n", 3, ["`lease`", "until-advance, until-close"]),
    (f"{PRODUCER}calls = ['a.b']\ngives = 'list'\n", 3, ["`gives` has to be one of: stream, tensor"]),
    (f"{PRODUCER}calls = ['a.b']\notherwise = 'lent'\n", 3, ["`otherwise`", "owned, owned-slab"]),
    (f"{PRODUCER}calls = ['a.b']\ncallback = 'run'\n", 3, ["`callback` goes with", "until-return"]),
    (f"{PRODUCER}calls = ['a.b']\npasses_on = 'a.c'\n", 3, ["another producer", "`a.c` is not"]),
    (f"{PRODUCER}calls = ['a.b']\npasses_on = 'a.b'\n", 3, ["another producer", "`a.b` is not"]),
    (f"{PRODUCER}calls = ['a.b']\n{PRODUCER}calls = ['a.c']\npasses_on = 'a'\n", 5, ["another producer"]),
    (f"{PRODUCER}calls = ['a.b']\nlends_if_true = 'x'\nlends_if_false = 'y'\n", 3, ["only one of"]),
    (
        f"{PRODUCER}calls = ['a.b']\npackage = 'a'\nlends_below = '2'\n",
        4,
        ["`lends_below` goes with `lending_versions`"],
    ),
    (
        f"{PRODUCER}calls = ['a.b']\npackage = 'a'\nlending_versions = ['one']\nlends_below = '2'\n",
        4,
        ["`one` in `lending_versions` is no version"],
    ),
]


@pytest.mark.parametrize(("text", "line", "said"), WRONG, ids=[text.splitlines()[-1] for text, _, _ in WRONG])
def test_a_wrong_setting_is_shown_with_its_place_and_what_is_allowed(
    tmp_path: Path, text: str, line: int, said: list[str]
) -> None:
    # What stands before it must not be taken for its place.
    before = "# asume, keeps = 'a.b'\n[project]\nname = 'x'\ndescription = 'assume contracts calls'\n"
    before += "[other.functions]\nkeep = 3\nassume = 1\n"
    (tmp_path / "pyproject.toml").write_text(before + text)
    with pytest.raises(SettingsError) as caught:
        load_settings(tmp_path)
    assert caught.value.path == str(tmp_path / "pyproject.toml")
    assert caught.value.line == before.count("\n") + line
    assert all(part in caught.value.message for part in said), caught.value.message


def test_the_wrong_one_of_several_producers_is_shown(tmp_path: Path) -> None:
    good = f"{PRODUCER}calls = ['a.b']\n"
    (tmp_path / "pyproject.toml").write_text(f"{good}{good}{PRODUCER}calls = 1\n{good}")
    with pytest.raises(SettingsError) as caught:
        load_settings(tmp_path)
    assert caught.value.line == 6


@pytest.mark.parametrize(
    "text",
    [
        "[tool.loaderlint]\ncontracts = { functions = { keeps = ['a.b'] } }\n",
        "[tool.loaderlint]\ncontracts.functions.keeps = ['a.b']\n",
        "[tool]\nloaderlint.contracts.functions = { keeps = ['a.b'] }\n",
        "['tool'.\"loaderlint\" . contracts]  # ours\n\"functions\".keeps = ['a.b']\n",
    ],
)
def test_every_way_to_write_a_key_has_its_line(tmp_path: Path, text: str) -> None:
    (tmp_path / "pyproject.toml").write_text(text)
    with pytest.raises(SettingsError) as caught:
        load_settings(tmp_path)
    assert (caught.value.line, "`keeps`" in caught.value.message) == (2, True)


def test_the_command_says_it_and_checks_nothing(loader: Path, loaderlint: Run) -> None:
    file = loader.parent / "pyproject.toml"
    file.write_text("[tool.loaderlint]\n\nassume = 'borrowed'\n")
    done = loaderlint(".")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == f"{file}:3: `assume` is 'borrowed'; it can be: lent, owned\n"


@pytest.mark.parametrize("text", ["[tool.loaderlint]\nassume = \n", "x = 1\nx = 2\n", "\n[tool\n"])
def test_what_is_no_toml_is_shown_with_its_line(loader: Path, loaderlint: Run, text: str) -> None:
    file = loader.parent / "pyproject.toml"
    file.write_text(text)
    done = loaderlint("loader.py")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith(f"{file}:2: not TOML: ")
    assert len(done.stderr.splitlines()) == 1


def test_what_is_no_text_is_an_error(loader: Path, loaderlint: Run) -> None:
    (loader.parent / "pyproject.toml").write_bytes(b"[tool.loaderlint]\nassume = '\xff'\n")
    done = loaderlint("loader.py")
    assert (done.returncode, done.stdout) == (2, "")
    assert "pyproject.toml: not TOML: the text is not UTF-8" in done.stderr


def test_an_unreadable_file_is_an_error(loader: Path, loaderlint: Run, unprivileged: tuple[str, ...]) -> None:
    file = loader.parent / "pyproject.toml"
    file.write_text("")
    file.chmod(0)
    done = loaderlint("loader.py", prefix=unprivileged)
    assert (done.returncode, done.stderr) == (2, f"{file}: cannot read: Permission denied\n")


def test_a_folder_of_that_name_is_no_settings(loader: Path, loaderlint: Run) -> None:
    (loader.parent / "pyproject.toml").mkdir()
    assert loaderlint("loader.py").returncode == 1


# Which file


def test_the_nearest_file_counts_and_one_above_it_is_not_even_read(loader: Path, loaderlint: Run) -> None:
    inner = loader.parent / "project" / "src"
    inner.mkdir(parents=True)
    (inner / "loader.py").write_text(LOADER)
    (loader.parent / "pyproject.toml").write_text("broken")
    (loader.parent / "project" / "pyproject.toml").write_text("[tool.loaderlint]\nassume = 'owned'\n")
    assert loaderlint("loader.py", cwd=inner).returncode == 0
    (loader.parent / "project" / "pyproject.toml").write_text("[project]\nname = 'x'\n[tool.black]\n")
    assert loaderlint("loader.py", cwd=inner).returncode == 1
    assert loaderlint("project/src/loader.py").returncode == 2


# assume


def test_assume_owned_silences_streams_whose_producer_nobody_sees(loader: Path, loaderlint: Run) -> None:
    (loader.parent / "pyproject.toml").write_text("[tool.loaderlint]\nassume = 'owned'\n")
    assert loaderlint("loader.py").returncode == 0
    assert "LDR103" in loaderlint("--assume", "lent", "loader.py").stdout


def test_the_option_silences_too_and_overrides_the_file(loader: Path, loaderlint: Run) -> None:
    assert loaderlint("--assume", "owned", "loader.py").returncode == 0
    (loader.parent / "pyproject.toml").write_text("[tool.loaderlint]\nassume = 'lent'\n")
    assert loaderlint("--assume", "owned", "loader.py").returncode == 0
    assert loaderlint("--assume", "perhaps", "loader.py").returncode == 2


def test_a_wrong_assume_is_an_error_with_the_option_too(loader: Path, loaderlint: Run) -> None:
    (loader.parent / "pyproject.toml").write_text("[tool.loaderlint]\nassume = 'perhaps'\n")
    assert loaderlint("--assume", "owned", "loader.py").returncode == 2


# Pins

STREAMER = """\
from runai_model_streamer import SafetensorsStreamer


def load(model, files):
    with SafetensorsStreamer() as streamer:
        streamer.stream_files(files{flag})
        for name, tensor in streamer.get_tensors():
            model.last = tensor
"""


def project(dependencies: str) -> str:
    return f"[project]\nname = 'engine'\nversion = '1'\n{dependencies}\n"


def pinned(*requirements: str) -> str:
    return project(f"dependencies = {list(requirements)}")


NEW = "runai-model-streamer>=0.17"
ADMITS = "runai-model-streamer < 0.17 (pyproject.toml admits {}) or with owned=False"
BOTH = "runai-model-streamer < 0.17 or with owned=False"


@pytest.mark.parametrize(
    ("metadata", "flag", "said"),
    [
        (None, "", BOTH),
        (None, ", owned=True", ""),
        (None, ", owned=False", BOTH),
        (pinned("torch"), "", BOTH),
        (pinned(NEW), "", ""),
        (pinned(NEW), ", owned=True", ""),
        (pinned(NEW), ", owned=False", "runai-model-streamer with owned=False"),
        (pinned("RunAI_Model.Streamer[s3] >= 0.17 ; python_version > '3'"), "", ""),
        (pinned("runai-model-streamer>=0.15.7"), "", ADMITS.format("0.16.1")),
        (pinned("runai-model-streamer>=0.15.7"), ", owned=True", ""),
        (pinned("runai-model-streamer==0.15.7"), "", ADMITS.format("0.15.7")),
        (pinned("runai-model-streamer==0.15.5"), "", ADMITS.format("0.15.5")),
        (pinned("runai-model-streamer>=0.15.7,<0.16"), "", ADMITS.format("0.15.9")),
        (pinned("runai-model-streamer"), "", ADMITS.format("0.16.1")),
        (pinned("not a requirement!", NEW), "", ""),
        (project(f"optional-dependencies.runai = ['{NEW}']"), "", ""),
        (project(f"optional-dependencies = {{ a = ['{NEW}'], b = ['runai-model-streamer==0.15.7'] }}"), "",
         ADMITS.format("0.15.7")),
        # An extra comes on top of the dependencies, and can only narrow them.
        (pinned(NEW) + "optional-dependencies.s3 = ['runai-model-streamer[s3]']\n", "", ""),
        # Not ours to judge.
        ("project = 3\n", "", BOTH),
        (project("dependencies = 'torch'\noptional-dependencies = ['x']"), "", BOTH),
        (project("dependencies = [3]\noptional-dependencies = { a = 3 }"), "", BOTH),
    ],
)  # fmt: skip
def test_the_versions_that_the_project_admits_decide(
    tmp_path: Path, loaderlint: Run, metadata: str | None, flag: str, said: str
) -> None:
    (tmp_path / "load.py").write_text(STREAMER.format(flag=flag))
    if metadata is not None:
        (tmp_path / "pyproject.toml").write_text(metadata)
    done = loaderlint("load.py")
    assert done.returncode == (1 if said else 0), done.stderr
    if said:
        assert f"  corrupts with: {said}\n" in done.stdout
        assert done.stdout.startswith("load.py:8:13 LDR104")


ENGINE = """\
from vllm.model_executor.model_loader.weight_utils import runai_safetensors_weights_iterator


def load(model, files):
    for name, tensor in runai_safetensors_weights_iterator(files, True):
        model.last = tensor
"""


@pytest.mark.parametrize(
    ("metadata", "lends"),
    [
        (None, True),
        (pinned("vllm"), True),
        (pinned("vllm>=0.21"), True),
        (pinned("vllm==0.8.5.post1"), True),
        (pinned("vllm>=0.22"), False),
        (pinned("vllm==0.33.0", "runai-model-streamer"), False),
        # It hands on what the streamer yields: of the one that hands over, nothing is lent.
        (pinned(NEW), False),
        (pinned("vllm<0.22", NEW), False),
        (pinned("vllm<0.22", "runai-model-streamer>=0.15.7"), True),
    ],
)
def test_an_engine_that_hands_on_a_stream_lends_if_both_do(
    tmp_path: Path, loaderlint: Run, metadata: str | None, lends: bool
) -> None:
    (tmp_path / "load.py").write_text(ENGINE)
    if metadata is not None:
        (tmp_path / "pyproject.toml").write_text(metadata)
    assert loaderlint("load.py").returncode == int(lends)


def test_of_the_project_itself_the_code_is_read(tmp_path: Path, loaderlint: Run) -> None:
    """An engine's own tree: what its iterator does today decides, not what some release of it did."""
    folder = tmp_path / "vllm" / "model_executor" / "model_loader"
    folder.mkdir(parents=True)
    for package in (folder, folder.parent, folder.parent.parent):
        (package / "__init__.py").write_text("")
    iterator = """\
from runai_model_streamer import SafetensorsStreamer


def runai_safetensors_weights_iterator(files, distributed):
    streamer = SafetensorsStreamer()
    streamer.stream_files(files)
    for name, tensor in streamer.get_tensors():
        yield name, tensor{}
"""
    (folder / "weight_utils.py").write_text(iterator.format(".clone()"))
    (folder / "load.py").write_text(ENGINE)
    assert loaderlint(".").returncode == 1
    (tmp_path / "pyproject.toml").write_text("[project]\nname = 'VLLM'\nversion = '1'\n")
    assert loaderlint(".").returncode == 0
    (folder / "weight_utils.py").write_text(iterator.format(""))
    assert "load.py:6:9 LDR104" in loaderlint(".").stdout


def test_a_flag_of_the_constructor_or_of_the_call_counts(tmp_path: Path, loaderlint: Run) -> None:
    (tmp_path / "pyproject.toml").write_text(pinned(NEW))
    file = tmp_path / "load.py"
    for old, new in [("Streamer()", "Streamer(owned=False)"), ("get_tensors()", "get_tensors(owned=False)")]:
        text = STREAMER.format(flag="").replace(old, new)
        assert text != STREAMER.format(flag="")
        file.write_text(text)
        assert loaderlint("load.py").returncode == 1


def test_a_pin_says_nothing_about_a_parameter(loader: Path, loaderlint: Run) -> None:
    (loader.parent / "pyproject.toml").write_text(pinned(NEW))
    done = loaderlint("loader.py")
    assert done.returncode == 1
    assert "runai-model-streamer with owned=False" in done.stdout and "< 0.17" not in done.stdout


# flake8


def flake8(folder: Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "flake8", "--isolated", "--select", "LDR", "."]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=60)


def test_the_flake8_plugin_reads_the_settings(loader: Path) -> None:
    assert "LDR103" in flake8(loader.parent).stdout
    (loader.parent / "pyproject.toml").write_text("[tool.loaderlint]\nassume = 'owned'\n")
    done = flake8(loader.parent)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_the_flake8_plugin_shows_a_wrong_setting(loader: Path) -> None:
    (loader.parent / "pyproject.toml").write_text("[tool.loaderlint]\nasume = 'owned'\n")
    done = flake8(loader.parent)
    assert done.returncode == 1
    assert "pyproject.toml:2: unknown key `asume`" in done.stdout


# From code


def test_settings_by_themselves_assume_lent_and_pin_nothing(tmp_path: Path) -> None:
    assert Settings().assume is Assume.LENT
    assert load_settings(tmp_path).pins == {}
