"""# borrowed-tensor-captured (LDR106)

## What it does
Finds a streamed tensor among the bound arguments of a `partial` that is called after the stream has moved on.

## Why is this bad?
The deferred call reads what the producer wrote into its buffer afterwards.

## Example
    for name, tensor in weights:
        jobs[name] = partial(load, tensor)
    for job in jobs.values():
        job()

## Use instead
Load in the step, or own the tensor: `partial(load, tensor.detach().to("cpu", copy=True))`.

## Fix safety
The bound tensor is owned where it is bound, on the host: safe. A lambda or a nested function that captures a tensor has
no repair: what it would have to capture instead cannot be written in the same place.

## References
- vllm#32133: layerwise reload stores the bound arguments of each loader call, and replays them once a layer is
  complete.
- NeMo-RL#3545, lil-vllm#327: the same over a reused transport buffer; repaired by owning the bound tensor.
"""

from __future__ import annotations

from loaderlint.linter.findings import Category
from loaderlint.linter.interpreter.events import Holder, Retention
from loaderlint.rules.base import Rule, held_in, one_line


def matches(event: Retention) -> bool:
    """Bound arguments that nothing else keeps."""
    return held_in(event, Holder.CAPTURED)


def message(event: Retention) -> str:
    """Names the expression that captures."""
    return f"`{one_line(event.holder)}` keeps a streamed tensor and is called after the stream has moved on"


RULE = Rule[Retention](
    "LDR106", "borrowed-tensor-captured", Category.CORRECTNESS, "0.1.0", True, matches, message
)
