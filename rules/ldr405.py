"""# stream-ignored (LDR405)

## What it does
Finds a function that is given a weight stream, loads weights from somewhere else instead (a file, a hub, a loader that
gets only a folder), and on that way returns without a look at its stream. What loads may lie in another file.

## Why is this bad?
The first load looks right, because file and stream hold the same. Later, when a trainer sends new weights, they are
dropped, and the old ones are read again: the update is reverted, and nothing raises.

## Example
    def load_weights(self, weights):
        state = torch.load(self.path)
        self.decoder.load_state_dict(state)
        return set(state)

## Use instead
Load what is given; read the file where the model is made, or as one more producer of the stream:

    def load_weights(self, weights):
        return AutoWeightsLoader(self).load_weights(weights)

## Fix safety
There is no automatic repair: how the names in the stream and in the file correspond is not known.

## References
- vllm-omni#6738: a loader reads its file again, and so reverts every update at run time.
"""

from __future__ import annotations

from loaderlint.linter.findings import Category
from loaderlint.linter.interpreter.events import Fact, Observation
from loaderlint.rules.base import Rule, always, one_line


def message(event: Observation) -> str:
    """Names the parameter, and what loads instead of it."""
    stream, call = one_line(event.subject), one_line(event.detail)
    return f"the stream `{stream}` is ignored where `{call}` loads: what a trainer sends is dropped"


RULE = Rule[Observation](
    "LDR405",
    "stream-ignored",
    Category.CORRECTNESS,
    "0.1.0",
    False,
    matches=always,
    message=message,
    fact=Fact.STREAM_IGNORED,
)
