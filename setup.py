"""Puts the .pth file that lets LOADERLINT_GUARD reach every process into the wheel; see pyproject.toml."""

from __future__ import annotations

from pathlib import Path

from setuptools import setup
from setuptools.command.build_py import build_py

PTH_NAME = "loaderlint_guard.pth"
# `site` executes a line that begins with "import" as the interpreter starts; here it must cost nothing.
PTH_LINE = (
    "import os; os.environ.get('LOADERLINT_GUARD') and "
    "__import__('loaderlint.runtime_guard.activation', fromlist=['x']).activate_from_environment()\n"
)


class BuildWithPth(build_py):
    """Adds the .pth file beside the packages; an editable install gets none."""

    def run(self) -> None:
        super().run()
        if not self.editable_mode:
            self._pth().parent.mkdir(parents=True, exist_ok=True)
            self._pth().write_text(PTH_LINE, encoding="ascii")

    def get_outputs(self, include_bytecode: bool = True) -> list[str]:
        pth = [] if self.editable_mode else [str(self._pth())]
        return [*super().get_outputs(include_bytecode), *pth]

    def _pth(self) -> Path:
        return Path(self.build_lib) / PTH_NAME


setup(cmdclass={"build_py": BuildWithPth})
