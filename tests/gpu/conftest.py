"""Tests of the guard that need a CUDA device; everywhere else they are skipped."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
import torch

from loaderlint.runtime_guard import activate, report

_BUSY_CYCLES = int(2e8)  # about a tenth of a second


@pytest.fixture(autouse=True)
def device() -> Iterator[torch.device]:
    if not torch.cuda.is_available():
        pytest.skip("needs a CUDA device")
    yield torch.device("cuda", torch.cuda.current_device())
    torch.cuda.synchronize()
    activate("off")
    report.take_stale_reads()


@pytest.fixture
def side(device: torch.device) -> torch.cuda.Stream:
    """A stream that is busy for long enough to start late with what is queued next."""
    stream = torch.cuda.Stream()
    torch.cuda.synchronize()
    with torch.cuda.stream(stream):
        torch.cuda._sleep(_BUSY_CYCLES)
    return stream
