"""What the runtime guard costs, beside the same work without it. Usage: python benchmarks/guard_overhead.py

A load from the page cache through RunAI Model Streamer that lends, under each level, the levels taking turns;
the time for one tensor, over many small ones; and the start of the interpreter with the guard's .pth line.
"""

from __future__ import annotations

import argparse
import ast
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

import torch
from loaderlint.runtime_guard import activate, guard
from safetensors.torch import save_file

LEVELS = ("off", "trap", "census", "poison", "paranoid")
GOALS = {"trap": 1.05, "census": 1.05, "poison": 1.10}
TENSOR_BYTES = 8 << 20
SMALL_TENSORS = 20_000
SMALL_BYTES = 8 << 10
LIMIT = 200_000_000  # bytes of the streamer's buffer
STARTS = 25


def write_checkpoint(file: Path, megabytes: int) -> dict[str, torch.Tensor]:
    """Write tensors of 8 MiB in bfloat16; return an empty parameter for each."""
    count = max(1, (megabytes << 20) // TENSOR_BYTES)
    values = torch.randn(TENSOR_BYTES // 2).to(torch.bfloat16)
    save_file({f"layer.{number}.weight": values.clone() for number in range(count)}, file)
    return {f"layer.{number}.weight": torch.empty_like(values) for number in range(count)}


def load(file: Path, parameters: dict[str, torch.Tensor]) -> None:
    """Copy every streamed tensor into its parameter."""
    from runai_model_streamer import SafetensorsStreamer

    with SafetensorsStreamer() as streamer:
        streamer.stream_files([str(file)], owned=False)
        for name, tensor in streamer.get_tensors():
            parameters[name].copy_(tensor)


def in_turns(
    actions: dict[str, Callable[[], object]], runs: int, *clocks: Callable[[], float]
) -> list[dict[str, list[float]]]:
    """Return, for each clock, the seconds of each action in each of the runs, after one that does not count."""
    seconds: list[dict[str, list[float]]] = [{name: [] for name in actions} for _ in clocks]
    for run in range(runs + 1):
        for name, action in actions.items():
            began = [clock() for clock in clocks]
            action()
            for clock, of_clock, start in zip(clocks, seconds, began, strict=True):
                if run:
                    of_clock[name].append(clock() - start)
    return seconds


def children_time() -> float:
    """Return the CPU seconds of the processes that this one has started and waited for."""
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def loads(megabytes: int, runs: int) -> bool:
    """Print the load under each level; return whether the goals are met."""
    os.environ["RUNAI_STREAMER_MEMORY_LIMIT"] = str(LIMIT)
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "model.safetensors"
        parameters = write_checkpoint(file, megabytes)

        def under(level: str) -> Callable[[], None]:
            def guarded_load() -> None:
                activate(level)
                load(file, parameters)

            return guarded_load

        actions = {level: under(level) for level in LEVELS}
        wall, cpu = in_turns(actions, runs, time.perf_counter, time.process_time)
    print(f"load of {megabytes} MiB, {len(parameters)} tensors, {runs} runs in turns")
    met = True
    for level in LEVELS:
        ratio, cpu_ratio = beside(wall[level], wall["off"]), beside(cpu[level], cpu["off"])
        goal = f"  goal {GOALS[level]:.2f}" if level in GOALS else ""
        median = statistics.median(wall[level])
        print(f"  {level:9} {median:7.3f} s  ratio {ratio:.3f}, of CPU time {cpu_ratio:.3f}{goal}")
        met = met and ratio <= GOALS.get(level, ratio)
    return met


def beside(own: list[float], other: list[float]) -> float:
    """Return the median ratio of runs that stood side by side: a machine's pace changes from run to run."""
    return statistics.median(one / two for one, two in zip(own, other, strict=True))


def small_stream() -> Iterator[tuple[str, torch.Tensor]]:
    """A producer that lends the same small buffer again and again."""
    buffer = torch.zeros(SMALL_BYTES // 4)
    for number in range(SMALL_TENSORS):
        yield f"layer.{number}.weight", buffer[:]


def consume(stream: Iterable[tuple[str, torch.Tensor]]) -> None:
    """Copy every tensor into one parameter."""
    parameter = torch.empty(SMALL_BYTES // 4)
    for _, tensor in stream:
        parameter.copy_(tensor)


def small_tensors(runs: int) -> bool:
    """Print what the guard adds to one tensor; return whether the goal is met."""
    actions = {level: (lambda level=level: consume(guard(small_stream(), level))) for level in LEVELS}
    # All of it is work of one thread, which a busy machine only makes slower: the fastest run counts.
    (seconds,) = in_turns(actions, runs, time.thread_time)
    print(f"one tensor of {SMALL_BYTES >> 10} KiB, over {SMALL_TENSORS}, CPU time")
    added = {}
    for level in LEVELS:
        added[level] = (min(seconds[level]) - min(seconds["off"])) / SMALL_TENSORS * 1e6
        goal = "  goal 20" if level == "trap" else ""
        print(f"  {level:9} {added[level]:+7.1f} microseconds{goal}")
    return added["trap"] <= 20


def starts() -> bool:
    """Print the start of the interpreter; return whether the goal is met."""
    setup = ast.parse((Path(__file__).parents[1] / "setup.py").read_text(encoding="utf-8"))
    assigned = [node for node in setup.body if isinstance(node, ast.Assign)]
    line = next(ast.literal_eval(node.value) for node in assigned if node.targets[0].id == "PTH_LINE")
    without = {name: value for name, value in os.environ.items() if not name.startswith("LOADERLINT_")}

    def starting(code: str, **variables: str) -> Callable[[], None]:
        environment = {**without, **variables}
        return lambda: subprocess.run([sys.executable, "-c", code], env=environment, check=True)

    actions = {
        "without the line": starting("pass"),
        "variable unset": starting(line),
        "variable set": starting(line, LOADERLINT_GUARD="1"),
    }
    (seconds,) = in_turns(actions, STARTS, children_time)
    print(f"start of the interpreter, {STARTS} times, CPU time")
    for name in actions:
        pairs = zip(seconds[name], seconds["without the line"], strict=True)
        added = statistics.median(own - plain for own, plain in pairs) * 1000
        goal = "  goal 15" if name == "variable set" else ""
        print(f"  {name:16} {statistics.median(seconds[name]) * 1000:6.1f} ms, {added:+.1f} ms{goal}")
    return added <= 15


def main() -> None:
    """Measure, print, and exit with 1 if a goal is missed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--megabytes", type=int, default=2048, help="size of the load (default: 2048)")
    parser.add_argument("--runs", type=int, default=7, help="runs of each level (default: 7)")
    arguments = parser.parse_args()
    met = [loads(arguments.megabytes, arguments.runs), small_tensors(arguments.runs), starts()]
    sys.exit(0 if all(met) else 1)


if __name__ == "__main__":
    main()
