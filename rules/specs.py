"""Reads the spec files beside the rules: Markdown with code, and the findings that are expected in it.

A heading names a case, the fenced `python` block under it is its file. A comment at the end of a line says
what is found there: `# LDR102`, `# LDR102, LDR103`, `# LDR102:9` (with the column). `# MISSING LDR102: why`
marks a missed alarm that is known, `# SPURIOUS LDR102: why` a false one. The comments are cut off before the
code is checked. A block `python fixed` right behind is the file after `--fix --unsafe-fixes`; where nothing
is to change, it is the same code. A block `python beside helpers.py` is a file beside it that is not named for the
check.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path

SPEC_FILES = sorted(Path(__file__).parent.glob("ldr*.md"))

_FENCE = re.compile(r"^```(?:python(?: (fixed|beside \w+\.py))?)?$")
_CODES = r"LDR\d{3}(?::\d+)?(?:, LDR\d{3}(?::\d+)?)*"
_MARK = re.compile(rf"  # ({_CODES}|(?:MISSING|SPURIOUS) {_CODES}: \S.*?)(?=  # |$)")


@dataclass(frozen=True, slots=True, order=True)
class Mark:
    """One code on one line; `column` is 0 where the spec does not name it, `reason` why it is a gap, "" for none."""

    line: int
    code: str
    column: int = 0
    reason: str = field(default="", compare=False)


@dataclass(frozen=True)
class Case:
    """One example: its code without the marks, and the marks by kind."""

    file: str
    line: int
    title: str
    code: str
    found: tuple[Mark, ...]
    missing: tuple[Mark, ...]
    spurious: tuple[Mark, ...]
    fixed: str | None
    beside: tuple[tuple[str, str], ...] = ()

    @property
    def id(self) -> str:
        """The name of the test."""
        return f"{self.file}: {self.title}"

    @property
    def reported(self) -> tuple[Mark, ...]:
        """What the linter finds today: rightly, or as a known false alarm."""
        return tuple(sorted((*self.found, *self.spurious)))


def all_cases() -> list[Case]:
    """The cases of every rule."""
    return [case for path in SPEC_FILES for case in read_cases(path)]


def read_cases(path: Path) -> list[Case]:
    """The cases of one spec file, in their order. Raises `ValueError` for a block that cannot be a case."""
    cases: list[Case] = []
    for title, line, role, text in _blocks(path):
        if not role:
            cases.append(_case(path, line, title, text))
            continue
        if not cases or cases[-1].title != title or (role == "fixed" and cases[-1].fixed is not None):
            raise ValueError(f"{path.name}:{line}: a {role} block without the block that it belongs to")
        if role == "fixed":
            cases[-1] = replace(cases[-1], fixed=text)
        else:
            name = role.removeprefix("beside ")
            cases[-1] = replace(cases[-1], beside=(*cases[-1].beside, (name, text)))
    _check_titles(path, cases)
    return cases


def _check_titles(path: Path, cases: list[Case]) -> None:
    titles = [case.title for case in cases]
    twice = {title for title in titles if titles.count(title) > 1}
    if twice:
        raise ValueError(f"{path.name}: one block and one title a case: {sorted(twice)}")


def _blocks(path: Path) -> Iterator[tuple[str, int, str, str]]:
    """(title, line of its fence, what it is beside the code itself, text) of every Python block."""
    title, start, role = "", 0, ""
    block: list[str] = []
    for number, line in enumerate(path.read_text("utf-8").splitlines(), 1):
        fence = _FENCE.match(line)
        if line.startswith("```") and not fence:
            raise ValueError(f"{path.name}:{number}: unknown fence {line}")
        if start and line == "```":
            yield title, start, role, "".join(block)
            start, block = 0, []
        elif start:
            block.append(line + "\n")
        elif fence:
            start, role = number, fence[1] or ""
        elif line.startswith("#"):
            title = line.lstrip("# ")
    if start:
        raise ValueError(f"{path.name}:{start}: the block is not closed")


def _case(path: Path, line: int, title: str, text: str) -> Case:
    marks: dict[str, list[Mark]] = {"": [], "MISSING": [], "SPURIOUS": []}
    clean = []
    for number, row in enumerate(text.splitlines(), 1):
        for mark in _MARK.finditer(row):
            kind = mark[1].partition(" ")[0] if not mark[1].startswith("LDR") else ""
            named, _, reason = mark[1].partition(": ")
            codes = re.findall(r"(LDR\d{3})(?::(\d+))?", named)
            marks[kind] += [Mark(number, code, int(column or 0), reason) for code, column in codes]
        clean.append(_MARK.sub("", row) + "\n")
        if "# LDR" in clean[-1] or "# MISSING" in clean[-1] or "# SPURIOUS" in clean[-1]:
            raise ValueError(f"{path.name}:{line + number}: cannot read the mark in {row!r}")
    found, missing, spurious = (tuple(sorted(marks[kind])) for kind in ("", "MISSING", "SPURIOUS"))
    return Case(path.stem, line, title, "".join(clean), found, missing, spurious, None)
