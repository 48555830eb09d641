"""Runs the loaders of one engine over a real stream, lent and owned; prints a line of JSON for each.

Usage: check.py vllm_cases|sglang_cases, in an environment that has the engine.
"""

from __future__ import annotations

import json
import sys
import tempfile
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from importlib import import_module
from pathlib import Path

import torch
from case import Case
from checkpoints import Named, stream, tensors_of, write
from loaderlint.runtime_guard import activate, report
from loaderlint.runtime_guard.reads import observe_chain
from loaderlint.runtime_guard.sites import Place
from models import build
from torch import nn


@dataclass
class Result:
    """What one loader did with one kind of stream.

    `wrong` are the parameters, of `parameters`, that hold other values than they should after a load without
    the guard. `findings` are the guard's under trap, `kept` and `read` the places that the first one names.
    """

    loader: str
    stream: str
    wrong: int
    parameters: int
    findings: int
    kept: str
    read: str
    expected_kept: str
    expected_read: str
    error: str

    @property
    def deviates(self) -> bool:
        """Whether this is not what the case says."""
        silent = not self.expected_read
        as_expected = (self.kept, self.read) == (self.expected_kept, self.expected_read)
        return (
            bool(self.error) or not as_expected or (self.findings, self.wrong > 0) != (not silent, not silent)
        )


def load(case: Case, weights: Iterable[Named]) -> nn.Module:
    model = build(case)
    model.load_weights(weights)
    return model


def wrong(model: nn.Module, right: nn.Module) -> int:
    expected = dict(right.named_parameters())
    return sum(not torch.equal(value, expected[name]) for name, value in model.named_parameters())


def shown(place: Place) -> str:
    return f"{Path(place[0]).name}:{place[1]}"


def run(case: Case, owned: bool, file: Path) -> Result:
    """Load twice, without the guard and with it."""
    tensors = tensors_of(case)
    write(tensors, file)
    activate("off")
    right = load(case, list(tensors.items()))
    with stream(file, owned) as weights:
        count = wrong(load(case, weights), right)
    activate("trap")
    report.take_stale_reads()
    error = ""
    try:
        with stream(file, owned) as weights:
            guarded = wrong(load(case, weights), right)
        error = f"{guarded} parameters are wrong under the guard" if guarded else ""
    except RuntimeError as raised:
        if not observe_chain(raised):
            raise
    found = report.take_stale_reads()
    keeps = case.keeps and not owned
    return Result(
        loader=case.name,
        stream="owned" if owned else "lent",
        wrong=count,
        parameters=len(list(right.parameters())),
        findings=len(found),
        kept=shown(found[0].lease.advanced[0]) if found else "",
        read=shown(found[0].read[0]) if found else "",
        expected_kept=case.kept if keeps else "",
        expected_read=case.read if keeps else "",
        error=error,
    )


def attempt(case: Case, owned: bool, file: Path) -> Result:
    """Do as `run`; what goes wrong beside the guard is the result's error."""
    try:
        return run(case, owned, file)
    except Exception as error:
        text = f"{type(error).__name__}: {error}".partition("\n")[0]
        return Result(case.name, "owned" if owned else "lent", 0, 0, 0, "", "", case.kept, case.read, text)


def main() -> None:
    cases: tuple[Case, ...] = import_module(sys.argv[1]).CASES
    with tempfile.TemporaryDirectory() as folder, torch.no_grad():
        for case in cases:
            for owned in (False, True):
                result = attempt(case, owned, Path(folder) / "model.safetensors")
                print(json.dumps({**asdict(result), "deviates": result.deviates}), flush=True)


if __name__ == "__main__":
    main()
