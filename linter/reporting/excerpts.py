"""Source lines as a report shows them: fit for one terminal line, and harmless there."""

from __future__ import annotations

from loaderlint.linter.reading.source import SourceError, SourceFile, read_source

MAX_WIDTH = 88
_TAB = 4


class Excerpts:
    """Looks up source lines: in the checked files as they were read, and in others that findings point to."""

    def __init__(self, sources: dict[str, SourceFile]) -> None:
        self._sources: dict[str, SourceFile | None] = dict(sources)

    def line(self, path: str, number: int) -> str:
        """Line `number` without tabs and control characters; "" where there is none."""
        if path not in self._sources:
            self._sources[path] = _readable(path)
        source = self._sources[path]
        if source is None or not 1 <= number <= len(source.lines):
            return ""
        return printable(source.lines[number - 1].rstrip("\r\n").replace("\f", "").expandtabs(_TAB)).rstrip()


def printable(text: str) -> str:
    """`text` with every character that could steer a terminal replaced."""
    return "".join(char if char.isprintable() else "\N{REPLACEMENT CHARACTER}" for char in text)


def without_common_indent(lines: list[str]) -> list[str]:
    """The lines, all moved left by what is blank in each, and cut at `MAX_WIDTH`."""
    indents = [len(line) - len(line.lstrip()) for line in lines if line]
    common = min(indents, default=0)
    return [_cut(line[common:]) for line in lines]


def _cut(line: str) -> str:
    return line if len(line) <= MAX_WIDTH else line[: MAX_WIDTH - 3] + "..."


def _readable(path: str) -> SourceFile | None:
    try:
        return read_source(path)
    except SourceError:
        return None
