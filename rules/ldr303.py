"""# parameter-aliases-borrowed (LDR303)

## What it does
Finds a parameter or buffer of a module that is made of a streamed tensor, or is given its memory, instead of a copy:
`param.data = tensor`, `nn.Parameter(tensor)` on a module, `register_buffer`, `register_parameter`, `set_`,
`torch.utils.swap_tensors`, `load_state_dict(..., assign=True)`.

## Why is this bad?
The model's parameter is the producer's buffer. It changes with the next tensor that is read, and every forward pass
computes with whatever was read last.

## Example
    for name, tensor in weights:
        params[name].data = tensor

## Use instead
Copy into the memory that the parameter has:

    for name, tensor in weights:
        params[name].data.copy_(tensor)

or give it memory of its own: `nn.Parameter(tensor.clone())`.

## Fix safety
The tensor is cloned where it becomes the parameter. Safe: the same values on the same device, which are there as long
as the parameter is.

## References
- transformers#48930: a parameter made of a zero-copy view of the prefetch engine's memory.
- lil-vllm#282: parameters that keep aliases of the lent buffer until the weights are processed.
"""

from __future__ import annotations

from loaderlint.linter.findings import Category
from loaderlint.linter.interpreter.events import Holder, Retention
from loaderlint.rules.base import Rule, held_in, one_line, tensor_name


def matches(event: Retention) -> bool:
    """A parameter, a buffer, or the data of one."""
    return held_in(event, Holder.PARAMETER)


def message(event: Retention) -> str:
    """Names the tensor, and what it becomes."""
    return (
        f"streamed tensor `{tensor_name(event)}` becomes the memory of `{one_line(event.holder)}`, "
        "which changes when the stream moves on"
    )


RULE = Rule[Retention](
    "LDR303", "parameter-aliases-borrowed", Category.CORRECTNESS, "0.1.0", True, matches, message
)
