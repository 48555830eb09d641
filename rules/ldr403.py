"""# stream-consumed-twice (LDR403)

## What it does
Finds a one-shot stream that has been read to its end and is iterated again, or is given to several consumers in turn.

## Why is this bad?
The second consumer gets nothing. Nothing raises: a part of the model keeps its initial weights.

## Example
    def load_weights(self, weights):
        self.vision.load_weights(weights)
        self.text.load_weights(weights)    # nothing is left

## Use instead
One pass that gives each tensor to the part that it is for, in its step:

    for name, tensor in weights:
        part, _, rest = name.partition(".")
        self.parts[part].load_weights([(rest, tensor)])

## Fix safety
There is no automatic repair: which tensors each consumer needs is not seen from here, and keeping all of them in a
list would hold the whole checkpoint.

## References
- vllm#39650, sglang#17744: lists of the whole stream, made so that several consumers can each read it.
"""

from __future__ import annotations

from loaderlint.linter.findings import Category
from loaderlint.linter.interpreter.events import Fact, Observation
from loaderlint.rules.base import Rule, always, one_line


def message(event: Observation) -> str:
    """Names what is iterated, or the call that iterates it."""
    return f"`{one_line(event.subject)}` gets nothing: its stream has been read to its end before"


RULE = Rule[Observation](
    "LDR403",
    "stream-consumed-twice",
    Category.CORRECTNESS,
    "0.1.0",
    False,
    matches=always,
    message=message,
    fact=Fact.CONSUMED_TWICE,
)
