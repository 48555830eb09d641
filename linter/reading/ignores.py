"""What git ignores, so that generated and installed files are not checked as if they were the user's."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from pathspec import GitIgnoreSpec


@dataclass(frozen=True, slots=True)
class GitIgnores:
    """The ignore files in force in one directory, the outermost first, each with its own directory."""

    specs: tuple[tuple[Path, GitIgnoreSpec], ...] = ()

    def entered(self, directory: Path) -> GitIgnores:
        """The ignores in force inside `directory`, an absolute path below the present one."""
        found = _specs_of(directory)
        return GitIgnores((*self.specs, *((directory, spec) for spec in found))) if found else self

    def ignore(self, path: Path, is_directory: bool) -> bool:
        """Whether git ignores `path`: the innermost ignore file that names it decides."""
        for root, spec in reversed(self.specs):
            name = path.relative_to(root).as_posix() + ("/" if is_directory else "")
            verdict = spec.check_file(name).include
            if verdict is not None:
                return verdict
        return False


def ignores_above(directory: Path) -> GitIgnores:
    """The ignores that a repository's outer folders impose on `directory` (absolute).

    There are none outside a repository, and none where the directory itself is ignored: whoever names an
    ignored directory wants it checked.
    """
    repository = next((folder for folder in directory.parents if (folder / ".git").exists()), None)
    ignores = GitIgnores()
    if repository is None or (directory / ".git").exists():
        return ignores
    inner = [folder for folder in reversed(directory.parents) if folder.is_relative_to(repository)]
    for folder, below in zip(inner, [*inner[1:], directory]):
        ignores = ignores.entered(folder)
        if ignores.ignore(below, is_directory=True):
            return GitIgnores()
    return ignores


def _specs_of(directory: Path) -> list[GitIgnoreSpec]:
    """The directory's ignore files, the weaker first: git lets .gitignore overrule .git/info/exclude."""
    specs = []
    for name in (".git/info/exclude", ".gitignore"):
        try:
            text = (directory / name).read_text(encoding="utf-8", errors="surrogateescape")
        except OSError:
            continue
        patterns = [line for line in text.split("\n") if _is_pattern(line)]
        if patterns:
            specs.append(GitIgnoreSpec.from_lines(patterns))
    return specs


def _is_pattern(line: str) -> bool:
    """Whether the line is a pattern that can be read; git skips comments, blank lines and broken patterns."""
    if not line.strip() or line.startswith("#"):
        return False
    try:
        GitIgnoreSpec.from_lines([line])
    except ValueError:
        return False
    return True
