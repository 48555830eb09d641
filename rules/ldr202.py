"""# non-blocking-copy-from-borrowed (LDR202)

## What it does
Finds a copy out of a streamed tensor with `non_blocking=True` that nothing waits for before the stream moves on.

## Why is this bad?
The call may return before the data is read: then the producer writes its buffer while the device still copies from it,
and the parameter gets a mixture of two tensors.

That is so where the tensor is in pinned host memory, or on the device. From pageable host memory the driver copies
to a buffer of its own before it returns, and nothing can go wrong. Which of these a stream lends depends on the
streamer, its options and the machine, and cannot be read from the loader. Nor is it known whether the stream on
which the producer writes waits for the one on which the copy runs: `wait_stream` and `wait_event` are taken for
enough, as are `synchronize()` and `wait()`.

The rule is in preview: where it was tried, most of what it found were trainers that send parameters of their own, on
one device and one stream, and wait before the bucket is sent.

## Example
    for name, tensor in weights:
        params[name].copy_(tensor, non_blocking=True)

## Use instead
Let the copy block, or wait for it in the step:

    for name, tensor in weights:
        params[name].copy_(tensor)

## Fix safety
There is no repair: whether to block or to wait, and on which stream, is for you to say.

## References
- diffusers#14657: memory was handed back while kernels on another stream still read it; NaN.
"""

from __future__ import annotations

from loaderlint.linter.findings import Category
from loaderlint.linter.interpreter.events import Holder, Retention
from loaderlint.rules.base import Rule, held_in, tensor_name


def matches(event: Retention) -> bool:
    """A copy that reads its source in the background."""
    return held_in(event, Holder.COPYING)


def message(event: Retention) -> str:
    """Names the tensor that is copied."""
    return f"`{tensor_name(event)}` is copied with `non_blocking=True`, and the stream moves on without waiting for it"


RULE = Rule[Retention](
    "LDR202",
    "non-blocking-copy-from-borrowed",
    Category.HAZARD,
    "0.1.0",
    False,
    matches,
    message,
    preview=True,
)
