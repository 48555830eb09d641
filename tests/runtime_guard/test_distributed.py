"""Distributed RunAI streams on two gloo ranks: staging buffers are shared, each tensor is leased alone."""

from __future__ import annotations

import json
import subprocess
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import forked
import pytest


@pytest.mark.parametrize("owned", ["lent", "owned"])
def test_both_ranks_report_what_was_lent_and_nothing_owned(
    checkpoint_files: list[Path], tmp_path: Path, owned: str
) -> None:
    def run(rank: int) -> subprocess.CompletedProcess[str]:
        arguments = [str(rank), str(tmp_path / "meet"), owned, *map(str, checkpoint_files)]
        environment = {"RUNAI_STREAMER_DIST_BUFFER_MIN_BYTESIZE": str(4 << 20)}
        return forked.run(script, *arguments, timeout=120, **environment)

    script = Path(__file__).with_name("distributed_rank.py")
    with ThreadPoolExecutor(2) as both:
        ranks = list(both.map(run, (0, 1)))
    for rank in ranks:
        assert rank.returncode == 0, rank.stderr
        seen = json.loads(rank.stdout.splitlines()[-1])
        assert (seen["wrong"], seen["reports"]) == (0, 0)
        if owned == "owned":
            assert (seen["raised"], seen["facts"]) == ([0, 371], [])
        else:
            assert seen["raised"] == [371, 371]
            assert seen["facts"] == ["owned=False, limit=unset, distributed"]
