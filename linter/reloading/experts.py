"""Loaders that gather a tensor of every expert before they stack them."""

from __future__ import annotations

import ast
import re
from collections.abc import Collection, Iterator
from dataclasses import dataclass

from loaderlint.linter.reading.streams import Element
from loaderlint.linter.reloading.nodes import (
    assigned,
    Definition,
    bindings,
    body_nodes,
    bound_names,
    last_name,
    names_in,
    own_nodes,
    parameters,
)
from loaderlint.linter.reloading.origins import Origins

_EXPERT = re.compile(r"expert", re.IGNORECASE)
_STACKS = ("stack",)
_JOINS = ("cat", "concat", "concatenate")
_PUTS = ("append", "insert", "extend", "update", "add", "setdefault")


@dataclass(frozen=True, slots=True)
class Gathering:
    """`kept` puts one expert's tensor into `holder`, which `stacked` reads as a whole."""

    kept: ast.AST
    stacked: ast.Call
    holder: str


def gathered(
    function: Definition, streams: dict[str, Element], made: Collection[ast.Call]
) -> Iterator[Gathering]:
    """Where `function` stacks what it gathered from the items of a stream, expert by expert.

    `streams` are the parameters that are streams, `made` the calls in it that give it one.
    """
    nodes = list(body_nodes(function))
    calls = [node for node in nodes if isinstance(node, ast.Call) and _is_stacking(node)]
    if not calls:
        return
    origins = Origins(function)
    local = bound_names(*function.body) | set(parameters(function))
    names = {*streams, *_names_of(made, nodes)}
    loops = [
        loop
        for loop in nodes
        if isinstance(loop, ast.For) and (names_in(loop.iter) & names or _contains(loop.iter, made))
    ]
    stores = [store for loop in loops for store in _stores(loop, origins, _bound_before(loop, nodes))]
    for call in calls:
        behind = origins.of(call.args[0])
        found = next((one for one in stores if one.holder in behind and _of_experts(one, call, local)), None)
        if found is not None:
            yield Gathering(found.node, call, found.holder)


def _names_of(made: Collection[ast.Call], nodes: list[ast.AST]) -> set[str]:
    """The names that are bound to what these calls give."""
    pairs = (pair for node in nodes if isinstance(node, ast.Assign) for pair in bindings(node))
    return {name for target, value in pairs if _contains(value, made) for name in bound_names(target)}


def _contains(expression: ast.expr, made: Collection[ast.Call]) -> bool:
    return bool(made) and any(node in made for node in ast.walk(expression))


@dataclass(frozen=True, slots=True)
class _Store:
    """What puts a tensor into `holder`, under which tests."""

    node: ast.AST
    holder: str
    tests: tuple[ast.expr, ...]


def _of_experts(store: _Store, stacked: ast.Call, local: set[str]) -> bool:
    """Whether what decides on the store, or on the stack, speaks of experts: how locals are called says nothing."""
    for node in own_nodes(store.node, *store.tests, stacked):
        text = ""
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            text = node.value
        elif isinstance(node, ast.Attribute):
            text = node.attr
        elif isinstance(node, ast.Name) and node.id not in local:
            text = node.id
        if _EXPERT.search(text):
            return True
    return False


def _is_stacking(call: ast.Call) -> bool:
    """`torch.stack(kept)`; `torch.cat` only of a whole collection: of `[gate, up]` it joins two halves."""
    called = last_name(call.func)
    if not call.args or isinstance(call.args[0], (ast.List, ast.Tuple)):
        return False
    return called in _STACKS or called in _JOINS


def _bound_before(loop: ast.For, nodes: list[ast.AST]) -> set[str]:
    """The names that are bound ahead of the loop."""
    return {
        name
        for node in nodes
        if getattr(node, "lineno", loop.lineno) < loop.lineno
        for name in bound_names(*assigned(node))
    }


def _stores(loop: ast.For, origins: Origins, before: set[str]) -> Iterator[_Store]:
    """What the loop puts of its tensors into holders that outlive the step."""
    items = bound_names(loop.target)
    inside = {name for node in own_nodes(*loop.body) for name in bound_names(*assigned(node))} - before
    for tests, node in _with_tests(loop.body, ()):
        holder, values = _put(node)
        if not holder or holder in inside or not any(origins.of(value) & items for value in values):
            continue
        yield _Store(node, holder, tests)


def _with_tests(
    statements: list[ast.stmt], tests: tuple[ast.expr, ...]
) -> Iterator[tuple[tuple[ast.expr, ...], ast.stmt]]:
    """Every simple statement, with the tests that have let it through."""
    for node in statements:
        if isinstance(node, ast.If):
            passed = (*tests, node.test)
            negative = _is_negative(node.test)
            yield from _with_tests(node.body, tests if negative else passed)
            yield from _with_tests(node.orelse, passed if negative else tests)
            if negative and isinstance(node.body[-1], (ast.Continue, ast.Return)):
                tests = passed
            continue
        blocks = [block for name in ("body", "orelse", "finalbody") if (block := getattr(node, name, None))]
        for block in blocks:
            yield from _with_tests(block, tests)
        if not blocks:
            yield tests, node


def _is_negative(test: ast.expr) -> bool:
    """`"experts" not in name`, `not is_expert(name)`."""
    if isinstance(test, ast.Compare):
        return isinstance(test.ops[0], (ast.NotIn, ast.NotEq))
    return isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not)


def _put(node: ast.AST) -> tuple[str, list[ast.expr]]:
    """The holder that a statement puts something into, and what."""
    if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Subscript):
        return _holder(node.targets[0]), [node.value]
    call = node.value if isinstance(node, ast.Expr) else None
    if isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute) and call.func.attr in _PUTS:
        return _holder(call.func.value), list(call.args)
    return "", []


def _holder(node: ast.expr) -> str:
    """`kept` of `kept[layer].setdefault(name, {})[expert]`, `self.kept` of `self.kept[expert]`."""
    while isinstance(node, (ast.Subscript, ast.Call)):
        called = node.func if isinstance(node, ast.Call) else None
        node = called.value if isinstance(called, ast.Attribute) else called or node.value
    return ast.unparse(node) if isinstance(node, (ast.Name, ast.Attribute)) else ""
