"""LOADERLINT_GUARD_ON=warn and record let the stale reads of every thread pass, and tell them."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

_STREAM = """
import queue, threading
from concurrent.futures import ThreadPoolExecutor
from loaderlint.runtime_guard import activate, guard
activate("trap")
import torch

def stream():
    buffer = torch.empty(8)
    for number in range(6):
        yield f"layer.{number}", buffer.fill_(number)

def read():
    return [tensor.sum().item() for tensor in kept]
"""

_IN_A_POOL = """
pool = ThreadPoolExecutor(1)
pool.submit(int).result()
kept = [tensor for _, tensor in guard(stream())]
print(pool.submit(read).result())
"""

_BEHIND_A_QUEUE = """
tasks, results = queue.Queue(), queue.Queue()
threading.Thread(target=lambda: results.put(tasks.get()()), daemon=True).start()
kept = [tensor for _, tensor in guard(stream())]
tasks.put(read)
print(results.get(timeout=60))
"""

_BEHIND_AN_EVENT = """
loaded, results = threading.Event(), queue.Queue()

def reader():
    loaded.wait()
    results.put(read())

thread = threading.Thread(target=reader)
thread.start()
kept = [tensor for _, tensor in guard(stream())]
loaded.set()
thread.join()
print(results.get())
"""

_IN_THE_MAIN_THREAD = """
kept = []
thread = threading.Thread(target=lambda: kept.extend(tensor for _, tensor in guard(stream())))
thread.start()
thread.join()
print(read())
"""

_IN_A_NEW_THREAD = """
kept = [tensor for _, tensor in guard(stream())]
with ThreadPoolExecutor(1) as pool:
    print(pool.submit(read).result())
"""

_READERS = [_IN_A_POOL, _BEHIND_A_QUEUE, _BEHIND_AN_EVENT, _IN_THE_MAIN_THREAD, _IN_A_NEW_THREAD]


@pytest.mark.parametrize("reaction", ["warn", "record"])
@pytest.mark.parametrize("reader", _READERS, ids=["pool", "queue", "event", "main thread", "new thread"])
def test_reads_in_other_threads_pass_and_are_told(
    clean_environment: dict[str, str], tmp_path: Path, reader: str, reaction: str
) -> None:
    script = tmp_path / "loader.py"
    script.write_text(_STREAM + reader)
    result = subprocess.run(
        [sys.executable, str(script)],
        env={**clean_environment, "LOADERLINT_GUARD_ON": reaction},
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert (result.returncode, result.stdout) == (0, f"{[40.0] * 6}\n"), result.stderr
    assert result.stderr.count("LOADERLINT-E101 read-after-advance") == 1
    assert "return [tensor.sum().item() for tensor in kept]\n" in result.stderr


_A_THREAD_ENDS = """
from torch.overrides import _len_torch_function_stack

class Last:
    def __del__(self):
        print("modes left:", _len_torch_function_stack())

variables = threading.local()

def reader():
    read()
    print("modes entered:", _len_torch_function_stack())
    variables.last = Last()  # freed after the guard's, which are older

kept = [tensor for _, tensor in guard(stream())]
thread = threading.Thread(target=reader)
thread.start()
thread.join()
"""


def test_a_thread_that_ends_leaves_no_mode_to_be_freed_behind_it(
    clean_environment: dict[str, str], tmp_path: Path
) -> None:
    """torch would free it outside of Python, and abort a process that ends at that moment."""
    script = tmp_path / "loader.py"
    script.write_text(_STREAM + _A_THREAD_ENDS)
    result = subprocess.run(
        [sys.executable, str(script)],
        env={**clean_environment, "LOADERLINT_GUARD_ON": "record"},
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert (result.returncode, result.stdout) == (0, "modes entered: 1\nmodes left: 0\n"), result.stderr
