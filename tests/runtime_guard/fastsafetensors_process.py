"""Run beside one version of fastsafetensors: prints, as one line of JSON, what the guard made of each loader."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import consumers
from consumers import Named
from fastsafetensors import ParallelLoader, SafeTensorsFileLoader, SingleGroup
from safetensors.torch import load_file

from loaderlint.runtime_guard import activate, report

Consumer = Callable[[Iterator[Named]], Any]


def through_buffer(files: list[str], consumer: Consumer, **options: Any) -> Any:
    """Return what the consumer makes of every file, whose buffer is closed when it is done."""
    loader = SafeTensorsFileLoader(SingleGroup(), "cpu", nogds=True)
    loader.add_filenames({0: files})
    buffer = loader.copy_files_to_device(**options)
    result = consumer((name, buffer.get_tensor(name)) for name in list(buffer.key_to_rank_lidx))
    buffer.close()
    loader.close()
    return result


def through_parallel_loader(files: list[str], consumer: Consumer, **options: Any) -> Any:
    """Return what the consumer makes of the files, a batch for each."""
    loader = ParallelLoader(SingleGroup(), files, device="cpu", nogds=True, use_tqdm_on_load=False, **options)
    result = consumer(loader.iterate_weights())
    loader.close()
    return result


def main() -> None:
    level, door, consumer, options, *files = sys.argv[1:]
    load = {"buffer": through_buffer, "parallel": through_parallel_loader}[door]
    expected = {name: tensor for file in files for name, tensor in load_file(Path(file)).items()}
    activate(level)
    made = load(files, getattr(consumers, consumer), **json.loads(options))
    seen: dict[str, Any] = {}
    if isinstance(made, dict):
        seen["wrong"] = len(consumers.wrong_tensors(made, expected))
    else:
        seen["raised"] = consumers.count_raises(made)
    reads = report.take_stale_reads()
    seen["producers"] = sorted({read.lease.header().partition(" via ")[2] for read in reads})
    seen["advanced"] = sorted({place[2] for read in reads for place in read.lease.advanced})
    print(json.dumps(seen))


if __name__ == "__main__":
    main()
