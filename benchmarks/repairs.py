"""What `--fix --unsafe-fixes` makes of real loaders: how much it repairs, how, and whether it keeps its promises.

A RELEASE is a folder in DIR, as benchmarks/corpus.py unpacks it. It is copied, and repaired there as a user would. With
--labels, a file of JSON lines with `release`, `path`, `stmt_start`, `stmt_end`, `label` and `fix`, only the files with a
BUG label are repaired, and those of its repairs that should stream are told apart. Without, all files with errors are.

Exit status: 0 if every goal is met, 1 if not, 2 for a release or a file of labels that is not there.
"""

from __future__ import annotations

import argparse
import ast
import difflib
import io
import json
import re
import shutil
import subprocess
import sys
import tempfile
import tokenize
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

# What a labelled defect is to become where its tensors need not wait.
STREAMED = ("generator", "inline consume", "chain lazily")
_COPIES = ("copy=True", ".clone()")
_DIGITS = re.compile(r"\d+")
Json = dict[str, Any]


@dataclass
class Figures:
    """Counts over all files of one or more releases."""

    files: int = 0
    errors: int = 0
    repaired: int = 0
    withdrawn: int = 0
    left: int = 0
    to_stream: int = 0
    streamed: int = 0
    defects: int = 0
    defects_streamed: int = 0
    valid: int = 0
    unstable: int = 0
    elsewhere: int = 0
    comments_lost: int = 0

    def add(self, other: Figures) -> None:
        """Add the counts of `other`."""
        for one in fields(self):
            setattr(self, one.name, getattr(self, one.name) + getattr(other, one.name))


def loaderlint(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run the command in a copied release. Raises `SystemExit` where it fails."""
    command = [sys.executable, "-m", "loaderlint.linter", "check", *arguments]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True)
    if done.returncode > 1:
        sys.exit(f"{' '.join(command[:6])}: exit status {done.returncode}\n{done.stderr[-2000:]}")
    return done


def findings_of(folder: Path, paths: Iterable[str]) -> list[Json]:
    """The findings of the files, as JSON."""
    return json.loads(loaderlint(folder, "--output-format", "json", *paths).stdout)["findings"]


def errors(findings: Iterable[Json]) -> list[Json]:
    """Those of the findings that are errors."""
    return [one for one in findings if one["severity"] == "error"]


def read_labels(path: Path, release: str) -> list[Json]:
    """The labels of a release that name a defect."""
    rows = [json.loads(line) for line in path.read_text("utf-8").splitlines() if line.strip()]
    return [row for row in rows if row["release"] == release and row["label"] == "BUG"]


def measured(folder: Path, labels: list[Json] | None) -> Figures:
    """Repair the release in `folder`, a copy, and count. Prints what falls short."""
    paths = sorted(
        {row["path"] for row in labels}
        if labels
        else {one["path"] for one in errors(findings_of(folder, "."))}
    )
    found = findings_of(folder, paths)
    before = errors(found)
    texts = {path: (folder / path).read_text("utf-8") for path in paths}
    done = loaderlint(folder, "--fix", "--unsafe-fixes", *paths)
    repaired = {path: (folder / path).read_text("utf-8") for path in paths}
    after = errors(findings_of(folder, paths))
    loaderlint(folder, "--fix", "--unsafe-fixes", *paths)

    figures = Figures(files=len(paths), errors=len(before))
    count_repaired(figures, before, after, done.stderr.count(" not applied: "))
    count_streamed(figures, before, labels or [])
    for path in paths:
        own = [one for one in found if one["path"] == path]
        figures.valid += is_valid(path, repaired[path])
        figures.unstable += (folder / path).read_text("utf-8") != repaired[path]
        for line in changed_elsewhere(texts[path], repaired[path], own):
            figures.elsewhere += 1
            print(f"  changed outside of the functions with findings: {path}:{line}")
        safe_only = all(one["fix"]["applicability"] == "safe" for one in own if one["fix"])
        if safe_only and comments_of(texts[path]) - comments_of(repaired[path]):
            figures.comments_lost += 1
            print(f"  a safe repair lost a comment: {path}")
    return figures


def count_repaired(figures: Figures, before: list[Json], after: list[Json], withdrawn: int) -> None:
    """Count the errors that are gone, and those that had a repair and are not."""
    still = Counter(map(key, after))
    for one in before:
        if not still[key(one)]:
            figures.repaired += 1
            continue
        still[key(one)] -= 1
        figures.left += one["fix"] is not None
        print(f"  not repaired: {one['path']}:{one['line']} {one['code']} {one['message'][:70]}")
    figures.withdrawn += withdrawn
    figures.left -= min(withdrawn, figures.left)


def key(finding: Json) -> tuple[str, str, str, str]:
    """What stays the same about a finding while a repair moves its line."""
    return finding["path"], finding["code"], finding["function"], _DIGITS.sub("#", finding["message"])


def count_streamed(figures: Figures, findings: list[Json], labels: list[Json]) -> None:
    """Count what is labelled to be streamed: each finding, and each defect of which a part is streamed."""
    defects: dict[str, bool] = {}
    for one in findings:
        on = [row for row in labels if row["path"] == one["path"] and _is_in(one["line"], row)]
        groups = {row["group"] for row in on if row["fix"] in STREAMED}
        if not groups:
            continue
        streamed = one["fix"] is not None and not is_copied(one)
        figures.to_stream += 1
        figures.streamed += streamed
        for group in groups:
            defects[group] = defects.get(group, False) or streamed
        if not streamed:
            print(f"  not streamed: {one['path']}:{one['line']} {one['fix'] and one['fix']['title']}")
    figures.defects += len(defects)
    figures.defects_streamed += sum(defects.values())


def _is_in(line: int, row: Json) -> bool:
    return row["stmt_start"] <= line <= row["stmt_end"]


def is_copied(finding: Json) -> bool:
    """Whether the repair makes a copy in the statement of the finding, other than of what is looked at ahead."""
    edits = [
        edit for edit in finding["fix"]["edits"] if finding["line"] <= edit["line"] <= finding["end_line"]
    ]
    return any(copy in edit["text"] for edit in edits for copy in _COPIES)


def is_valid(path: str, text: str) -> bool:
    """Whether the text parses and compiles."""
    try:
        compile(text, path, "exec", dont_inherit=True)
    except (SyntaxError, ValueError) as error:
        print(f"  does not compile: {path}: {error}")
        return False
    return True


def changed_elsewhere(before: str, after: str, findings: list[Json]) -> Iterator[int]:
    """Lines that changed outside of the outermost functions around the findings, imports and blank lines apart."""
    spans = [
        (node.lineno - len(node.decorator_list), node.end_lineno or node.lineno)
        for node in outermost_functions(ast.parse(before))
    ]
    lines = [step["line"] for one in findings for step in [one, *one["steps"]]]
    allowed = [(start, end) for start, end in spans if any(start <= line <= end for line in lines)]
    numbers, old = zip(
        *((number, line) for number, line in enumerate(before.splitlines(), 1) if line.strip())
    )
    new = [line for line in after.splitlines() if line.strip()]
    matcher = difflib.SequenceMatcher(None, old, new, autojunk=False)
    for tag, start, end, new_start, new_end in matcher.get_opcodes():
        if tag == "equal" or all(is_import(line) for line in (*old[start:end], *new[new_start:new_end])):
            continue
        # What is put in stands behind the line before it.
        for place in range(start, end) if end > start else [start - 1]:
            if not any(low <= numbers[place] <= high for low, high in allowed):
                yield numbers[place]


def is_import(line: str) -> bool:
    """Whether a line imports something."""
    return line.startswith(("import ", "from "))


def outermost_functions(tree: ast.AST) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef]:
    """The functions of a module and of its classes that stand in no other function."""
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            yield node
        else:
            yield from outermost_functions(node)


def comments_of(text: str) -> Counter[str]:
    """How often each comment stands in the text."""
    tokens = tokenize.generate_tokens(io.StringIO(text).readline)
    return Counter(token.string for token in tokens if token.type == tokenize.COMMENT)


def show(title: str, figures: Figures) -> bool:
    """Print the figures; whether every goal is met."""
    goals = [
        ("error findings repaired", figures.repaired, figures.errors, 0.90),
        ("labelled to be streamed, streamed", figures.streamed, figures.to_stream, 0.60),
        ("defects of these, at least in part", figures.defects_streamed, figures.defects, 0.60),
        ("files that parse and compile", figures.valid, figures.files, 1.0),
    ]
    print(f"{title}: {figures.files} files, {figures.errors} error findings")
    for text, part, whole, goal in goals:
        share = f"{part / whole:6.2f}" if whole else "     -"
        print(f"  {text:40} {share} ({part}/{whole}; goal {goal:.2f})")
    none = [
        ("repaired findings left", figures.left),
        ("files that a second run changes", figures.unstable),
        ("changes outside of functions with findings", figures.elsewhere),
        ("comments lost by safe repairs", figures.comments_lost),
    ]
    for text, count in none:
        print(f"  {text:44} {count:2} (goal 0)")
    print(f"  {'repairs withdrawn':44} {figures.withdrawn:2}")
    return all(part >= goal * whole for _, part, whole, goal in goals) and not any(count for _, count in none)


def main() -> int:
    """Repair copies of every release that is named, and print the figures."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", metavar="DIR", type=Path, help="where the releases are")
    parser.add_argument("releases", metavar="RELEASE", nargs="+", help="for example sglang-0.5.23")
    parser.add_argument("--labels", metavar="FILE", type=Path, help="labelled places, as JSON lines")
    parser.add_argument(
        "--keep", metavar="DIR", type=Path, help="where the repaired copies are left, to be read"
    )
    arguments = parser.parse_args()
    if arguments.labels and not arguments.labels.is_file():
        parser.error(f"{arguments.labels}: no such file")
    total = Figures()
    for release in arguments.releases:
        if not (arguments.folder / release).is_dir():
            parser.error(
                f"{arguments.folder / release}: no such folder; benchmarks/corpus.py unpacks releases"
            )
        labels = read_labels(arguments.labels, release) if arguments.labels else None
        with tempfile.TemporaryDirectory() as scratch:
            copy = (arguments.keep or Path(scratch)) / release
            shutil.copytree(arguments.folder / release, copy)
            total.add(measured(copy, labels))
    return 0 if show(" ".join(arguments.releases), total) else 1


if __name__ == "__main__":
    sys.exit(main())
