"""# stream-teed (LDR107)

## What it does
Finds a stream that is split by `itertools.tee`, where one of the branches is read after another one has gone ahead.

## Why is this bad?
The hidden buffer of `tee` keeps every tensor that one branch has passed and the other has not.

## Example
    first, second = itertools.tee(weights)
    load_head(first)
    load_rest(second)

## Use instead
One pass over the stream that decides for each tensor where it goes.

## Fix safety
There is no repair: which of the branches could do with one pass is for you to say.

## References
None so far: `tee` in public loaders was found by reading, not by its effects.
"""

from __future__ import annotations

from loaderlint.linter.findings import Category
from loaderlint.linter.interpreter.events import Holder, Retention
from loaderlint.rules.base import Rule, held_in, one_line


def matches(event: Retention) -> bool:
    """A hidden buffer."""
    return held_in(event, Holder.TEED)


def message(event: Retention) -> str:
    """Names the call that splits."""
    return f"`{one_line(event.holder)}` keeps the tensors that one branch has passed and another reads later"


RULE = Rule[Retention]("LDR107", "stream-teed", Category.CORRECTNESS, "0.1.0", False, matches, message)
