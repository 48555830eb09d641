"""Distributed RunAI streams on two gloo ranks: staging buffers are shared, each tensor is leased alone."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest


@pytest.mark.parametrize("owned", ["lent", "owned"])
def test_both_ranks_report_what_was_lent_and_nothing_owned(
    checkpoint_files: list[Path], clean_environment: dict[str, str], tmp_path: Path, owned: str
) -> None:
    script = Path(__file__).with_name("distributed_rank.py")
    environment = {**clean_environment, "RUNAI_STREAMER_DIST_BUFFER_MIN_BYTESIZE": str(4 << 20)}
    files = [str(file) for file in checkpoint_files]
    ranks = [
        subprocess.Popen(
            [sys.executable, str(script), str(rank), str(tmp_path / "meet"), owned, *files],
            env=environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for rank in (0, 1)
    ]
    for rank in ranks:
        output, errors = rank.communicate(timeout=120)
        assert rank.returncode == 0, errors
        seen = json.loads(output.splitlines()[-1])
        assert (seen["wrong"], seen["reports"]) == (0, 0)
        if owned == "owned":
            assert (seen["raised"], seen["facts"]) == ([0, 371], [])
        else:
            assert seen["raised"] == [371, 371]
            assert seen["facts"] == ["owned=False, limit=unset, distributed"]
