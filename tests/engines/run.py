"""`make engines`: the guard beside real loaders of two inference engines, fed by a real stream.

Usage: run.py FOLDER. The engines are installed into FOLDER, once: about 9 GB, some minutes. No GPU is needed.
Prints what each loader did with a lent and with an owned stream, and exits with 1 where one deviates from what
its case says, with 2 where the engines cannot be installed or imported.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

_ROOT = Path(__file__).parents[2]
_NEEDED_BYTES = 12 << 30
# SGLang pins another patch release of torch than vLLM, so it comes without what it depends on; its models
# need two more packages than vLLM brings.
_PACKAGES = (
    ("vllm==0.33.0", "runai-model-streamer==0.17.1"),
    ("--no-deps", "sglang==0.5.23"),
    ("IPython", "gguf", "--editable", str(_ROOT)),
)
_CASES = {"vLLM 0.33.0": "vllm_cases", "SGLang 0.5.23": "sglang_cases"}


class CannotRunError(Exception):
    """The engines cannot be had here."""


def environment(folder: Path) -> Path:
    """Return the interpreter of the environment with both engines; makes it if need be."""
    interpreter, done = folder / "bin" / "python", folder / "complete"
    if done.exists():
        return interpreter
    folder.mkdir(parents=True, exist_ok=True)
    free = shutil.disk_usage(folder).free
    if free < _NEEDED_BYTES:
        raise CannotRunError(f"{folder} has {free >> 30} GiB free, the engines need {_NEEDED_BYTES >> 30}")
    print(f"Installing both engines into {folder}: about 9 GB, some minutes.", flush=True)
    subprocess.run([sys.executable, "-m", "venv", "--clear", str(folder)], check=True)
    install = [str(interpreter), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    for packages in _PACKAGES:
        if subprocess.run([*install, *packages], check=False).returncode:
            raise CannotRunError(f"pip could not install {' '.join(packages)}")
    done.touch()
    return interpreter


def results_of(cases: str, interpreter: Path, folder: Path) -> list[dict]:
    """Run the cases of one engine in a process of its own, whose stderr goes to a file in the folder."""
    log = folder / f"{cases}.log"
    # Nothing of the caller's setting may reach the process: the cases choose levels and buffers themselves.
    own = {
        name: value for name, value in os.environ.items() if not name.startswith(("LOADERLINT_", "RUNAI_"))
    }
    command = [str(interpreter), str(Path(__file__).with_name("check.py")), cases]
    with log.open("wb") as errors:
        run = subprocess.run(command, stdout=subprocess.PIPE, stderr=errors, env=own, text=True, check=False)
    if run.returncode:
        raise CannotRunError(f"the loaders of {cases} could not be run, see {log}")
    return [json.loads(line) for line in run.stdout.splitlines() if line.startswith('{"loader"')]


def show(engine: str, results: list[dict]) -> None:
    """Print the table of one engine."""
    print(f"\n{engine}")
    print(f"  {'loader':50} {'stream':6} {'wrong':>6} {'found':>6}  {'expected: kept at, read at':52} seen")
    for row in results:
        wrong = f"{row['wrong']}/{row['parameters']}"
        seen = ", ".join(filter(None, (row["kept"], row["read"]))) or "-"
        expected = ", ".join(filter(None, (row["expected_kept"], row["expected_read"]))) or "-"
        print(f"  {row['loader']:50} {row['stream']:6} {wrong:>6} {row['findings']:>6}  {expected:52} {seen}")
        if row["deviates"]:
            print(f"    DEVIATES {row['error']}")


def summary(results: list[dict]) -> str:
    """Return the last line."""
    deviating = sum(row["deviates"] for row in results)
    named = sum(row["stream"] == "lent" and row["findings"] > 0 for row in results)
    silent = sum(row["findings"] == 0 for row in results)
    return f"{len(results)} loads: {named} with a stale read named, {silent} silent, {deviating} deviating"


def main() -> int:
    folder = Path(sys.argv[1]).absolute()
    everything: list[dict] = []
    try:
        interpreter = environment(folder)
        for engine, cases in _CASES.items():
            results = results_of(cases, interpreter, folder)
            show(engine, results)
            everything += results
    except CannotRunError as error:
        print(f"make engines: {error}", file=sys.stderr)
        return 2
    print(f"\n{summary(everything)}")
    return int(any(row["deviates"] for row in everything))


if __name__ == "__main__":
    sys.exit(main())
