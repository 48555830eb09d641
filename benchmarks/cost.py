"""CPU time of the linter on a tree, as a ratio to `ast.parse` of the same files. Usage: python benchmarks/cost.py PATH

Each of the two runs in a fresh process, in turns; its time is that of the whole process, imports included. The ratio is
the median of pairs that ran one after the other: a machine's pace changes from minute to minute.
"""

from __future__ import annotations

import argparse
import ast
import os
import statistics
import time
import warnings
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from typing import TypeVar

Result = TypeVar("Result")


def parse(path: str) -> tuple[int, int, float]:
    """`ast.parse` of every file that the linter would check: (files, lines, CPU seconds of this process)."""
    from loaderlint.linter.reading.discover import discover

    files, lines = discover([path]).files, 0
    warnings.simplefilter("ignore")  # Invalid escapes in other people's strings.
    for file in files:
        with open(file, "rb") as opened:
            data = opened.read()
        lines += data.count(b"\n")
        try:
            ast.parse(data)
        except (SyntaxError, ValueError):
            continue  # The linter reads it too, and goes on.
    return len(files), lines, time.process_time()


def lint(path: str) -> tuple[int, int, float]:
    """The linter without any settings: (findings, errors, CPU seconds of this process)."""
    from loaderlint.linter.engine import check_paths

    report = check_paths([path])
    return len(report.findings), len(report.errors), time.process_time()


def alone(measure: Callable[[str], Result], path: str) -> Result:
    """What `measure` returns in a process of its own."""
    with ProcessPoolExecutor(1, get_context("spawn")) as pool:
        return pool.submit(measure, path).result()


def main() -> None:
    """Measure the tree and print the figures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("path", metavar="PATH", help="a directory or a file")
    parser.add_argument("--runs", type=int, default=3, help="runs of each of the two (default: 3)")
    arguments = parser.parse_args()
    path = arguments.path
    if not os.path.exists(path):
        parser.error(f"{path}: no such file or directory")
    if arguments.runs < 1:
        parser.error(f"--runs {arguments.runs}: at least one run is needed")
    parsings, lintings = [], []
    for _ in range(arguments.runs):
        files, lines, parsing = alone(parse, path)
        findings, errors, linting = alone(lint, path)
        parsings.append(parsing)
        lintings.append(linting)
    ratios = [linting / parsing for parsing, linting in zip(parsings, lintings, strict=True)]
    print(f"{path}: {files} files, {lines} lines, {findings} findings, {errors} errors")
    print(f"ast.parse   {statistics.median(parsings):7.2f} s CPU")
    print(f"loaderlint  {statistics.median(lintings):7.2f} s CPU")
    print(
        f"ratio       {statistics.median(ratios):7.2f} of {', '.join(f'{ratio:.2f}' for ratio in sorted(ratios))}"
    )


if __name__ == "__main__":
    main()
