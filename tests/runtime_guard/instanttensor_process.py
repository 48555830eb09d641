"""Run beside one version of InstantTensor: prints, as one line of JSON, what the guard made of a loader."""

from __future__ import annotations

import json
import sys
import warnings
from collections.abc import Iterator
from importlib.machinery import ModuleSpec
from importlib.util import spec_from_file_location
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import consumers
import torch
from safetensors.torch import load_file

from loaderlint.runtime_guard import activate, report


class _RingFinder:
    """Finds the C part of InstantTensor in `ring.py`."""

    @staticmethod
    def find_spec(name: str, path: Any = None, target: Any = None) -> ModuleSpec | None:
        if name != "instanttensor._C":
            return None
        return spec_from_file_location(name, Path(__file__).with_name("ring.py"))


def pretend_there_is_a_gpu() -> None:
    sys.meta_path.insert(0, _RingFinder)
    torch.cuda.current_stream = lambda: SimpleNamespace(synchronize=lambda: None)
    torch.cuda.mem_get_info = lambda device=None: (1 << 40, 1 << 40)
    torch.cuda.get_device_properties = lambda device: SimpleNamespace(is_integrated=False)


def keep_first(stream: Iterator[consumers.Named]) -> consumers.Reads:
    _, weight = next(stream)
    assert weight.isfinite().all()
    return [weight.sum]


def main() -> None:
    file, consumer, options = sys.argv[1:]
    consume = keep_first if consumer == "keep_first" else getattr(consumers, consumer)
    pretend_there_is_a_gpu()
    warnings.simplefilter("ignore")  # InstantTensor warns of copy=False
    activate("trap")
    from instanttensor import safe_open

    with safe_open(file, framework="pt", device="cuda:0", **json.loads(options)) as opened:
        made = consume(opened.tensors())
    seen: dict[str, Any] = {}
    if isinstance(made, dict):
        seen["wrong"] = len(consumers.wrong_tensors(made, load_file(file)))
    else:
        seen["raised"] = consumers.count_raises(made)
    reads = report.take_stale_reads()
    seen["producers"] = sorted({read.lease.header().partition(" via ")[2] for read in reads})
    print(json.dumps(seen))


if __name__ == "__main__":
    main()
