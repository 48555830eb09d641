"""One rank of a distributed stream: prints, as one line of JSON, what the guard made of two consumers."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

import consumers
import torch.distributed as dist
from safetensors.torch import load_file

from loaderlint.runtime_guard import activate, report


def main() -> None:
    rank, rendezvous, owned, *names = sys.argv[1:]
    os.environ["RUNAI_STREAMER_DIST"] = "1"
    files = [Path(name) for name in names]
    expected = {name: tensor for file in files for name, tensor in load_file(file).items()}
    dist.init_process_group("gloo", init_method=f"file://{rendezvous}", rank=int(rank), world_size=2)
    activate("trap")
    options = {"is_distributed": True, "owned": owned == "owned"}
    kept = consumers.stream_through(files, consumers.keep_dict, **options)
    raised = consumers.count_raises(kept)
    facts = sorted({read.lease.contract.facts for read in report.take_stale_reads()})
    loaded = consumers.stream_through(files, consumers.copy_in_step, **options)
    wrong = len(consumers.wrong_tensors(loaded, expected))
    reports = len(report.take_stale_reads())
    print(json.dumps({"raised": raised, "facts": facts, "wrong": wrong, "reports": reports}))
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
