"""# borrowed-tensor-in-variable (LDR105)

## What it does
Finds a local variable that keeps a streamed tensor, or a view of it, over a step of the stream: the previous item, a
look-ahead, an embedding kept for a tied head.

## Why is this bad?
The variable shows what the producer wrote into its buffer afterwards.

## Example
    for name, tensor in weights:
        if name == "embed_tokens.weight":
            embedding = tensor
    load("lm_head.weight", embedding)

## Use instead
    embedding = tensor.detach().to("cpu", copy=True)

## Fix safety
The tensor is owned in the statement that sets the variable: safe, one tensor more in memory. The variable of the loop
itself, read after the loop, has no repair: a copy of each tensor of the stream would be made for the sake of the last.

## References
- tokenspeed#1153: a shard that waits in a variable for the one that it is fused with.
- fastsafetensors#57: the producer closes the buffer of the last tensor as soon as it is asked for the next one.
"""

from __future__ import annotations

from loaderlint.linter.findings import Category
from loaderlint.linter.interpreter.events import Holder, Retention
from loaderlint.rules.base import Rule, held_in, one_line, tensor_name


def matches(event: Retention) -> bool:
    """A name of the function itself."""
    return held_in(event, Holder.VARIABLE)


def message(event: Retention) -> str:
    """Names the variable."""
    holder, tensor = one_line(event.holder), tensor_name(event)
    if holder == tensor:
        return f"streamed tensor `{holder}` is read after the stream has moved on"
    return f"streamed tensor `{tensor}` is kept in variable `{holder}` and read after the stream has moved on"


RULE = Rule[Retention](
    "LDR105", "borrowed-tensor-in-variable", Category.CORRECTNESS, "0.1.0", True, matches, message
)
