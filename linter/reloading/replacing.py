"""Parameters that post-processing wraps anew, and that lose what the next load needs.

Only what holds the same values in the same shape counts: there the old loader would still be right, and nothing but
the attributes is lost. A parameter in another format cannot be loaded again, with or without its loader, and with it
the whole layer cannot.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Set
from dataclasses import dataclass

from loaderlint.linter.reloading.nodes import Definition, attributes_set, bindings, body_nodes, last_name

# What gives the same values in the same shape.
_SAME_METHODS = ("detach", "clone", "contiguous", "to", "cuda", "cpu", "float", "half", "bfloat16")
_SAME_ATTRIBUTES = ("data",)
# What takes an object and does no more than to read, or set, one of its attributes.
_OF_ATTRIBUTES = ("getattr", "hasattr", "setattr", "isinstance", "type", "id", "print")


@dataclass(frozen=True, slots=True)
class Replacing:
    """`at` puts a bare parameter into `parameter`, the source text of an attribute."""

    at: ast.AST
    parameter: str


def bare_again(
    function: Definition, carried: Set[str], loaders: frozenset[str], classes: frozenset[str]
) -> Iterator[Replacing]:
    """The `carried` attributes that `function` replaces by their own values, without the attributes in `loaders`.

    `classes` are the names that the file has for torch's own parameter class. None where the function gives any of the
    attributes other values, or hands the layer to something that may.
    """
    nodes = list(body_nodes(function))
    made = {
        target.id: value
        for node in nodes
        for target, value in bindings(node)
        if isinstance(target, ast.Name) and _is_bare(value, loaders, classes)
    }
    found, owners = list[Replacing](), set[str]()
    for node in nodes:
        for target, value in attributes_set(node):
            owner, _, name = target.removesuffix(".data").rpartition(".")
            if name not in carried:
                continue
            call = made.get(value.id) if isinstance(value, ast.Name) else value
            if call is None or not _is_bare(call, loaders, classes) or _old_value(call) != target:
                return
            owners.add(owner)
            names = {target, *([value.id] if isinstance(value, ast.Name) else [])}
            if not any(_carries(other, names, node, classes) for other in nodes):
                found.append(Replacing(node, target))
    if not any(_hands_on(node, owners) for node in nodes):
        yield from found


def _hands_on(node: ast.AST, layers: set[str]) -> bool:
    """Whether a call is given one of the layers, other than to look at, or set, an attribute of it."""
    return (
        isinstance(node, ast.Call)
        and last_name(node.func) not in _OF_ATTRIBUTES
        and any(ast.unparse(argument) in layers for argument in _arguments(node))
    )


def _arguments(call: ast.Call) -> Iterator[ast.expr]:
    yield from call.args
    yield from (item.value for item in call.keywords)


def _is_bare(value: ast.expr, loaders: frozenset[str], classes: frozenset[str]) -> bool:
    """`Parameter(...)`, not one of its subclasses, which are given their loader."""
    return (
        isinstance(value, ast.Call)
        and last_name(value.func) in classes
        and bool(value.args)
        and not any(item.arg is None or item.arg in loaders for item in value.keywords)
    )


def _old_value(call: ast.Call) -> str:
    """The attribute whose values the new parameter wraps, in the same shape; "" for any other value."""
    node: ast.expr = call.args[0]
    while True:
        if (
            isinstance(node, ast.Call)
            and isinstance(node.func, ast.Attribute)
            and node.func.attr in _SAME_METHODS
        ):
            node = node.func.value
        elif isinstance(node, ast.Attribute) and node.attr in _SAME_ATTRIBUTES:
            node = node.value
        else:
            return ast.unparse(node) if isinstance(node, ast.Attribute) else ""


def _carries(node: ast.AST, names: set[str], replaced: ast.AST, classes: frozenset[str]) -> bool:
    """Whether the node gives attributes to the new parameter: sets one, or hands it to something that may."""
    if node is replaced:
        return False
    if isinstance(node, ast.Assign):
        owners = (
            target.value
            for target in node.targets
            if isinstance(target, ast.Attribute) and target.attr != "data"
        )
        return any(ast.unparse(owner) in names for owner in owners)
    if not isinstance(node, ast.Call) or last_name(node.func) in {"register_parameter", *classes}:
        return False
    if isinstance(node.func, ast.Attribute) and node.func.attr == "update":
        return ast.unparse(node.func.value).removesuffix(".__dict__") in names
    return node.lineno >= replaced.lineno and any(ast.unparse(item) in names for item in node.args)
