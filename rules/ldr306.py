"""# redundant-copy (LDR306)

## What it does
Finds a clone that nobody needs: of a tensor that is a copy already (`tensor.clone().clone()`, a clone of what a helper
has copied), or one that is given to a method that copies its data at once (`param.copy_(tensor.clone())`).

A copy to another type, device or layout is not counted, nor one of a variable that is used elsewhere too: it may be
written in place.

## Why is this bad?
Every tensor is copied twice: loading takes longer, and the largest one needs its size once more.

## Example
    for name, tensor in weights:
        params[name].copy_(tensor.clone())

## Use instead
    for name, tensor in weights:
        params[name].copy_(tensor)

## Fix safety
There is no repair yet: remove the clone.

## References
- vllm#46868: when the iterator began to copy each tensor, the engine's own clone was dropped.
"""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst
from loaderlint.linter.findings import Category
from loaderlint.linter.interpreter.events import Fact, Observation
from loaderlint.linter.reading.nodes import walk
from loaderlint.rules.base import Rule, one_line


def matches(event: Observation) -> bool:
    """The clone of a temporary value, or of a variable that is used for nothing else."""
    if event.detail or any(isinstance(node, cst.Call) for node in _chain(event.at.node.func.value)):
        return True
    *_, root = _chain(event.at.node.func.value)
    names = [node.value for node in walk(event.at.unit.function) if isinstance(node, cst.Name)]
    # One use is where it is set.
    return isinstance(root, cst.Name) and names.count(root.value) == 2


def _chain(node: cst.BaseExpression) -> Iterator[cst.BaseExpression]:
    """An expression and what it is taken from, to the front of `a.b[c].d()`."""
    yield node
    while isinstance(node, (cst.Attribute, cst.Subscript, cst.Call)):
        node = node.func if isinstance(node, cst.Call) else node.value
        yield node


def message(event: Observation) -> str:
    """Names the tensor, and who copies it besides."""
    tensor = one_line(event.subject)
    if event.detail:
        return f"`{tensor}` is cloned for `{one_line(event.detail)}`, which copies its data anyway"
    return f"`{tensor}` is cloned, but it is a copy already"


RULE = Rule[Observation](
    "LDR306", "redundant-copy", Category.PERFORMANCE, "0.1.0", False, matches, message, Fact.COPIED_AGAIN
)
