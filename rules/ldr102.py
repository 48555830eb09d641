"""# borrowed-tensor-in-list (LDR102)

## What it does
Finds a streamed tensor, or a view of it, that is put into a list, deque or set and read after the stream has moved
on.

## Why is this bad?
The list holds a view of a buffer that the producer writes again. The usual case: the stream is sorted into two or
three lists, which are loaded after the loop.

## Example
    experts, rest = [], []
    for name, tensor in weights:
        (experts if ".experts." in name else rest).append((name, tensor))
    self.load_experts(experts)
    self.load_rest(rest)

## Use instead
A generator that yields the tensors for the first consumer and owns what has to wait:

    rest = []
    def experts():
        for name, tensor in weights:
            if ".experts." in name:
                yield name, tensor
            else:
                rest.append((name, tensor.detach().to("cpu", copy=True)))
    self.load_experts(experts())
    self.load_rest(rest)

## Fix safety
A partition into lists becomes a generator: safe if nothing can tell that the loop now runs while its first list is
consumed, else unsafe. A list that has to stay gets host copies; where that may hold the whole checkpoint in memory, or
a copy keeps the device because it later meets other tensors, the title says so.

## References
- sglang#38908: experts and the rest in two lists, loaded after the loop; non-finite logits with a streamer.
- sglang#33582: a draft model sorts its weights into three lists. The server looked healthy, and accepted no draft.
- vllm#44645: side lists that are filled by a generator while it yields.
- tokenspeed#1153: side lists, name maps and shard caches of three models.
"""

from __future__ import annotations

from loaderlint.linter.findings import Category
from loaderlint.linter.interpreter.events import Holder, Retention
from loaderlint.rules.base import Rule, held_in, one_line, tensor_name


def matches(event: Retention) -> bool:
    """A holder without keys."""
    return held_in(event, Holder.LIST)


def message(event: Retention) -> str:
    """Names the tensor and the list."""
    return (
        f"streamed tensor `{tensor_name(event)}` is kept in `{one_line(event.holder)}` "
        "and read after the stream has moved on"
    )


RULE = Rule[Retention](
    "LDR102", "borrowed-tensor-in-list", Category.CORRECTNESS, "0.1.0", True, matches, message
)
