"""# borrowed-tensor-in-dict (LDR103)

## What it does
Finds a streamed tensor, or a view of it, that is put into a dict (by subscript, `setdefault`, `update`, also nested)
and read after the stream has moved on.

## Why is this bad?
A weight that waits for its scale, or one half that waits for the other, is overwritten while it waits.

## Example
    pending[name] = tensor
    if q_name in pending and kv_name in pending:
        load(torch.cat([pending.pop(q_name), pending.pop(kv_name)]))

## Use instead
    pending[name] = tensor.detach().to("cpu", copy=True)

## Fix safety
The tensor is owned in the statement that stores it, on the host unless it later meets other tensors: safe where only
some tensors are stored, or each is taken out again (pairs, halves, shards); unsafe where the dict may come to hold the
whole checkpoint.

## References
- vllm#43464, vllm#56584: an FP8 weight waits for its scale, in a dict that a helper gets through `setdefault`.
- sglang#37370: a cache of shards that are joined when both are there.
- sglang#37371: maps of pending halves in a closure that replaces `weight_loader`.
- verl@2a84ae4ce: chunks of large tensors, kept as views of a receive buffer over buckets.
- lil-vllm#375: the whole checkpoint under rewritten names.
"""

from __future__ import annotations

from loaderlint.linter.findings import Category
from loaderlint.linter.interpreter.events import Holder, Retention
from loaderlint.rules.base import Rule, held_in, one_line, tensor_name


def matches(event: Retention) -> bool:
    """A holder with keys."""
    return held_in(event, Holder.DICT)


def message(event: Retention) -> str:
    """Names the tensor and the dict."""
    return (
        f"streamed tensor `{tensor_name(event)}` is kept in `{one_line(event.holder)}` "
        "and read after the stream has moved on"
    )


RULE = Rule[Retention](
    "LDR103", "borrowed-tensor-in-dict", Category.CORRECTNESS, "0.1.0", True, matches, message
)
