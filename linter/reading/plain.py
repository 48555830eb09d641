"""Loaders that are plainly right: all they do with a tensor, or with the stream, is to hand it on in the same step.

Most loaders of a model zoo are of this kind. They are told by their `ast` alone, at a hundredth of what running them
costs.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from loaderlint.linter.reading.index import Class, Function
from loaderlint.linter.reading.project import Project
from loaderlint.linter.reading.streams import PAIR

# What may change, keep or delay anything on a way of its own. Text is enough: a comment that mentions one costs time.
_INVOLVED = re.compile(
    r"\b(?:yield|lambda|try|global|nonlocal|async|await|match|class)\b|\bdef\b[^\0]*\bdef\b"
)
# What a tensor says of itself.
_METADATA = ("shape", "dtype", "device", "ndim")


def is_plain(function: Function, project: Project) -> bool:
    """Whether `function` does nothing with its only stream but to hand it, or each of its tensors, on at once."""
    if list(function.streams.values()) != [PAIR]:
        return False
    (stream,), text = function.streams, function.index.source_of(function)
    # In the header, and once more.
    if len(re.findall(rf"\b{stream}\b", text)) != 2 or _INVOLVED.search(text):
        return False
    uses = [node for node in ast.walk(function.node) if isinstance(node, ast.Name) and node.id == stream]
    if len(uses) != 1:
        return False
    for statement in _always_run(function.node):
        if isinstance(statement, ast.For) and statement.iter is uses[0]:
            return _is_plain_loop(statement, function, project)
        value = getattr(statement, "value", None)
        if isinstance(value, ast.Call) and uses[0] in value.args:
            return _is_judged_there(value, function, project)
    return False


def _always_run(function: ast.FunctionDef) -> Iterator[ast.stmt]:
    """The statements that each call runs, up to the first that may leave the function."""
    todo = list(reversed(function.body))
    while todo:
        statement = todo.pop()
        yield statement
        if isinstance(statement, ast.With):
            todo += reversed(statement.body)
        elif any(isinstance(node, (ast.Return, ast.Raise)) for node in ast.walk(statement)):
            return


# A loop over the stream


def _is_plain_loop(loop: ast.For, function: Function, project: Project) -> bool:
    """Whether each tensor only goes to weight loaders, or is asked for its metadata."""
    names = loop.target.elts if isinstance(loop.target, ast.Tuple) else []
    if len(names) != 2 or not all(isinstance(name, ast.Name) for name in names):
        return False
    tensor = names[1]
    uses = {
        node for node in ast.walk(function.node) if isinstance(node, ast.Name) and node.id == tensor.id
    } - {tensor}
    for node in (node for statement in loop.body for node in ast.walk(statement)):
        if isinstance(node, ast.Call) and _loads(node.func, function, project):
            uses.difference_update(node.args, (keyword.value for keyword in node.keywords))
        elif isinstance(node, ast.Attribute) and node.attr in _METADATA:
            uses.discard(node.value)
    return not uses


def _loads(callee: ast.expr, function: Function, project: Project) -> bool:
    """Whether a weight loader is called: one that a parameter has, or one that is judged where it is defined."""
    loaders = function.index.contracts.loader_attributes
    if isinstance(callee, ast.Attribute):
        return callee.attr in loaders and isinstance(callee.value, ast.Name) and callee.value.id != "self"
    if not isinstance(callee, ast.Name):
        return False
    found = project.find(function.index.named(callee.id))
    if isinstance(found, Function):
        return bool(found.lent)
    return found is None and callee.id in loaders


# The stream handed on whole


def _is_judged_there(call: ast.Call, function: Function, project: Project) -> bool:
    """Whether the callee is a method of another file's class that takes a stream: it is judged where it is defined."""
    if not isinstance(call.func, ast.Attribute):
        return False
    cls = _class_of(call.func.value, function, project)
    method = None if cls is None else project.method(cls, call.func.attr)
    return method is not None and bool(method.streams) and method.index is not function.index


def _class_of(receiver: ast.expr, function: Function, project: Project) -> Class | None:
    """The class of an object that is made on the spot, or by the only statement that sets the variable."""
    if isinstance(receiver, ast.Name):
        binding = [
            node
            for node in ast.walk(function.node)
            if isinstance(node, ast.Name) and node.id == receiver.id and isinstance(node.ctx, ast.Store)
        ]
        made = [
            node.value
            for node in function.node.body
            if isinstance(node, ast.Assign) and node.targets == binding
        ]
        receiver = made[0] if len(made) == 1 else receiver
    if not isinstance(receiver, ast.Call):
        return None
    found = project.find(function.index.qualified(receiver.func))
    return found if isinstance(found, Class) else None
