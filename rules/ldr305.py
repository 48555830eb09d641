"""# whole-stream-owned (LDR305)

## What it does
Finds a container that gets a copy of each tensor of a stream, on every path: `{name: t.clone() for name, t in weights}`,
a producer that copies and a consumer that makes a list of it, a probe that clones what it has looked at until something
matches.

Containers that are emptied while the stream is read are not counted, nor host copies that are asked for where they are
kept (`kept[name] = tensor.detach().to("cpu", copy=True)`): that is what the repairs of other rules write, and say what
it costs.

## Why is this bad?
The copies are safe, but the whole checkpoint is in memory at once, beside the model: hosts run out of it. A probe that
is meant to look at a few names clones the checkpoint where none of them matches.

## Example
    kept = {name: tensor.clone() for name, tensor in weights}
    self.load_state_dict(kept)

## Use instead
Load each tensor in its step:

    for name, tensor in weights:
        params[name].copy_(tensor)

A probe needs only what it has looked at, and no tensor of that: read the names from the checkpoint's index, or stop
after a bounded number of items.

## Fix safety
There is no repair: what uses the collection has to be written anew.

## References
- vllm#44430, vllm#44645: a producer began to copy each tensor; loaders that collected them ran out of host memory.
- vllm#50890: a probe for a prefix clones what it has seen, 44 GiB where no name has the prefix.
- sglang#17744: `dict(weights)` at the top of a function that needs a few of them.
"""

from __future__ import annotations

import libcst as cst
from loaderlint.linter.findings import Category
from loaderlint.linter.interpreter.events import Fact, HeldCopy
from loaderlint.linter.reading.nodes import literal_text
from loaderlint.linter.repairs.tree import Tree
from loaderlint.rules.base import Rule, one_line
from loaderlint.rules.shares import all_but_skipped, is_emptied


def matches(event: HeldCopy) -> bool:
    """Each tensor is copied and held, and none given up before the end."""
    tree = Tree(event.at.unit)
    whole = event.whole or all_but_skipped(tree, event)
    return whole and not (_is_asked_for(tree, event) or is_emptied(tree, event))


def _is_asked_for(tree: Tree, event: HeldCopy) -> bool:
    """Whether the statement that keeps it says that it is a copy, and that it is on the host."""
    made = event.made.node
    if event.made.unit is not event.at.unit or not tree.inside(made, tree.statement(event.at.node)):
        return False
    return isinstance(made, cst.Call) and any(literal_text(item.value) == "cpu" for item in made.args)


def message(event: HeldCopy) -> str:
    """Names the holder, and the copy where that is not the holder itself."""
    holder, tensor = one_line(event.detail), one_line(event.subject)
    if tensor in holder:
        return f"`{holder}` holds a copy of each tensor of the stream"
    return f"each tensor that is read is copied and held, `{tensor}` in `{holder}`"


RULE = Rule[HeldCopy](
    "LDR305",
    "whole-stream-owned",
    Category.PERFORMANCE,
    "0.1.0",
    False,
    matches,
    message,
    Fact.COPY_HELD,
    "the whole checkpoint is in memory at once, beside the model",
)
