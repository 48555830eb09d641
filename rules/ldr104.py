"""# borrowed-tensor-on-object (LDR104)

## What it does
Finds a streamed tensor, or a view of it, that is stored in an attribute or a global variable while the stream moves
on. What outlives the call is taken to be read later.

## Why is this bad?
The attribute shows another tensor's data as soon as the producer has written its buffer again.

## Example
    for name, tensor in weights:
        if name == "lm_head.weight":
            self.head = tensor

## Use instead
    self.head = tensor.detach().to("cpu", copy=True)

## Fix safety
The tensor is owned in the statement that stores it, with `.clone()`: who reads the attribute later is not seen, so the
device is kept. Safe: one tensor, the same values, the same device.

## References
- lil-vllm#282: a quantisation method stores tensors on the layer until the weights are processed.
- NeMo-RL#3545, vllm#32133: layerwise reload keeps bound arguments on an object until the layer is complete.
- sglang#37371: pending tensors of a quantisation method, kept between calls of a weight loader.
"""

from __future__ import annotations

from loaderlint.linter.findings import Category
from loaderlint.linter.interpreter.events import Holder, Retention
from loaderlint.rules.base import Rule, held_in, one_line, tensor_name


def matches(event: Retention) -> bool:
    """An attribute or a global."""
    return held_in(event, Holder.OBJECT)


def message(event: Retention) -> str:
    """Names the tensor and the attribute."""
    return f"streamed tensor `{tensor_name(event)}` is kept in `{one_line(event.holder)}` after the stream has moved on"


RULE = Rule[Retention](
    "LDR104", "borrowed-tensor-on-object", Category.CORRECTNESS, "0.1.0", True, matches, message
)
