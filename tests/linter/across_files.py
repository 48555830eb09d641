"""Reads small projects of several files, and the findings that are expected in them.

In tests/linter/projects/*.md a heading names a project, and the fenced block under it holds its files:
`=== path` begins one. A comment `# LDR102` (or `# LDR102, LDR307`) at the end of a line names what is found there, and
`# MISSING LDR102: why` what should be, and is not yet. These comments are cut off before a file is written.
Everything else must stay silent.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

_MARK = re.compile(r"  # (?:(LDR\d{3}(?:, LDR\d{3})*)|MISSING LDR\d{3}: \S.*)$")
Place = tuple[str, int, str]


@dataclass(frozen=True)
class Tree:
    """The files of a project by path, and (path, line, code) of what is found."""

    files: dict[str, str]
    expected: list[Place]

    def write(self, folder: Path) -> None:
        """Write the files below `folder`."""
        for path, text in self.files.items():
            target = folder / path
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_text(text, "utf-8")


def tree(text: str) -> Tree:
    """Read a project. Raises `ValueError` for what cannot be read."""
    before, *sections = re.split(r"^=== (.*)\n", text, flags=re.M)
    if before.strip():
        raise ValueError(f"not in a file: {before!r}")
    files, expected = {}, []
    for path, body in zip(sections[::2], sections[1::2], strict=True):
        lines = body.strip("\n").splitlines()
        for number, line in enumerate(lines, 1):
            mark = _MARK.search(line)
            if mark and mark[1]:
                expected += [(path, number, code) for code in mark[1].split(", ")]
            if not mark and "LDR" in line:
                raise ValueError(f"{path}:{number}: cannot read the mark in {line!r}")
        files[path] = "".join(_MARK.sub("", line) + "\n" for line in lines)
    return Tree(files, sorted(expected))


def _projects(file: Path) -> dict[str, Tree]:
    sections = re.split(r"^## (.*)\n", file.read_text("utf-8"), flags=re.M)[1:]
    found = {}
    for title, section in zip(sections[::2], sections[1::2], strict=True):
        block = re.fullmatch(r"\n```\n(.*)\n```\n+", section, re.S)
        if block is None or title in found:
            raise ValueError(f"{file.name}: one title and one block for each project: {title}")
        found[title] = tree(block[1])
    return found


PROJECTS = {
    f"{file.stem}: {title}": project
    for file in sorted((Path(__file__).parent / "projects").glob("*.md"))
    for title, project in _projects(file).items()
}
