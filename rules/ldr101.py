"""# stream-materialized (LDR101)

## What it does
Finds a weight stream that is turned into a list, tuple, set or dict, by a call, a comprehension or star-unpacking,
and read afterwards.

## Why is this bad?
A stream lends each tensor only until its next step. Once everything has been collected, every tensor but the last
shows what the producer wrote into its buffer afterwards.

## Example
    weights = list(weights)
    for name, tensor in weights:
        load(name, tensor)

## Use instead
    for name, tensor in weights:
        load(name, tensor)

## Fix safety
A collection that is only iterated, by a loop or by a function of the same file, is dropped: safe, for the same tensors
reach the same place in the same order. Where the consumer is not seen, or the comprehension calls other code that now
runs later, it is unsafe. A collection that is indexed, sorted, measured or read twice stays, and the finding says why.

## References
- vllm#39650: a probe for the prefix of the names star-unpacks the rest of the stream: every tensor was a view.
- vllm#44645: a list comprehension over the stream, harmless while it held views, and out of memory once it held copies.
- sglang#17744: `dict(weights)` at the top of a function that needs it in one branch only.
- InstantTensor#8, InstantTensor#9: `list(f.tensors())` dangles, or is overwritten, as soon as the buffer is smaller
  than the checkpoint.
"""

from __future__ import annotations

import libcst as cst
from loaderlint.linter.findings import Category
from loaderlint.linter.interpreter.events import Holder, Retention
from loaderlint.rules.base import Rule, held_in, one_line


def matches(event: Retention) -> bool:
    """A holder that was filled from the stream in one go."""
    return held_in(event, Holder.MATERIALIZED)


def message(event: Retention) -> str:
    """Names the expression that collects."""
    text = one_line(event.kept.unit.text(event.kept.node))
    if isinstance(event.kept.node, cst.BaseComp):
        return f"the stream is collected by a comprehension and read after it has moved on: `{text}`"
    return f"the stream is collected by `{text}` and read after it has moved on"


RULE = Rule[Retention]("LDR101", "stream-materialized", Category.CORRECTNESS, "0.1.0", True, matches, message)
