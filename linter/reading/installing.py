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
from loaderlint.linter.reading.index import Class, Function
from loaderlint.linter.reading.outline import Outline

if TYPE_CHECKING:  # It asks for the functions that make streams, which are found beside the candidates.
    from loaderlint.linter.reading.project import Project

# A dict that only hands on what it was given under the same name installs nothing of its own.
_INSTALLED = r"""\.{name} = |["']{name}["']: (?!{name}\s*[,}}])|\bsetattr\([^,]{{1,80}}, *["']{name}["']"""


def seems_to_install(function: Function) -> bool:
    """Whether the function gives a parameter a weight loader, by its text: an attribute, in a dict, by `setattr`."""
    return any(_places(function, name) for name in function.index.contracts.loader_attributes)


def installs_only_judged(function: Function, project: Project) -> bool:
    """Whether all loaders that the function installs are judged where they are defined."""
    for name in function.index.contracts.loader_attributes:
        places = _places(function, name)
        if places:
            values, judge = list(_installed(function.node, name)), _Judge(function, project)
            if len(values) < places or not all(map(judge.is_judged, values)):
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


class _Judge:
    """Looks for the definitions of what `function` installs."""

    def __init__(self, function: Function, project: Project) -> None:
        self._function = function
        self._project = project
        self._outline = Outline(function.node)

    def is_judged(self, value: ast.expr) -> bool:
        """Whether an installed loader is judged where it is defined, or made by a factory of plain ones."""
        if not isinstance(value, ast.Call):
            found = self._definition(value)
            return isinstance(found, Function) and bool(found.lent)
        factory = self._definition(value.func)
        given = [*value.args, *(keyword.value for keyword in value.keywords)]
        return (
            isinstance(factory, Function)
            and _makes_plain_loaders(factory, self._project)
            and not any(self._may_be_function(node) for item in given for node in ast.walk(item))
        )

    def _definition(self, node: ast.expr) -> Function | Class | None:
        """What an expression names, as the module or the object's class has it."""
        owner, first = self._function.owner, node
        while isinstance(first, ast.Attribute):
            first = first.value
        if isinstance(node, ast.Attribute) and node.value is first and _is_self(first):
            return None if owner is None else self._project.method(owner, node.attr)
        if not isinstance(first, ast.Name) or self._outline.is_own(first):
            return None
        return self._project.find(self._function.index.qualified(node))

    def _may_be_function(self, node: ast.AST) -> bool:
        if isinstance(node, (ast.Lambda, ast.Call)):
            return True
        if isinstance(node, ast.Name):
            bound = map(self._outline.parent, self._outline.writes(node.id, self._outline.function))
            if self._outline.inner(node.id) or any(_makes_function(one) for one in bound):
                return True
        return isinstance(node, (ast.Name, ast.Attribute)) and self._definition(node) is not None


def _is_self(node: ast.expr) -> bool:
    return isinstance(node, ast.Name) and node.id == "self"


def _makes_plain_loaders(factory: Function, project: Project) -> bool:
    """Whether all functions inside of it are loaders that keep nothing, whatever the factory is given."""
    inner = [one for one in factory.index.functions.values() if one.outer is factory]
    return bool(inner) and all(is_plain_loader(one, project) for one in inner)


def _makes_function(statement: ast.AST) -> bool:
    """Whether what is assigned is put together on the spot: a lambda, or a `partial`."""
    value = statement.value if isinstance(statement, ast.Assign) else None
    is_partial = isinstance(value, ast.Call) and ast.unparse(value.func).rpartition(".")[2] == "partial"
    return is_partial or isinstance(value, ast.Lambda)
