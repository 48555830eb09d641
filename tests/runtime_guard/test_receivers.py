"""Receivers of RL engines, their own code: buckets and asynchronous streams are lent, copies are silent."""

from __future__ import annotations

import json
from pathlib import Path

import forked
import pytest
from conftest import unpacked

_PYZMQ = "pyzmq==27.1.0"
_RECEIVERS = {
    "verl_buckets": (["verl==0.9.1", _PYZMQ], "verl 0.9.1 [lent until the callback returns]"),
    "verl_engine": (["verl==0.9.1", _PYZMQ], "verl 0.9.1 [NCCLCheckpointEngine]"),
    "checkpoint_engine": (["checkpoint-engine==0.4.2", _PYZMQ], "checkpoint-engine 0.4.2 [lent until run() returns]"),
    "sglang_buckets": (["sglang==0.5.9"], "sglang 0.5.9 [flattened bucket]"),
}  # fmt: skip


@pytest.mark.parametrize("receiver", _RECEIVERS)
def test_what_is_kept_past_the_bucket_raises_and_copies_are_right(
    request: pytest.FixtureRequest, receiver: str
) -> None:
    requirements, producer = _RECEIVERS[receiver]
    folder = unpacked(request.config, *requirements)
    script = Path(__file__).with_name("receivers_process.py")
    seen = {}
    for consumer in ("keep", "copy"):
        result = forked.run(script, receiver, consumer, path=[folder], timeout=100)
        assert result.returncode == 0, result.stderr
        seen[consumer] = json.loads(result.stdout.splitlines()[-1])
    assert seen["keep"] == {"count": 12, "raised": [12, 12], "producers": [producer]}
    assert seen["copy"] == {"count": 12, "wrong": [], "producers": []}
