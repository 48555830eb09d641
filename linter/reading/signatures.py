"""What the header of a function says of streams: which of its arguments is one, and whether it may return one."""

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
    """Whether a function that returns names, or nothing, plainly reads the tensors of its stream: in a loop that uses
    them, or by handing the stream to what is no builtin.
    """
    if _returns_others(function):
        return False
    nodes = list(ast.walk(function.node))
    used = {node.id for node in nodes if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load)}
    for node in nodes:
        if isinstance(node, ast.For) and _is_name(node.iter, stream):
            if isinstance(node.target, ast.Tuple) and getattr(node.target.elts[-1], "id", "") in used:
                return True
        elif isinstance(node, ast.Call) and not hasattr(builtins, getattr(node.func, "id", "")):
            if any(_is_name(item, stream) for item in (*node.args, *(one.value for one in node.keywords))):
                return True
    return False


def _is_name(node: ast.expr, name: str) -> bool:
    return isinstance(node, ast.Name) and node.id == name


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
