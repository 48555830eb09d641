"""`make test-matrix`: the guard's choice of back ends under several releases of torch, each in its own environment.

Usage: run.py FOLDER VERSION..., with `newest` for the newest release. The environments are made in FOLDER, once;
outside a CPU-only index each takes some gigabytes. Exits with 1 where a level sees a stale read too few, or gets a
copy wrong.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

_ROOT = Path(__file__).parents[2]


def environment_of(version: str, folder: Path) -> Path:
    """Return the interpreter of the environment with that torch and this checkout; makes it if need be."""
    interpreter = folder / version / "bin" / "python"
    done = folder / version / "complete"
    if not done.exists():
        subprocess.run([sys.executable, "-m", "venv", "--clear", str(folder / version)], check=True)
        torch = "torch" if version == "newest" else f"torch=={version}"
        install = [str(interpreter), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
        subprocess.run([*install, torch, "numpy>=1.26", "--editable", str(_ROOT)], check=True)
        done.touch()
    return interpreter


def failures(probed: dict) -> list[str]:
    return [
        f"level {level}: {seen} of {probed['of']} stale reads seen, {right} of {probed['of']} copies right"
        for level, (_, seen, right) in probed["levels"].items()
        if (seen, right) != (probed["of"], probed["of"])
    ]


def main() -> int:
    folder, *versions = sys.argv[1:]
    wrong = 0
    for version in versions:
        interpreter = environment_of(version, Path(folder))
        probe = [str(interpreter), str(Path(__file__).with_name("probe.py"))]
        probed = json.loads(subprocess.run(probe, check=True, capture_output=True, text=True).stdout)
        print(f"torch {probed['torch']}")
        for level, (backend, seen, right) in probed["levels"].items():
            print(f"  {level:9} {backend}: {seen} of {probed['of']} stale reads seen, {right} copies right")
        wrong += len(failures(probed))
    return min(wrong, 1)


if __name__ == "__main__":
    sys.exit(main())
