"""What a function of the same file does with an iterable that it is given."""

from __future__ import annotations

import ast
import re
from collections.abc import Mapping
from dataclasses import dataclass

import libcst as cst
from loaderlint.linter.contracts import load_contracts
from loaderlint.linter.reading.nodes import walk
from loaderlint.linter.repairs.consumer import Consumer
from loaderlint.linter.repairs.names import bound_names
from loaderlint.linter.repairs.tree import Refused, Tree

Functions = Mapping[str, ast.FunctionDef | ast.AsyncFunctionDef]


@dataclass(frozen=True, slots=True)
class Reading:
    """`once`: one pass from the front is all the reader needs. `drains`: it always reads to the end."""

    once: bool
    drains: bool


_UNKNOWN = Reading(once=False, drains=False)

# What is named like this takes weights one by one; of any other function that is not in the file, who knows.
_LOADS = re.compile(r"load|weights|params|tensors")


def reading_of(tree: Tree, consumer: Consumer, functions: Functions) -> Reading:
    """How `consumer` reads what it consumes. Raises `Refused` where it may need more than an iterator.

    Of a callee that `functions` does not hold only its name is known.
    """
    if consumer.call is None:
        early = any(leaves(node, consumer.statement, tree) for node in _jumps(consumer.statement))
        return Reading(once=True, drains=not early)
    found = _callee(tree, consumer.call, functions)
    if found is None:
        _refuse_unless_it_loads(tree, consumer.call)
        return _UNKNOWN
    function, bound = found
    parameter = _parameter(function, consumer, bound)
    reading = _reading_of_parameter(function, parameter) if parameter else _UNKNOWN
    if parameter and not reading.once and not _passes_once(function, parameter):
        raise Refused(f"`{function.name}` does more with `{parameter}` than to iterate it once")
    return reading


def _refuse_unless_it_loads(tree: Tree, call: cst.Call) -> None:
    name = tree.text(call.func)
    library = name.partition(".")[0] in load_contracts().modules
    if library or not _LOADS.search(name.rpartition(".")[2].lower()):
        raise Refused(f"`{tree.brief(call.func)}` may need a list")


def _passes_once(function: ast.FunctionDef | ast.AsyncFunctionDef, parameter: str) -> bool:
    """Whether the parameter is only iterated in one place, or handed on to something that loads."""
    uses = [node for node in ast.walk(function) if isinstance(node, ast.Name) and node.id == parameter]
    loops = (node for node in ast.walk(function) if isinstance(node, (ast.For, ast.AsyncFor, ast.While)))
    repeated = {node for loop in loops for part in loop.body for node in ast.walk(part)}
    if len(uses) != 1 or uses[0] in repeated:
        return not uses
    lazy = {key.rpartition(".")[2] for key in load_contracts().lazy}
    for node in ast.walk(function):
        if isinstance(node, (ast.For, ast.AsyncFor, ast.comprehension)) and node.iter is uses[0]:
            return True
        if isinstance(node, ast.YieldFrom) and node.value is uses[0]:
            return True
        if isinstance(node, ast.Call) and uses[0] in node.args:
            name = ast.unparse(node.func).rpartition(".")[2]
            return name in lazy or bool(_LOADS.search(name.lower()))
    return False


def _jumps(loop: cst.CSTNode) -> list[cst.CSTNode]:
    kinds = (cst.Break, cst.Return)
    return [node for node in walk(loop, skip=(cst.FunctionDef, cst.Lambda)) if isinstance(node, kinds)]


def leaves(jump: cst.CSTNode, loop: cst.CSTNode, tree: Tree) -> bool:
    """Whether a jump leaves the body of `loop`; a `break` in the `else` of an inner loop belongs to the outer loop."""
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
