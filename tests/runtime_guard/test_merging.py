"""`loaderlint guard-report`: the reports of several real processes as one."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import forked
import pytest
from click.testing import CliRunner, Result

from loaderlint.linter.cli import main

_PROCESS = """
import sys
import torch
from loaderlint.runtime_guard import guard

def stream():
    buffer = torch.empty(8)
    for number in range(6):
        yield f"layer.{number}", buffer.fill_(number)

kept = dict(guard(stream()))
for name in sys.argv[1:]:
    try:
        kept[name].sum()
    except RuntimeError:
        continue
"""


@pytest.fixture
def report_folder(tmp_path: Path) -> Callable[..., Path]:
    """Returns the folder in which a process for each rank reported the stale reads of these tensors."""

    def run(*names_of_ranks: list[str]) -> Path:
        script, folder = tmp_path / "loader.py", tmp_path / "reports"
        script.write_text(_PROCESS)
        for rank, names in enumerate(names_of_ranks):
            variables = {"LOADERLINT_GUARD_REPORT": str(folder), "RANK": str(rank)}
            forked.run(script, *names, **variables).check_returncode()
        return folder

    return run


def report(*arguments: object) -> Result:
    return CliRunner().invoke(main, ["guard-report", *map(str, arguments)])


def test_the_same_place_of_two_ranks_is_printed_once(report_folder: Callable[..., Path]) -> None:
    folder = report_folder(["layer.1", "layer.2"], ["layer.3"])
    result = report(folder)
    assert result.exit_code == 1
    assert result.output.count("LOADERLINT-E101 read-after-advance") == 1
    assert "loader.py:14 in <module>: kept[name].sum()" in result.output
    assert "\n  count        3\n" in result.output
    assert "\n  seen in      rank 0, process " in result.output and "; rank 1, process " in result.output
    assert result.output.splitlines()[-1].startswith(
        "3 times at 1 place(s), 2 guarded process(es) [level trap"
    )
    assert report(folder, "--exit-code", 66).exit_code == 66
    assert report(folder, "--exit-code", 0).exit_code == 0


def test_json_holds_the_processes_and_the_findings(report_folder: Callable[..., Path]) -> None:
    result = report(report_folder(["layer.1"], ["layer.3"], []), "--format", "json")
    merged = json.loads(result.output)
    assert (result.exit_code, merged["version"]) == (1, 1)
    assert [process["rank"] for process in merged["processes"]] == [0, 1, 2]
    (finding,) = merged["findings"]
    assert (finding["code"], finding["count"], finding["processes"]) == ("LOADERLINT-E101", 2, [0, 1])
    assert finding["tensor"]["name"] == "layer.1"
    assert finding["read"][0]["source"] == "kept[name].sum()"


def test_a_run_without_stale_reads_exits_with_0(report_folder: Callable[..., Path], tmp_path: Path) -> None:
    result = report(report_folder([], []))
    assert result.exit_code == 0
    assert result.output.startswith("nothing reported, 2 guarded process(es) [level trap")
    (tmp_path / "empty").mkdir()
    result = report(tmp_path / "empty")
    assert result.exit_code == 0
    assert "no guarded process streamed lent tensors" in result.output


_HEAD = '{"kind": "guard", "version": 1}\n'


@pytest.mark.parametrize(
    ("content", "complaint"),
    [
        (_HEAD + '{"kind": "stale-', ":2: not a line of JSON: "),
        (_HEAD + "[1, 2]\n", ":2: not a line of a report of the loaderlint guard"),
        (
            _HEAD + '{"kind": "stale-read", "count": 1}\n',
            ":2: not a line of a report of the loaderlint guard",
        ),
        ('{"kind": "guard", "version": 7}\n', ":1: version 7 of the format; this command reads 1"),
        (
            '{"kind": "stale-read", "count": 1, "text": ""}\n',
            ":1: the line that describes the process is missing",
        ),
        ("", ": the file is empty"),
    ],
)
def test_a_broken_file_is_named(tmp_path: Path, content: str, complaint: str) -> None:
    file = tmp_path / "loaderlint-guard-host-1-2.jsonl"
    file.write_text(content)
    result = report(tmp_path)
    assert result.exit_code == 2
    assert result.stderr.startswith(f"loaderlint: {file}{complaint}")
    assert len(result.stderr.splitlines()) == 1


def test_a_folder_that_does_not_exist_is_named(tmp_path: Path) -> None:
    result = report(tmp_path / "none")
    assert result.exit_code == 2
    assert result.stderr == f"loaderlint: {tmp_path / 'none'}: no such folder\n"


def test_what_can_be_read_is_told_beside_a_broken_file(tmp_path: Path) -> None:
    finding = '{"kind": "stale-read", "count": 2, "text": "LOADERLINT-E101 somewhere"}\n'
    (tmp_path / "loaderlint-guard-a.jsonl").write_text(_HEAD + finding + '{"kind": "sta')
    (tmp_path / "loaderlint-guard-b.jsonl").write_text(_HEAD + finding)
    result = report(tmp_path)
    assert result.exit_code == 2
    assert "LOADERLINT-E101 somewhere\n  count        4\n" in result.stdout
    assert result.stderr.startswith(
        f"loaderlint: {tmp_path / 'loaderlint-guard-a.jsonl'}:3: not a line of JSON"
    )
    (told,) = json.loads(report(tmp_path, "--format", "json").stdout)["errors"]
    assert told in result.stderr


def test_a_file_is_no_folder(tmp_path: Path) -> None:
    (tmp_path / "report").touch()
    assert report(tmp_path / "report").stderr == f"loaderlint: {tmp_path / 'report'}: not a folder\n"
