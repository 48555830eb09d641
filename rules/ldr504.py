"""# restore-over-live-attribute (LDR504)

## What it does
Finds code that brings saved parameters or buffers back with `register_parameter` or `register_buffer`, and before
that removes only what the module has registered now.

## Why is this bad?
Post-processing may have left a plain attribute in the place of a parameter: `del layer.scale; layer.scale = None`. It
is not registered, so it is not removed, and the registration raises `KeyError: "attribute 'scale' already exists"`.
The reload fails in the middle, with some of the layers restored and others not. It is a hazard, not an error: whether
such an attribute is left depends on the post-processing that the layer went through.

## Example
    for name in registered_tensors(layer):
        delattr(layer, name)
    for name, param in saved.items():
        layer.register_parameter(name, param)

## Use instead
    for name in registered_tensors(layer).keys() | saved.keys():
        if hasattr(layer, name):
            delattr(layer, name)
    for name, param in saved.items():
        layer.register_parameter(name, param)

## Fix safety
The repair deletes whatever is still there under a name right before that name is registered. It is unsafe, as an
attribute goes that the module may have set on purpose.

## References
- vllm 0.21.0, model_loader/reload/meta.py: a layer is brought back to the checkpoint's format that way; 0.33.0 deletes
  the union.
- sglang 0.5.23, weight_cache/ipc_loader.py: a comment on this error, and the attribute is removed first.
"""

from __future__ import annotations

from loaderlint.linter.findings import Category
from loaderlint.linter.interpreter.events import Fact, Observation
from loaderlint.rules.base import Rule, always, one_line


def message(event: Observation) -> str:
    """Names the module."""
    subject = one_line(event.subject)
    return (
        f"registering a saved name on `{subject}` fails where a plain attribute of that name is still there"
    )


RULE = Rule[Observation](
    "LDR504",
    "restore-over-live-attribute",
    Category.HAZARD,
    "0.1.0",
    True,
    always,
    message,
    Fact.RESTORED_OVER,
)
