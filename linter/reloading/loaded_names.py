"""Loaders that say that they answer with the names of what they loaded, and do not."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import NamedTuple

from loaderlint.linter.reading.index import Class, Function
from loaderlint.linter.reading.project import Project
from loaderlint.linter.reloading.answers import silent_ends
from loaderlint.linter.reloading.handing_on import answers_with_names, dropped, is_none
from loaderlint.linter.reloading.nodes import bindings, body_nodes, last_name

# How many names and attributes may lie between a variable and its class.
_MAX_HOPS = 6


class Silence(NamedTuple):
    """`function` gives no names at `at`: a return statement, or for its end a parameter.

    `asked` is the return statement that hands this on as an answer, with its function. None where `at` is a call whose
    answer the function itself drops, though it says that it has one.
    """

    function: Function
    at: ast.AST
    asked: tuple[Function, ast.Return] | None


class LoadedNames:
    """Follows the answers of loaders through the project."""

    def __init__(self, project: Project) -> None:
        self._project = project

    @staticmethod
    def may_miss(function: Function) -> bool:
        """Whether a function is a loader that says that it answers with names."""
        drains = function.index.contracts.named("methods", "drain")
        return answers_with_names(function.node) and bool(function.streams or function.node.name in drains)

    def missing(self, function: Function) -> Iterator[Silence]:
        """Where the names that a loader is said to answer with are dropped, or were never given to it."""
        if not self.may_miss(function):
            return
        yield from self._dropped(function)
        seen, todo = {function}, [(function, node) for node in _returned(function)]
        while todo:
            outer, node = todo.pop()
            inner = self._callee(node.value, outer)
            if inner is None or inner in seen or answers_with_names(inner.node):
                continue
            seen.add(inner)
            yield from self._silences(inner, (outer, node))
            todo += [(inner, one) for one in _returned(inner)]

    def _dropped(self, function: Function) -> Iterator[Silence]:
        """The calls of the same kind of loader whose answers are not handed back."""
        for call in dropped(function.node):
            same = last_name(call.func) == function.node.name and bool(call.args)
            if same and not self.has_no_answer(call, function):
                yield Silence(function, call, None)

    def has_no_answer(self, call: ast.Call, function: Function) -> bool:
        """Whether what a call in `function` leads to is known to answer nothing, so that nothing is lost."""
        inner = self._callee(call, function)
        if inner is None or inner.is_generator or not any(silent_ends(inner.node, inner.node.body)):
            return False
        return all(node.value is None or is_none(node.value) for node in _returned(inner))

    def _silences(self, function: Function, asked: tuple[Function, ast.Return]) -> Iterator[Silence]:
        """Where a loader that is handed on ends without an answer."""
        returns, ended = silent_ends(function.node, function.node.body)
        for node in [*returns, *(_first_parameter(function) if ended else ())]:
            yield Silence(function, node, asked)

    def _callee(self, value: ast.expr | None, function: Function) -> Function | None:
        """The function of the project whose answer a value is."""
        if isinstance(value, ast.Await):
            value = value.value
        if isinstance(value, ast.Name):
            value = _only_value(value.id, function)
        if not isinstance(value, ast.Call):
            return None
        if not isinstance(value.func, ast.Attribute):
            found = self._project.find(function.index.qualified(value.func))
            return found if isinstance(found, Function) else None
        name, receiver = value.func.attr, value.func.value
        if isinstance(receiver, ast.Call) and last_name(receiver.func) == "super" and function.owner:
            return self._project.inherited_method(function.owner, function.owner, name)
        cls = self._class_of(receiver, function)
        if cls is not None:
            return self._project.method(cls, name)
        found = self._project.find(function.index.qualified(value.func))
        return found if isinstance(found, Function) else None

    def _class_of(self, node: ast.expr, function: Function, hops: int = _MAX_HOPS) -> Class | None:
        """The class of the object that an expression stands for: `self`, an attribute of it, a name or call for one."""
        if isinstance(node, ast.Name) and node.id == "self":
            return function.owner
        if not hops:
            return None
        if isinstance(node, ast.Name):
            value = _only_value(node.id, function)
            return None if value is None else self._class_of(value, function, hops - 1)
        if isinstance(node, ast.Call):
            found = self._project.find(function.index.qualified(node.func))
            return found if isinstance(found, Class) else None
        if not isinstance(node, ast.Attribute):
            return None
        owner = self._class_of(node.value, function, hops - 1)
        made = None if owner is None else self._project.attribute(owner, node.attr)
        found = None if made is None else self._project.find(made.name)
        return found if isinstance(found, Class) else None


def _returned(function: Function) -> list[ast.Return]:
    return [node for node in body_nodes(function.node) if isinstance(node, ast.Return)]


def _only_value(name: str, function: Function) -> ast.expr | None:
    """What a variable is set to, if that is one thing in the whole function."""
    values = [
        value
        for node in body_nodes(function.node)
        for target, value in bindings(node)
        if isinstance(target, ast.Name) and target.id == name
    ]
    return values[0] if len(values) == 1 else None


def _first_parameter(function: Function) -> Iterator[ast.arg]:
    """The stream, or whatever comes first: the end of a body has no place of its own."""
    arguments = function.node.args
    every = [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs]
    yield from sorted(every, key=lambda item: item.arg not in function.streams)[:1]
