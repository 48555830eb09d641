"""Python programs as processes of their own, without the imports that cost more than what they do.

Each is forked from a server that has imported torch and the linter, and done nothing else: what one program changes,
no other sees. Tests of what happens as an interpreter starts begin one in the ordinary way.
"""

from __future__ import annotations

import multiprocessing
import os
import runpy
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from subprocess import CompletedProcess

_SERVER = multiprocessing.get_context("forkserver")
_SERVER.set_forkserver_preload(
    ["torch", "safetensors.torch", "loaderlint.linter.cli", "loaderlint.linter.checking"]
)
_OF_THE_TOOLS = ("RUNAI_", "LOADERLINT_", "PYTEST_")


def run(
    program: str | Path,
    *arguments: str,
    path: Sequence[Path] = (),
    cwd: Path | None = None,
    input: str = "",
    timeout: float = 60,
    **environment: str,
) -> CompletedProcess[str]:
    """Run a module by its name, or a script by its path, with `path` before all else that modules are looked for in.

    Of the variables that the tools look at, the process has those in `environment` only. Raises TimeoutError.
    """
    with tempfile.TemporaryDirectory() as folder:
        start = _Start(program, arguments, tuple(path), cwd or Path.cwd(), environment, Path(folder))
        start.file("in").write_text(input, "utf-8")
        process = _SERVER.Process(target=_run, args=(start,))
        process.start()
        process.join(timeout)
        if process.exitcode is None:
            process.kill()
            raise TimeoutError(f"{program} has not ended within {timeout:.0f} s")
        output, errors = (start.file(name).read_text("utf-8") for name in ("out", "errors"))
        return CompletedProcess([str(program), *arguments], process.exitcode, output, errors)


@dataclass(frozen=True)
class _Start:
    program: str | Path
    arguments: tuple[str, ...]
    path: tuple[Path, ...]
    cwd: Path
    environment: dict[str, str]
    folder: Path

    def file(self, name: str) -> Path:
        """Where its input lies, or what it has written."""
        return self.folder / name


def _run(start: _Start) -> None:
    _redirect(start)
    os.chdir(start.cwd)
    for name in [name for name in os.environ if name.startswith(_OF_THE_TOOLS)]:
        del os.environ[name]
    os.environ.update(start.environment)
    sys.path[:0] = [str(folder) for folder in start.path]
    sys.argv = [str(start.program), *start.arguments]
    if isinstance(start.program, Path):
        sys.path.insert(0, str(start.program.parent))
        runpy.run_path(str(start.program), run_name="__main__")
    else:
        runpy.run_module(start.program, run_name="__main__", alter_sys=True)


def _redirect(start: _Start) -> None:
    for number, name, mode in ((0, "in", "rb"), (1, "out", "wb"), (2, "errors", "wb")):
        with start.file(name).open(mode) as file:
            os.dup2(file.fileno(), number)
    sys.stdin = open(0, encoding="utf-8", closefd=False)
    sys.stdout = open(1, "w", encoding="utf-8", closefd=False)
    sys.stderr = open(2, "w", encoding="utf-8", errors="backslashreplace", buffering=1, closefd=False)
