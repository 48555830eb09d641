"""# stream-advanced-in-own-loop (LDR404)

## What it does
Finds `next(stream)` inside a loop over the same stream, where nobody reads the tensor that it gives.

## Why is this bad?
The loop does not see that item any more: its parameter keeps its initial weights. Besides, the tensor of the loop is
stale from there.

## Example
    for name, tensor in weights:
        if name.endswith(".scale"):
            next(weights)    # whatever comes next is dropped
            continue
        self.params[name].copy_(tensor)

## Use instead
Decide by the item's own name, in its own step:

    for name, tensor in weights:
        if name.endswith((".scale", ".zero_point")):
            continue
        self.params[name].copy_(tensor)

## Fix safety
There is no automatic repair: which items are meant to be left out is not known.

## References
- vllm#39650: a loader that looks at the first weights of its stream, and has to hand them on.
"""

from __future__ import annotations

from loaderlint.linter.findings import Category
from loaderlint.linter.interpreter.events import Fact, Observation
from loaderlint.rules.base import Rule, always, one_line


def message(event: Observation) -> str:
    """Names the call, and what the loop iterates."""
    call, loop = one_line(event.subject), one_line(event.detail)
    return f"`{call}` takes an item away from the loop over `{loop}`, and nobody reads it"


RULE = Rule[Observation](
    "LDR404",
    "stream-advanced-in-own-loop",
    Category.CORRECTNESS,
    "0.1.0",
    False,
    matches=always,
    message=message,
    fact=Fact.ITEM_DROPPED,
)
