"""What a function of the same file does with an iterable that it is given."""

from __future__ import annotations

import ast
from collections.abc import Mapping
from dataclasses import dataclass

import libcst as cst

from loaderlint.linter.repairs.consumer import Consumer
from loaderlint.linter.repairs.names import bound_names
from loaderlint.linter.repairs.tree import Tree, walk

Functions = Mapping[str, ast.FunctionDef | ast.AsyncFunctionDef]


@dataclass(frozen=True, slots=True)
class Reading:
    """`once`: one pass from the front is all the reader needs. `drains`: it always reads to the end."""

    once: bool
    drains: bool


_UNKNOWN = Reading(once=False, drains=False)


def reading_of(tree: Tree, consumer: Consumer, functions: Functions) -> Reading:
    """How `consumer` reads what it consumes; of a callee that `functions` does not hold, nothing is known."""
    if consumer.call is None:
        leaves = any(_leaves(node, consumer.statement, tree) for node in _jumps(consumer.statement))
        return Reading(once=True, drains=not leaves)
    found = _callee(tree, consumer.call, functions)
    if found is None:
        return _UNKNOWN
    function, bound = found
    parameter = _parameter(function, consumer, bound)
    return _reading_of_parameter(function, parameter) if parameter else _UNKNOWN


def _jumps(loop: cst.CSTNode) -> list[cst.CSTNode]:
    kinds = (cst.Break, cst.Return)
    return [node for node in walk(loop, skip=(cst.FunctionDef, cst.Lambda)) if isinstance(node, kinds)]


def _leaves(jump: cst.CSTNode, loop: cst.CSTNode, tree: Tree) -> bool:
    """Whether a jump ends `loop`; a `break` in the `else` of an inner loop belongs to the outer loop."""
    if isinstance(jump, cst.Return):
        return True
    inner: cst.CSTNode = jump
    for around in tree.ancestors(jump):
        if isinstance(around, (cst.For, cst.While)) and around.orelse is not inner:
            return around is loop
        inner = around
    return False


def _callee(
    tree: Tree, call: cst.Call, functions: Functions
) -> tuple[ast.FunctionDef | ast.AsyncFunctionDef, bool] | None:
    """The called function, and whether its first parameter is bound already."""
    unit = tree.unit
    if isinstance(call.func, cst.Name):
        nested = functions.get(f"{unit.qualname}.{call.func.value}")
        function = nested or (
            None if call.func.value in _bound_here(tree) else functions.get(call.func.value)
        )
        return (function, False) if function else None
    owner, _, _ = unit.qualname.rpartition(".")
    first = unit.function.params.params[:1]
    if not (
        owner and first and isinstance(call.func, cst.Attribute) and isinstance(call.func.value, cst.Name)
    ):
        return None
    function = functions.get(f"{owner}.{call.func.attr.value}")
    if function is None or call.func.value.value != first[0].name.value or unit.function.decorators:
        return None
    return (function, True) if not function.decorator_list else None


def _bound_here(tree: Tree) -> set[str]:
    return bound_names(tree.unit.function.body) | {
        parameter.name.value for parameter in tree.unit.function.params.params
    }


def _parameter(
    function: ast.FunctionDef | ast.AsyncFunctionDef, consumer: Consumer, bound: bool
) -> str | None:
    argument, call = consumer.argument, consumer.call
    if argument.keyword is not None:
        return argument.keyword.value
    before = call.args[: list(call.args).index(argument)]
    if any(earlier.star for earlier in before):
        return None
    parameters = [*function.args.posonlyargs, *function.args.args]
    index = len(before) + bound
    return parameters[index].arg if index < len(parameters) else None


def _reading_of_parameter(function: ast.FunctionDef | ast.AsyncFunctionDef, parameter: str) -> Reading:
    uses = [node for node in ast.walk(function) if isinstance(node, ast.Name) and node.id == parameter]
    lazy = any(isinstance(node, (ast.Yield, ast.YieldFrom, ast.Await)) for node in ast.walk(function))
    if len(uses) != 1 or lazy or isinstance(function, ast.AsyncFunctionDef):
        return _UNKNOWN
    for index, statement in enumerate(function.body):
        if isinstance(statement, ast.For) and statement.iter is uses[0]:
            earlier = function.body[:index]
            return Reading(once=True, drains=not _may_leave(statement, earlier))
    return _UNKNOWN


def _may_leave(loop: ast.For, earlier: list[ast.stmt]) -> bool:
    """Whether a `return` or a `break` of the loop's own ends it, or keeps it from starting."""
    if any(isinstance(node, ast.Return) for statement in [*earlier, loop] for node in ast.walk(statement)):
        return True
    todo: list[ast.AST] = list(loop.body)
    while todo:
        node = todo.pop()
        if isinstance(node, ast.Break):
            return True
        if not isinstance(node, (ast.For, ast.While, ast.AsyncFor)):
            todo.extend(ast.iter_child_nodes(node))
        else:
            todo.extend(node.orelse)  # A `break` there belongs to the outer loop.
    return False
