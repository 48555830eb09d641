"""# borrowed-tensor-submitted (LDR201)

## What it does
Finds a streamed tensor, or a view of it, that is handed to an executor and not awaited before the stream moves on.

## Why is this bad?
The worker may read the tensor after the producer has written its buffer again. Whether it does depends on timing.

## Example
    for name, tensor in weights:
        futures.append(executor.submit(load, name, tensor))

## Use instead
Load in the step: `load(name, tensor)`; or own the tensor before it is submitted.

## Fix safety
A job whose future nobody reads is called in line: unsafe, because it no longer runs beside the stream, and takes as
long as it takes. Where the future is read, the tensor is owned before it is submitted: unsafe, because copies of all
waiting tensors are in memory at once.

## References
- sglang#32896: threaded loading submits views to an executor and asks for the next tensor; workers copy what was
  written next. Repaired by loading marked tensors in line.
"""

from __future__ import annotations

from loaderlint.linter.findings import Category
from loaderlint.linter.interpreter.events import Holder, Retention
from loaderlint.rules.base import Rule, held_in, tensor_name


def matches(event: Retention) -> bool:
    """Work that may still be running."""
    return held_in(event, Holder.SUBMITTED)


def message(event: Retention) -> str:
    """Names the tensor."""
    tensor = tensor_name(event)
    return f"streamed tensor `{tensor}` is handed to a worker and the stream moves on without waiting for it"


RULE = Rule[Retention](
    "LDR201", "borrowed-tensor-submitted", Category.CORRECTNESS, "0.1.0", True, matches, message
)
