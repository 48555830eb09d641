"""# lent-tensor-mutated (LDR307)

## What it does
Finds a streamed tensor that is written in place: `tensor.mul_(2)`, `tensor += 1`, `tensor[0] = 0`, `out=tensor`. A copy
that may be none (`tensor.float()`) is not taken for the streamed tensor.

## Why is this bad?
The memory is the producer's. What else is made of it changes, too: another name of a tied weight, a tensor of the
trainer that was sent through shared memory, the page cache of a file that is mapped writable. A file that is mapped for
reading only ends the process.

## Example
    for name, tensor in weights:
        tensor += 1.0
        params[name].copy_(tensor)

## Use instead
    for name, tensor in weights:
        params[name].copy_(tensor + 1.0)

## Fix safety
There is no repair: whether the sum is a new tensor, or is made in the parameter's memory, is for you to say.

## References
- transformers#47257: writing to a mapped checkpoint copies each page that is touched, which doubles the memory.
"""

from __future__ import annotations

from loaderlint.linter.findings import Category
from loaderlint.linter.interpreter.events import Fact, Observation
from loaderlint.rules.base import Rule, always, one_line


def message(event: Observation) -> str:
    """Names the tensor."""
    return f"streamed tensor `{one_line(event.subject)}` is written in place: the memory is the producer's"


RULE = Rule[Observation](
    "LDR307", "lent-tensor-mutated", Category.HAZARD, "0.1.0", False, always, message, fact=Fact.MUTATED
)
