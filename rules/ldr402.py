"""# side-list-read-undrained (LDR402)

## What it does
Finds a list or dict that a generator fills beside what it yields, and that is read when the generator may not have
come to its end: its consumer can stop early, or nobody knows what it does.

## Why is this bad?
What the generator has not got to is missing in the list, and nothing raises: the parameters keep their initial
weights.

## Example
    rest = []
    def experts():
        for name, tensor in weights:
            if "experts" in name:
                yield name, tensor
            else:
                rest.append((name, tensor.clone()))
    for name, tensor in experts():
        if not self.load_expert(name, tensor):
            break
    self.load_rest(rest)    # what came after the `break` is not in it

## Use instead
Drain the generator before the list is read:

    expert_weights = experts()
    self.load_experts(expert_weights)
    for _ in expert_weights:
        pass
    self.load_rest(rest)

## Fix safety
There is no automatic repair: what is to happen with the items that nobody asked for is not known.

## References
- sglang#38908: expert weights are streamed out of a generator, which puts the rest aside for the next call.
- vllm#44645: two small lists are filled by the generator of the language model's weights.
"""

from __future__ import annotations

from loaderlint.linter.findings import Category
from loaderlint.linter.interpreter.events import Fact, Observation
from loaderlint.rules.base import Rule, always, one_line


def message(event: Observation) -> str:
    """Names what reads the list."""
    return f"`{one_line(event.subject)}` reads what a generator puts aside, and the generator may not be at its end"


RULE = Rule[Observation](
    "LDR402",
    "side-list-read-undrained",
    Category.CORRECTNESS,
    "0.1.0",
    False,
    matches=always,
    message=message,
    fact=Fact.READ_UNDRAINED,
)
