"""# expert-stack-required (LDR501)

## What it does
Finds a loader that gathers one tensor for every expert from its stream, and stacks them behind the loop or once the
last one is there.

## Why is this bad?
An RL engine syncs the experts one by one, in buckets. A loader that waits for all of them holds a whole layer's, or the
whole model's, experts twice, and cannot finish a load call that brings only some of them.

## Example
    experts = {}
    for name, weight in weights:
        if ".experts." in name:
            experts[expert_id(name)] = weight.cpu().clone()
    param.copy_(torch.stack([experts[i] for i in range(len(experts))]))

## Use instead
    for name, weight in weights:
        if ".experts." in name:
            param[expert_id(name)].copy_(weight)

## Fix safety
There is no repair: which slot an expert has is known to the loader only.

## References
- tpu-inference 0.22.0, models/jax/llama4.py: values and scales of all experts wait in a dict, and are stacked at the end.
"""

from __future__ import annotations

from loaderlint.linter.findings import Category
from loaderlint.linter.interpreter.events import Fact, Observation
from loaderlint.rules.base import Rule, always, one_line


def message(event: Observation) -> str:
    """Names what the experts are gathered in."""
    return (
        f"experts are gathered in `{one_line(event.subject)}` and stacked, though each could go into its slot"
    )


RULE = Rule[Observation](
    "LDR501",
    "expert-stack-required",
    Category.PERFORMANCE,
    "0.1.0",
    False,
    matches=always,
    message=message,
    fact=Fact.STACK_REQUIRED,
    consequence="an RL engine cannot load the experts one by one; they are held twice",
)
