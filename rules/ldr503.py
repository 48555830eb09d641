"""# weight-loader-lost (LDR503)

## What it does
Finds a parameter that is wrapped anew after loading (`layer.weight = Parameter(layer.weight.data)`), with the same
values in the same shape, but without the `weight_loader` that the class gave it when it made it.

It is silent where the class is not seen to give a loader, on every path, and where the layer could not be loaded again
anyway: one of the parameters gets another format there, or the layer is handed to a function that may repack it.

## Why is this bad?
The first load is over, so nothing is wrong with it. The next one, of an RL engine that updates the weights, finds a
parameter without its loader: it fails with `AttributeError`, or falls back to a plain copy that knows nothing of shards
and experts.

It is a hazard, not an error: an engine that restores the parameters as they were before it loads again is not hurt.

## Example
    def create_weights(self, layer, size, weight_loader):
        layer.register_parameter("weight", ModelWeight(torch.empty(size), weight_loader=weight_loader))

    def process_weights_after_loading(self, layer):
        layer.weight = Parameter(layer.weight.data, requires_grad=False)

## Use instead
Leave the parameter as it is, or hand its attributes on:

    old = layer.weight
    layer.weight = Parameter(old.data, requires_grad=False)
    layer.weight.weight_loader = old.weight_loader

## Fix safety
There is no repair: which attributes the next load needs is not to be seen here.

## References
- sglang 0.5.23, layers/quantization/w8a8_fp8.py: all four parameters of the experts are wrapped anew.
"""

from __future__ import annotations

from loaderlint.linter.findings import Category
from loaderlint.linter.interpreter.events import Fact, Observation
from loaderlint.rules.base import Rule, always, one_line


def message(event: Observation) -> str:
    """Names the parameter."""
    return f"`{one_line(event.subject)}` is wrapped anew without its weight loader"


RULE = Rule[Observation](
    "LDR503",
    "weight-loader-lost",
    Category.HAZARD,
    "0.1.0",
    False,
    matches=always,
    message=message,
    fact=Fact.LOADER_LOST,
    consequence="the next load of an RL engine fails, or copies what it should shard",
)
