"""Functions that give a parameter a weight loader which is not judged anywhere else.

A method or function of a loader's shape is judged where it is defined. Only what is put together on the spot, of what
the function has, has to be run where it is installed.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from typing import TYPE_CHECKING

from loaderlint.linter.reading.in_step import is_plain_loader
from loaderlint.linter.reading.index import Function

if TYPE_CHECKING:  # It asks for the functions that make streams, which are found beside the candidates.
    from loaderlint.linter.reading.project import Project

# A dict that only hands on what it was given under the same name installs nothing of its own.
_INSTALLED = r"""\.{name} = |["']{name}["']: (?!{name}\s*[,}}])|\bsetattr\([^,]+, *["']{name}["']"""


def seems_to_install(function: Function) -> bool:
    """Whether the function gives a parameter a weight loader, by its text: an attribute, in a dict, by `setattr`."""
    return any(_places(function, name) for name in function.index.contracts.loader_attributes)


def installs_only_judged(function: Function, project: Project) -> bool:
    """Whether all loaders that the function installs are judged where they are defined."""
    for name in function.index.contracts.loader_attributes:
        places = _places(function, name)
        if places:
            values = list(_installed(function.node, name))
            if len(values) < places or not all(_is_judged(value, function, project) for value in values):
                return False
    return True


def _places(function: Function, name: str) -> int:
    """How often the function seems to install a loader under that name."""
    index = function.index
    if not index.has_line(function, index.lines_with(re.escape(name))):
        return 0
    return len(re.findall(_INSTALLED.format(name=re.escape(name)), index.source_of(function)))


def _installed(function: ast.FunctionDef, name: str) -> Iterator[ast.expr]:
    for node in ast.walk(function):
        if isinstance(node, ast.Assign):
            if any(isinstance(target, ast.Attribute) and target.attr == name for target in node.targets):
                yield node.value
        elif isinstance(node, ast.Dict):
            yield from (value for key, value in zip(node.keys, node.values) if _is_text(key, name))
        elif isinstance(node, ast.Call) and ast.unparse(node.func) == "setattr" and len(node.args) == 3:
            if _is_text(node.args[1], name):
                yield node.args[2]


def _is_text(node: ast.expr | None, text: str) -> bool:
    return isinstance(node, ast.Constant) and node.value == text


def _is_judged(value: ast.expr, function: Function, project: Project) -> bool:
    """Whether an installed loader is judged where it is defined, or not of the project at all."""
    if not isinstance(value, ast.Call):
        found = _definition(value, function, project)
        return isinstance(found, Function) and bool(found.lent)
    factory = _definition(value.func, function, project)
    given = [*value.args, *(keyword.value for keyword in value.keywords)]
    return (
        isinstance(factory, Function)
        and _makes_plain_loaders(factory, project)
        and not any(_may_be_function(node, function, project) for item in given for node in ast.walk(item))
    )


def _definition(node: ast.expr, function: Function, project: Project) -> object:
    """The function that an expression names, as the module or the object's class has it."""
    if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "self":
        return None if function.owner is None else project.method(function.owner, node.attr)
    named = function.index.qualified(node)
    found = project.find(named) if named else None
    return None if found is None or _is_local(node, function) else found


def _is_local(node: ast.expr, function: Function) -> bool:
    """Whether the function itself binds the name that the expression begins with."""
    while isinstance(node, ast.Attribute):
        node = node.value
    names = {part.arg for part in ast.walk(function.node) if isinstance(part, ast.arg)}
    for part in ast.walk(function.node):
        if isinstance(part, ast.Name) and isinstance(part.ctx, ast.Store):
            names.add(part.id)
        elif isinstance(part, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            names.add(part.name)
    return isinstance(node, ast.Name) and node.id in names


def _makes_plain_loaders(factory: Function, project: Project) -> bool:
    """Whether all functions inside of it are loaders that keep nothing, whatever the factory is given."""
    inner = [one for one in factory.index.functions.values() if one.outer is factory]
    return bool(inner) and all(is_plain_loader(one, project) for one in inner)


def _is_bound_to_function(name: str, function: Function) -> bool:
    """Whether a variable is bound to what is put together on the spot: by a lambda, or `partial`."""
    bound = (node for node in ast.walk(function.node) if isinstance(node, ast.Assign))
    values = (
        one.value for one in bound if any(isinstance(t, ast.Name) and t.id == name for t in one.targets)
    )
    return any(isinstance(value, ast.Lambda) or _is_partial(value) for value in values)


def _is_partial(value: ast.expr) -> bool:
    return isinstance(value, ast.Call) and ast.unparse(value.func).rpartition(".")[2] == "partial"


def _may_be_function(node: ast.AST, function: Function, project: Project) -> bool:
    if isinstance(node, (ast.Lambda, ast.Call)):
        return True
    if not isinstance(node, (ast.Name, ast.Attribute)):
        return False
    inner = f"{function.qualname}.{node.id}" if isinstance(node, ast.Name) else ""
    if isinstance(node, ast.Name) and _is_bound_to_function(node.id, function):
        return True
    return inner in function.index.functions or _definition(node, function, project) is not None
