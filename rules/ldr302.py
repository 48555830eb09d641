"""# device-clone-held (LDR302)

## What it does
Finds clones of streamed tensors that are collected, under a condition, and held to the end of the stream, where the
clone is on the device that the stream is on. What a condition selects by a name of small tensors (scales, norms,
biases, embeddings), or by one whole name, is not counted, nor what is taken out again while the stream is read.

## Why is this bad?
A clone is on the tensor's own device. Where the stream is on an accelerator, the part of the checkpoint that waits is
there twice at the end: once cloned, once as parameters. Loading needs more memory than serving.

The rule is in preview: most streams are on the host, where a clone is the host copy that is wanted, and the loader does
not tell. All that was found in current releases of two engines was such a clone, or a part that is small.

## Example
    for name, tensor in weights:
        if name.startswith("vision."):
            vision.append((name, tensor.clone()))
        else:
            self.load(name, tensor)
    self.vision.load_weights(vision)

## Use instead
Load each tensor in its step, or let it wait on the host:

    vision.append((name, tensor.detach().to("cpu", copy=True)))

## Fix safety
There is no repair: whether the stream is on a device, and the tensors may wait on the host, is for you to say.

## References
- sglang#38908: a clone on the device would have raised the peak; the repair copies to the host.
- lil-vllm#375: a map of the whole checkpoint, kept on the host to avoid a peak on the device.
"""

from __future__ import annotations

import libcst as cst
from loaderlint.linter.contracts import load_contracts
from loaderlint.linter.findings import Category
from loaderlint.linter.interpreter.events import Fact, HeldCopy
from loaderlint.linter.reading.nodes import literal_text, walk
from loaderlint.linter.repairs.tree import Tree
from loaderlint.rules.base import Rule, one_line
from loaderlint.rules.shares import all_but_skipped, conditions, is_emptied, loops_around


def matches(event: HeldCopy) -> bool:
    """A part of the stream, cloned where it is kept."""
    if event.whole or event.made.unit is not event.at.unit or not _is_on_the_streams_device(event):
        return False
    tree = Tree(event.at.unit)
    loops = loops_around(tree, event.at.node)
    if not loops or is_emptied(tree, event) or all_but_skipped(tree, event):
        return False
    return not any(_selects_little(test) for test in conditions(tree, event.at.node, loops[-1]))


def _is_on_the_streams_device(event: HeldCopy) -> bool:
    """`tensor.clone()`, with nothing around or before it that names a place for it."""
    made = event.made.node
    called = (
        isinstance(made, cst.Call)
        and isinstance(made.func, cst.Attribute)
        and made.func.attr.value == "clone"
    )
    text = event.at.unit.text(made)
    return called and not any(word in text + event.subject for word in ("cpu", ".to(", ".cuda("))


def _selects_little(test: cst.BaseExpression) -> bool:
    """Whether a condition is for one name, or for names of small tensors."""
    if isinstance(test, cst.Comparison) and isinstance(test.comparisons[0].operator, cst.Equal):
        return True
    small = load_contracts().loader_small
    words = [
        literal_text(node) or "" if isinstance(node, cst.SimpleString) else node.value
        for node in walk(test)
        if isinstance(node, (cst.SimpleString, cst.Name))
    ]
    return any(part.lower() in word.lower() for word in words for part in small)


def message(event: HeldCopy) -> str:
    """Names the clone and its holder."""
    return (
        f"`{one_line(event.subject)}` is a clone on the stream's device, "
        f"held in `{one_line(event.detail)}` to the end of the stream"
    )


RULE = Rule[HeldCopy](
    "LDR302",
    "device-clone-held",
    Category.PERFORMANCE,
    "0.1.0",
    False,
    matches,
    message,
    Fact.COPY_HELD,
    "the part that is held is in the device's memory twice while the model is loaded",
    preview=True,
)
