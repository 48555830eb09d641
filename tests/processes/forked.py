"""Python programs as processes of their own, without the imports that cost more than what they do.

Each is forked from a server that has imported torch and the linter, and nothing else: what one program changes, no
other sees. Tests of what happens as an interpreter starts begin one in the ordinary way.
"""

from __future__ import annotations

import multiprocessing
import os
import runpy
import sys
import tempfile
from pathlib import Path
from subprocess import CompletedProcess

_SERVER = multiprocessing.get_context("forkserver")
_SERVER.set_forkserver_preload(
    [
        "torch",
        "safetensors.torch",
        "runai_model_streamer",
        "loaderlint.linter.cli",
        "loaderlint.linter.checking",
    ]
)
_OF_THE_TOOLS = ("RUNAI_", "LOADERLINT_")


def run(
    program: str | Path,
    *arguments: str,
    cwd: Path | None = None,
    input: str = "",
    timeout: float = 60,
    **environment: str,
) -> CompletedProcess[str]:
    """Run a module by its name, or a script by its path; of the tools' variables it has those in `environment` only.

    Raises TimeoutError after `timeout` seconds.
    """
    with tempfile.TemporaryDirectory() as folder:
        files = [Path(folder, name) for name in ("in", "out", "errors")]
        files[0].write_text(input, "utf-8")
        process = _SERVER.Process(
            target=_run, args=(program, arguments, cwd or Path.cwd(), files, environment)
        )
        process.start()
        process.join(timeout)
        if process.exitcode is None:
            process.kill()
            raise TimeoutError(f"{program} has not ended within {timeout:.0f} s")
        output, errors = (file.read_text("utf-8") for file in files[1:])
        return CompletedProcess([str(program), *arguments], process.exitcode, output, errors)


def _run(
    program: str | Path, arguments: tuple[str, ...], cwd: Path, files: list[Path], environment: dict[str, str]
) -> None:
    _redirect(*files)
    os.chdir(cwd)
    for name in [name for name in os.environ if name.startswith(_OF_THE_TOOLS)]:
        del os.environ[name]
    os.environ.update(environment)
    sys.argv = [str(program), *arguments]
    if isinstance(program, Path):
        runpy.run_path(str(program), run_name="__main__")
    else:
        runpy.run_module(program, run_name="__main__", alter_sys=True)


def _redirect(source: Path, output: Path, errors: Path) -> None:
    for number, path, mode in ((0, source, "rb"), (1, output, "wb"), (2, errors, "wb")):
        with path.open(mode) as file:
            os.dup2(file.fileno(), number)
    sys.stdin = open(0, encoding="utf-8", closefd=False)
    sys.stdout = open(1, "w", encoding="utf-8", closefd=False)
    sys.stderr = open(2, "w", encoding="utf-8", errors="backslashreplace", buffering=1, closefd=False)
