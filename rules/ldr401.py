"""# used-after-close (LDR401)

## What it does
Finds tensors that are kept past the end of their producer and read then, and streams that are iterated or returned
when their producer is closed: after its `with` block, or after `close()`.

## Why is this bad?
The memory is unmapped or given to someone else. The read crashes at best.

## Example
    def weights_of(path):
        with fastsafetensors_loader(path) as loader:
            return loader.tensors()    # closed before the caller reads the first one

## Use instead
Iterate inside the block: a generator stays there until its last tensor has been used.

    def weights_of(path):
        with fastsafetensors_loader(path) as loader:
            yield from loader.tensors()

## Fix safety
A tensor is owned where it is kept, on the host. There is no repair for a stream that leaves its block.

## References
- InstantTensor#8: tensors of a `safe_open` block dangle after it, and are copied later.
- fastsafetensors#57: a loader closes the file buffer behind the tensors that it has yielded.
"""

from __future__ import annotations

from loaderlint.linter.findings import Category
from loaderlint.linter.interpreter.events import Event, Fact, Retention
from loaderlint.rules.base import Rule, always, one_line, tensor_name


def message(event: Event) -> str:
    """Names the tensor and its holder, or what is iterated."""
    if not isinstance(event, Retention):
        return f"`{one_line(event.subject)}` is read after its producer was closed"
    holder, tensor = one_line(event.holder), tensor_name(event)
    kept = "" if holder == tensor else f" is kept in `{holder}` and"
    return f"streamed tensor `{tensor}`{kept} is read after its producer was closed"


RULE = Rule[Event](
    "LDR401",
    "used-after-close",
    Category.CORRECTNESS,
    "0.1.0",
    True,
    matches=always,
    message=message,
    fact=Fact.USED_AFTER_CLOSE,
)
