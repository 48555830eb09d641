"""# borrowed-tensor-yielded-stale (LDR108)

## What it does
Finds a generator that keeps a streamed tensor over a step of its stream, and yields it afterwards: batches, pairs of
siblings, a look-ahead, what was put aside for the end.

## Why is this bad?
The tensor is stale already when the consumer gets it: no consumer, however careful, can use it.

## Example
    def batches(weights):
        batch = []
        for name, tensor in weights:
            batch.append((name, tensor))
            if len(batch) == 8:
                yield batch
                batch = []

## Use instead
Yield each tensor in its step, or own what has to wait:

    batch.append((name, tensor.detach().to("cpu", copy=True)))

## Fix safety
The tensor is owned where it is kept, on the host: safe where the holder is emptied again or gets only some tensors,
unsafe where it may come to hold the whole checkpoint. To yield each tensor in its step would need another consumer.

## References
- vllm#44645: a generator over two side lists, which yields after its loop what it put aside.
- verl@2a84ae4ce: an asynchronous generator that merges chunks over buckets, and kept views of them.
"""

from __future__ import annotations

from loaderlint.linter.findings import Category
from loaderlint.linter.interpreter.events import Retention
from loaderlint.rules.base import Rule, one_line, tensor_name


def matches(event: Retention) -> bool:
    """Any holder of the generator's own, of what it yields when it is stale."""
    return event.yielded and not (event.conditional or event.is_callers)


def message(event: Retention) -> str:
    """Names the tensor and its holder."""
    holder, tensor = one_line(event.holder), tensor_name(event)
    kept = "" if holder == tensor else f" is kept in `{holder}` and"
    return f"streamed tensor `{tensor}`{kept} is yielded after the stream has moved on"


RULE = Rule[Retention](
    "LDR108", "borrowed-tensor-yielded-stale", Category.CORRECTNESS, "0.1.0", True, matches, message
)
