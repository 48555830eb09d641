"""A repair that fails to be planned, by a defect of loaderlint's own, costs the repair and not the finding."""

from __future__ import annotations

import pytest
from loaderlint.linter import judging
from loaderlint.linter.engine import check_file
from loaderlint.linter.findings import NoFix
from loaderlint.linter.reading.source import source_from_bytes

KEEPS = """\
from collections.abc import Iterable
import torch

def load(self, weights: Iterable[tuple[str, torch.Tensor]]):
    kept = list(weights)
    self.load_all(kept)
"""
RESTORES = """\
def restore(layer, info):
    for name in registered_tensors(layer):
        delattr(layer, name)
    params, buffers = info.saved
    for name, param in params.items():
        layer.register_parameter(name, param)
"""


@pytest.mark.parametrize(
    ("planner", "code", "rule"), [("plan", KEEPS, "LDR101"), ("delete_first", RESTORES, "LDR504")]
)
def test_the_finding_stands_and_says_why_it_has_no_repair(
    planner: str, code: str, rule: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*given: object) -> None:
        raise ZeroDivisionError("on purpose")

    source = source_from_bytes("loader.py", code.encode())
    (repaired,) = check_file(source)
    assert not isinstance(repaired.fix, NoFix)
    monkeypatch.setattr(judging, planner, fail)
    (found,) = check_file(source)
    assert found.code == rule and isinstance(found.fix, NoFix)
    assert found.fix.reason == ("planning the repair failed, please report it: ZeroDivisionError: on purpose")
