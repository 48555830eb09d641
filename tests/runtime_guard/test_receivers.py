"""Receivers of RL engines, their own code: buckets and asynchronous streams are lent, copies are silent."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from conftest import beside, unpacked

_PYZMQ = "pyzmq==27.1.0"
_RECEIVERS = {
    "verl_buckets": (["verl==0.9.1", _PYZMQ], "verl 0.9.1 [lent until the callback returns]"),
    "verl_engine": (["verl==0.9.1", _PYZMQ], "verl 0.9.1 [NCCLCheckpointEngine]"),
    "checkpoint_engine": (["checkpoint-engine==0.4.2", _PYZMQ], "checkpoint-engine 0.4.2 [lent until run() returns]"),
    "sglang_buckets": (["sglang==0.5.9"], "sglang 0.5.9 [flattened bucket]"),
}  # fmt: skip


@pytest.mark.parametrize("receiver", _RECEIVERS)
def test_what_is_kept_past_the_bucket_raises_and_copies_are_right(
    request: pytest.FixtureRequest, clean_environment: dict[str, str], receiver: str
) -> None:
    requirements, producer = _RECEIVERS[receiver]
    environment = beside(clean_environment, unpacked(request.config, *requirements))
    script = str(Path(__file__).with_name("receivers_process.py"))
    seen = {}
    for consumer in ("keep", "copy"):
        result = subprocess.run(
            [sys.executable, script, receiver, consumer],
            env=environment,
            capture_output=True,
            text=True,
            timeout=100,
        )
        assert result.returncode == 0, result.stderr
        seen[consumer] = json.loads(result.stdout.splitlines()[-1])
    assert seen["keep"] == {"count": 12, "raised": [12, 12], "producers": [producer]}
    assert seen["copy"] == {"count": 12, "wrong": [], "producers": []}
