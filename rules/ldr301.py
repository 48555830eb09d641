"""# conditional-copy-kept (LDR301)

## What it does
Finds a kept tensor whose only protection is a copy that may be none: `.to(device)`, `.cpu()`, `.contiguous()`,
`.float()`, `reshape`, or a helper that copies only tensors with a marker.

## Why is this bad?
Where device, dtype and layout already fit, these return the borrowed tensor itself.

## Example
    pending[name] = tensor.to(self.device)

## Use instead
    pending[name] = tensor.to(self.device, copy=True)

## Fix safety
The repair says that a copy is wanted: `copy=True`, or `.clone()` behind what has no such argument. It is unsafe where the
holder may get the whole checkpoint.

## References
- lil-vllm#282: `.contiguous()` and `.to(device)` that change nothing keep aliases of the lent buffer.
- transformers#47257: `.to(dtype)` without a change of type is the memory map itself.
"""

from __future__ import annotations

from loaderlint.linter.findings import Category
from loaderlint.linter.interpreter.events import Retention
from loaderlint.rules.base import Rule, one_line, tensor_name


def matches(event: Retention) -> bool:
    """Any holder, of what may be a copy."""
    return event.conditional


def message(event: Retention) -> str:
    """Names the tensor expression and its holder."""
    return (
        f"`{tensor_name(event)}`, kept in `{one_line(event.holder)}` over a step of the stream, "
        "is a copy only where something has to change"
    )


RULE = Rule[Retention]("LDR301", "conditional-copy-kept", Category.HAZARD, "0.1.0", True, matches, message)
