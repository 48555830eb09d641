"""# ownership-marker-lost (LDR304)

## What it does
Finds the question for an ownership marker (`getattr(tensor, MARK, False)`, `hasattr`) that is put to a view of a
streamed tensor: `tensor[0]`, `tensor.narrow(...)`, `tensor.detach()`, `Parameter(tensor)`. Contracts say which
attributes are such markers.

It is silent where the same function asks something else for the marker, too, such as the storage.

## Why is this bad?
A view is another tensor of the same memory, and an attribute belongs to the one that it was set on. The answer is
always no, so that lent memory counts as owned: it is kept without a copy, or handed to a thread.

It is a hazard, not an error: where the view is read at once, the wrong answer does no harm.

## Example
    def owned(tensor):
        return tensor.clone() if getattr(tensor, "_engine_lent", False) else tensor

    for name, tensor in weights:
        pending[name] = owned(tensor[0])

## Use instead
    def owned(tensor):
        return tensor.clone() if getattr(tensor.untyped_storage(), "_engine_lent", False) else tensor

if the producer marks the storage too. Otherwise ask before the view is made:

    pending[name] = owned(tensor)[0]

## Fix safety
There is no repair: whether the storage is marked too depends on the release of the producer.

## References
- sglang#37371: online quantisation keeps halves of expert weights, which reach it as views without their marker; since
  0.5.23 it asks the storage as well.
"""

from __future__ import annotations

from loaderlint.linter.findings import Category
from loaderlint.linter.interpreter.events import Fact, Observation
from loaderlint.rules.base import Rule, always, one_line


def message(event: Observation) -> str:
    """Names the tensor and the marker."""
    return f"`{one_line(event.subject)}` is a view, which does not carry `{event.detail}`: it never counts as lent"


RULE = Rule[Observation](
    "LDR304",
    "ownership-marker-lost",
    Category.HAZARD,
    "0.1.0",
    False,
    matches=always,
    message=message,
    fact=Fact.MARKER_LOST,
    consequence="memory that is lent is kept without a copy, or handed to a thread",
)
