"""# parameter-aliases-borrowed (LDR303)

## What it does
Finds a parameter or buffer of a module that is made of a streamed tensor, or is given its memory, instead of a copy:
`param.data = tensor`, `nn.Parameter(tensor)` on a module, `register_buffer`, `register_parameter`, `set_`,
`torch.utils.swap_tensors`, `load_state_dict(..., assign=True)`.

## Why is this bad?
The model's parameter is the producer's buffer. It changes with the next tensor that is read, and every forward pass
computes with whatever was read last.

## Example
    for name, tensor in weights:
        params[name].data = tensor

## Use instead
Copy into the memory that the parameter has:

    for name, tensor in weights:
        params[name].data.copy_(tensor)

or give it memory of its own: `nn.Parameter(tensor.clone())`.

It is not reported where the model is told to keep it, by a switch that is off unless somebody sets it
(`if getattr(self, "keep_mapping", False)`): who turns that on knows the producer, for example a checkpoint that is mapped
into memory.

## Fix safety
The tensor is cloned where it becomes the parameter. Safe: the same values on the same device, which are there as long
as the parameter is.

## References
- transformers#48930: a parameter made of a zero-copy view of the prefetch engine's memory.
- lil-vllm#282: parameters that keep aliases of the lent buffer until the weights are processed.
"""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst
from loaderlint.linter.findings import Category
from loaderlint.linter.interpreter.events import Holder, Retention, Site
from loaderlint.linter.reading.nodes import walk
from loaderlint.linter.repairs.tree import Tree
from loaderlint.rules.base import Rule, held_in, one_line, tensor_name


def matches(event: Retention) -> bool:
    """A parameter, a buffer, or the data of one, unless somebody who knows the producer has asked for it."""
    return held_in(event, Holder.PARAMETER) and not _asked_for(event.kept)


def _asked_for(kept: Site) -> bool:
    """Whether it is kept only where a switch is on that is off by default: `if getattr(self, "keep", False): ...`."""
    tree = Tree(kept.unit)
    branches = (around for around in tree.ancestors(kept.node) if isinstance(around, cst.If))
    tests = (branch.test for branch in branches if tree.inside(kept.node, branch.body))
    return any(_is_switch(part) for test in tests for part in _all_of(test, kept.unit.function))


def _all_of(test: cst.BaseExpression, function: cst.FunctionDef) -> Iterator[cst.BaseExpression]:
    """The conditions that are all true where `test` is: those of `and`, also behind `bool` and a name for them."""
    todo, named = [test], set[str]()
    while todo:
        match todo.pop():
            case cst.BooleanOperation(left=left, operator=cst.And(), right=right):
                todo += [left, right]
            case cst.Call(func=cst.Name("bool"), args=[cst.Arg(value=inner)]):
                todo.append(inner)
            case cst.Name(name) if name not in named:
                named.add(name)
                assigned = _assigned(name, function)
                todo += assigned if len(assigned) == 1 else []
            case part:
                yield part


def _assigned(name: str, function: cst.FunctionDef) -> list[cst.BaseExpression]:
    return [
        node.value
        for node in walk(function)
        if isinstance(node, cst.Assign)
        if any(isinstance(part, cst.Name) and part.value == name for part in walk(*node.targets))
    ]


def _is_switch(test: cst.BaseExpression) -> bool:
    match test:
        case cst.Call(
            func=cst.Name("getattr"),
            args=[cst.Arg(value=cst.Name("self")), cst.Arg(), cst.Arg(value=cst.Name("False"))],
        ):
            return True
    return False


def message(event: Retention) -> str:
    """Names the tensor, and what it becomes."""
    return (
        f"streamed tensor `{tensor_name(event)}` becomes the memory of `{one_line(event.holder)}`, "
        "which changes when the stream moves on"
    )


RULE = Rule[Retention](
    "LDR303", "parameter-aliases-borrowed", Category.CORRECTNESS, "0.1.0", True, matches, message
)
