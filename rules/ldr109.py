"""# borrowed-tensor-given-to-keeper (LDR109)

## What it does
Finds a call that gives a streamed tensor to something that keeps it, and reads it after the stream has moved on: a
callee that a contract calls a keeper, or a function of a file that is not among those that were named. A function of
the named files is reported at the line of its own that keeps the tensor.

## Why is this bad?
The loader looks as if it used each tensor in its step; what reads it later is in another file, or in a library.

## Example
    for name, tensor in weights:
        self.registry.enlist(name, tensor)    # stores it, and loads when all are there

## Use instead
Give away what is owned:

    self.registry.enlist(name, tensor.detach().to("cpu", copy=True))

## Fix safety
A tensor that is given to a contract's keeper is owned in the call, on the host. Safe where the keeper gets only some
tensors. There is no repair for what another file keeps: name that file too, and the repair is made there.

## References
- lil-vllm#282: a quantisation method keeps what its weight loader was given.
- vllm#32133: a wrapper in another module than the loader keeps the arguments of each call.
"""

from __future__ import annotations

from loaderlint.linter.findings import Category
from loaderlint.linter.interpreter.events import Holder, Retention
from loaderlint.rules.base import Rule, one_line, tensor_name


def matches(event: Retention) -> bool:
    """Kept by a contract's keeper, or where only the call can be seen."""
    return (event.is_callers or event.holder_kind is Holder.KEEPER) and not event.conditional


def message(event: Retention) -> str:
    """Names the callee, and what it is given or keeps it in."""
    if event.is_callers:
        call = one_line(event.at.unit.text(event.at.node))
        return f"`{call}` keeps a streamed tensor in `{one_line(event.holder)}`, read after the stream has moved on"
    return (
        f"streamed tensor `{tensor_name(event)}` is given to `{one_line(event.holder)}`, "
        "which keeps it after the stream has moved on"
    )


RULE = Rule[Retention](
    "LDR109", "borrowed-tensor-given-to-keeper", Category.CORRECTNESS, "0.1.0", True, matches, message
)
