"""Random loaders are run on a stream that lends: what goes wrong is found, and goes right once repaired."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
import torch
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from spec_cases import all_cases

from loaderlint.linter.engine import findings_to_report
from loaderlint.linter.findings import Severity
from loaderlint.linter.fix_run import SAFE_AND_UNSAFE
from loaderlint.linter.fixing import repair
from loaderlint.linter.reading.source import source_from_bytes

NAMES = ("a0", "b0", "a1", "b1", "c1", "a2")
HEAD = """\
from collections.abc import Iterable

import torch


def use(out, tensor):
    out.append(float(tensor.sum()))


def keep(into, tensor):
    into.append(tensor)


def load(weights: Iterable[tuple[str, torch.Tensor]], out):
    kept, table, last = [], {}, None
"""
PROBES = (
    "for tensor in kept:\n    use(out, tensor)",
    "for key, tensor in table.items():\n    use(out, tensor)",
    "for tensor in table.values():\n    use(out, tensor)",
    "if last is not None:\n    use(out, last)",
    "if 'a1' in table:\n    use(out, table['a1'])",
    "while kept:\n    use(out, kept.pop())",
    "out.append(len(kept))",
    "out.extend(len(key) for key in table)",
)
TENSORS = (
    "weight",
    "weight.t()",
    "weight[0]",
    "weight.clone()",
    "weight * 2",
    "weight.detach()",
    "weight.chunk(2)[1]",
)
CONDITIONS = (
    "name == 'a1'", "name.endswith('1')", "name < 'b'", "len(kept) > 1", "last is None", "name in table",
    "weight.numel() > 4 and name != 'c1'",
)  # fmt: skip

tensors = st.sampled_from(TENSORS)
simple = st.one_of(
    tensors.map(lambda tensor: f"kept.append({tensor})"),
    tensors.map(lambda tensor: f"keep(kept, {tensor})"),
    tensors.map(lambda tensor: f"kept = [{tensor}]"),
    tensors.map(lambda tensor: f"kept += [{tensor}]"),
    tensors.map(lambda tensor: f"table[name] = {tensor}"),
    tensors.map(lambda tensor: f"table.setdefault(name[0], {tensor})"),
    tensors.map(lambda tensor: f"last = {tensor}"),
    tensors.map(lambda tensor: f"use(out, {tensor})"),
    st.sampled_from(("kept.clear()", "kept = []", "table = {}", "last = None", "table.pop(name, None)")),
    st.sampled_from(PROBES),
)


def indented(text: str) -> str:
    return "\n".join("    " + line for line in text.split("\n"))


def blocks(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    body = st.lists(inner, min_size=1, max_size=3).map("\n".join).map(indented)
    condition = st.sampled_from(CONDITIONS)
    return st.one_of(
        st.tuples(condition, body).map(lambda parts: "if {}:\n{}".format(*parts)),
        st.tuples(condition, body, body).map(lambda parts: "if {}:\n{}\nelse:\n{}".format(*parts)),
        st.tuples(body, body).map(lambda parts: "try:\n{}\nfinally:\n{}".format(*parts)),
        body.map(lambda text: f"for part in weight.unbind(0):\n{text}\n    kept.append(part)"),
        condition.map(lambda test: f"if {test}:\n    continue"),
        condition.map(lambda test: f"if {test}:\n    break"),
    )


statements = st.recursive(simple, blocks, max_leaves=6)
loops = st.tuples(
    st.lists(statements, min_size=1, max_size=5), st.lists(st.sampled_from(PROBES), max_size=2), st.booleans()
)


def loader(parts: tuple[list[str], list[str], bool]) -> str:
    body, after, orelse = parts
    loop = "for name, weight in weights:\n" + indented("\n".join(body))
    if orelse and after:
        loop += "\nelse:\n" + indented(after[0])
    return HEAD + indented("\n".join([loop, *after])) + "\n"


def lending() -> Iterator[tuple[str, torch.Tensor]]:
    """Every tensor is a view of one buffer, which is written again in each step, and once more at the end."""
    buffer = torch.empty(4, 4)
    for place, name in enumerate(NAMES):
        buffer.copy_(torch.arange(16.0).reshape(4, 4) + 100 * 3**place)
        yield name, buffer
    buffer.fill_(-1.0)


def owning() -> Iterator[tuple[str, torch.Tensor]]:
    return ((name, tensor.clone()) for name, tensor in lending())


def run(code: str, stream: Iterator[tuple[str, torch.Tensor]]) -> list[float]:
    space: dict[str, object] = {}
    exec(compile(code, "loader.py", "exec"), space)
    out: list[float] = []
    space["load"](stream, out)
    return sorted(out)


@settings(
    max_examples=100, deadline=None, derandomize=True, database=None, suppress_health_check=list(HealthCheck)
)
@given(loops.map(loader))
def test_what_goes_wrong_is_found_and_goes_right_once_repaired(code: str) -> None:
    source = source_from_bytes("loader.py", code.encode())
    findings = findings_to_report(source)
    assert {finding.code for finding in findings} <= {"LDR102", "LDR103", "LDR105", "LDR305"}
    assert findings == findings_to_report(source)
    right = run(code, owning())
    if run(code, lending()) != right:
        assert any(finding.severity is Severity.ERROR for finding in findings), code
    result = repair(source, findings, SAFE_AND_UNSAFE, findings_to_report)
    if all(finding.code == "LDR305" for finding in result.findings):
        assert run(result.source.text, lending()) == right, result.source.text


@pytest.fixture(scope="module")
def examples(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("examples")
    for number, case in enumerate(all_cases()):
        (folder / f"case_{number}.py").write_text(case.code, "utf-8")
    return folder


def test_the_output_does_not_depend_on_hashing(examples: Path) -> None:
    outputs = set()
    for seed in ("0", "77"):
        command = [sys.executable, "-m", "loaderlint.linter", "--output-format", "json", str(examples)]
        done = subprocess.run(
            command, env={**os.environ, "PYTHONHASHSEED": seed}, capture_output=True, text=True, timeout=120
        )
        outputs.add(done.stdout)
    (only,) = outputs
    assert len(json.loads(only)["findings"]) > 50
