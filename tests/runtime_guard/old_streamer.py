"""Run beside an old streamer: prints, as one line of JSON, what the guard made of each consumer."""

from __future__ import annotations

import itertools
import json
import sys
from pathlib import Path

import consumers
from safetensors.torch import load_file

from loaderlint.runtime_guard import activate, report


def main() -> None:
    files = [Path(name) for name in sys.argv[1:]]
    expected = {name: tensor for file in files for name, tensor in load_file(file).items()}
    activate("trap")
    keeping, correct, producers = [], [], set()
    for limit in (None, "0", "10000000"):
        consumers.set_limit(limit)
        for consumer, some in itertools.product(consumers.KEEPING, (files[:1], files)):
            keeping.append(consumers.count_raises(consumers.stream_through(some, consumer)))
            producers |= {read.lease.contract.producer for read in report.take_stale_reads()}
        for consumer in consumers.CORRECT:
            wrong = consumers.wrong_tensors(consumers.stream_through(files, consumer), expected)
            correct.append((len(wrong), len(report.take_stale_reads())))
    print(json.dumps({"producer": "".join(producers), "keeping": keeping, "correct": correct}))


if __name__ == "__main__":
    main()
