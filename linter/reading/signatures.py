"""What a function says of streams at a glance: which of its arguments is one, whether it reads it, or may return one."""

from __future__ import annotations

import ast
import builtins
import re
from functools import cache

from loaderlint.linter.reading.index import Function
from loaderlint.linter.reading.streams import ITERABLES, PAIR

# What is returned by loaders that read their stream: names of weights, or nothing. Any other type may be a stream, or
# hold one.
_NO_STREAM = {
    "None", "bool", "int", "str", "set", "Set", "AbstractSet", "frozenset", "list", "List", "tuple", "Tuple", "dict", "Dict",
    "Optional", "Union",
}  # fmt: skip
_WORD = re.compile(r"\w+")


def takes_stream(callee: Function, call: ast.Call, place: int) -> bool:
    """Whether argument number `place` of a call is a stream by what the callee says."""
    if any(isinstance(item, ast.Starred) for item in call.args[:place]):
        return False
    return positional_name(callee, place) in callee.streams


def positional_name(callee: Function, place: int) -> str:
    """The parameter that argument number `place` of a call is for, not counting the object of a method; "" for none."""
    listed = callee.node.args
    bound = callee.owner is not None and not callee.is_static
    names = [item.arg for item in (*listed.posonlyargs, *listed.args)][bound:]
    return names[place] if place < len(names) else ""


def returns_stream_or_names(function: Function) -> bool:
    """Whether all that a function returns is a stream, or names, or nothing: neither a tensor nor what holds some."""
    returns = function.node.returns
    outer = "" if returns is None else ast.unparse(returns).strip("'\"").partition("[")[0]
    return outer.rpartition(".")[2] in ITERABLES or not _returns_others(function)


@cache
def reads_all(function: Function, stream: str) -> bool:
    """Whether a function that returns names, or nothing, plainly reads the tensors of its stream: it hands that, or each
    tensor in a loop over it, to what is no builtin.
    """
    if _returns_others(function):
        return False
    nodes = list(ast.walk(function.node))
    calls = (node for node in nodes if isinstance(node, ast.Call))
    others = (call for call in calls if not hasattr(builtins, getattr(call.func, "id", "")))
    given = {
        item.id
        for call in others
        for item in (*call.args, *(keyword.value for keyword in call.keywords))
        if isinstance(item, ast.Name)
    }
    loops = (
        (getattr(loop.iter, "id", ""), getattr(loop.target.elts[-1], "id", ""))
        for loop in nodes
        if isinstance(loop, ast.For) and isinstance(loop.target, ast.Tuple) and loop.target.elts
    )
    return stream in given or any(source == stream and tensor in given for source, tensor in loops)


def may_hand_out(function: Function) -> bool:
    """Whether what a function returns may be its stream, or lead to it."""
    if function.is_generator or list(function.streams.values()) != [PAIR]:
        return True
    return _returns_others(function)


def _returns_others(function: Function) -> bool:
    """Whether a function may return anything but names and counts, by its annotation or its statements."""
    if function.node.returns is not None:
        return not _NO_STREAM.issuperset(_WORD.findall(ast.unparse(function.node.returns)))
    returns = (node.value for node in ast.walk(function.node) if isinstance(node, ast.Return))
    return any(value is not None for value in returns)
