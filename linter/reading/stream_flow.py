"""Streams that are only handed on to where each tensor is read in its step: told by the syntax tree."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from loaderlint.linter.reading.in_step import InStep, is_container_method, is_super
from loaderlint.linter.reading.index import Class, Function
from loaderlint.linter.reading.outline import Outline, all_arguments
from loaderlint.linter.reading.signatures import may_hand_out, takes_stream

if TYPE_CHECKING:
    from loaderlint.linter.reading.project import Project

_OWN_METHOD = re.compile(r"\bself\.(\w+)\(")


class StreamFlow:
    """Follows the stream of `function` from variable to variable, to the loop or the callee that reads it."""

    def __init__(self, function: Function, outline: Outline, project: Project) -> None:
        self._function = function
        self._outline = outline
        self._project = project

    def is_read_in_step(self, stream: str) -> bool:
        """Whether a parameter is read on each call, once: by one loop that keeps nothing, or by a callee that is judged
        where it is defined.
        """
        outer = self._outline.function
        uses, writes = self._outline.reads(stream, outer), self._outline.writes(stream, outer)
        if not uses or len(uses) != 1 + len(writes) or len(writes) > 1 or stream in self._outline.declared:
            return False
        # Under its own name again, as in `weights = renamed(weights)`: what is read behind that is the new one.
        rebound = not writes or self._outline.statement(writes[0]) in self._outline.above(uses[0])
        return rebound and self._is_read(uses[0])

    def _is_read(self, use: ast.expr) -> bool:
        """Whether what `use` stands for, a stream, is read step by step."""
        around, scope = self._outline.parent(use), self._outline.scope(use)
        if isinstance(around, ast.For) and around.iter is use:
            if not self._is_plain_loop(around):
                return False
            return scope is self._outline.function or self._is_read_through(scope)
        if scope is not self._outline.function or not self._is_always_run(self._outline.statement(use)):
            return False
        if isinstance(around, ast.Call) and use in around.args:
            return self._is_given(around, around.args.index(use))
        return isinstance(around, ast.Assign) and self._is_read_as(around, use)

    def _is_read_as(self, assignment: ast.Assign, stream: ast.expr) -> bool:
        """The same under the name that an assignment gives to the stream."""
        target = assignment.targets[0]
        if len(assignment.targets) != 1 or not isinstance(target, ast.Name) or assignment.value is not stream:
            return False
        outer = self._outline.function
        uses = self._outline.reads(target.id, outer)
        behind = [use for use in uses if assignment not in self._outline.above(use)]
        alone = len(self._outline.writes(target.id, outer)) == 1 and len(behind) == 1
        return alone and self._outline.follows(behind[0], assignment) and self._is_read(behind[0])

    def _is_given(self, call: ast.Call, place: int) -> bool:
        """The same of a stream that is argument number `place` of a call."""
        inner = self._inner_generator(call.func)
        if inner is not None:
            return self._is_passed_on(inner, call, place)
        callees = self._callees(call)
        if not callees or not all(takes_stream(callee, call, place) for callee in callees):
            return False
        own = self._gives_function(call, place) or any(self._visits_own(callee) for callee in callees)
        if own or not self._gives_nothing_else(call, place):
            return False
        is_returned = isinstance(self._outline.parent(call), ast.Return)
        if all(not may_hand_out(one) or (is_returned and not one.is_generator) for one in callees):
            return True
        return self._is_read(call)

    def _is_passed_on(self, inner: Function, call: ast.Call, place: int) -> bool:
        """Whether a generator inside the function reads what it is given step by step, and is read so itself."""
        parameters = list(all_arguments(inner.node))
        if len(call.args) > len(parameters) or call.keywords:
            return False
        uses = self._outline.reads(parameters[place].arg, inner.node)
        if len(uses) != 1 or self._outline.writes(parameters[place].arg, inner.node):
            return False
        around = self._outline.parent(uses[0])
        is_loop = isinstance(around, ast.For) and around.iter is uses[0]
        return is_loop and self._is_plain_loop(around) and self._is_read(call)

    def _is_read_through(self, scope: ast.AST) -> bool:
        """Whether a generator inside the function, which reads the function's own stream, is called once and read."""
        if not isinstance(scope, ast.FunctionDef) or self._outline.scope(scope) is not self._outline.function:
            return False
        uses = self._outline.reads(scope.name, self._outline.function)
        if len(uses) != 1 or self._inner_generator(uses[0]) is None:
            return False
        call = self._outline.parent(uses[0])
        return isinstance(call, ast.Call) and call.func is uses[0] and self._is_read(call)

    def _inner_generator(self, callee: ast.expr) -> Function | None:
        if not isinstance(callee, ast.Name):
            return None
        inner = self._function.index.functions.get(f"{self._function.qualname}.{callee.id}")
        if inner is None or self._outline.inner(callee.id) != [inner.node] or inner.node.decorator_list:
            return None
        is_bound = bool(self._outline.writes(callee.id, self._outline.function))
        return inner if inner.is_generator and not is_bound else None

    def _gives_nothing_else(self, call: ast.Call, place: int) -> bool:
        """Whether nothing of the function's own, that could be filled, is given along with the stream."""
        given = _other_arguments(call, place)
        names = {node.id for item in given for node in ast.walk(item) if isinstance(node, ast.Name)}
        own = {argument.arg for argument in all_arguments(self._outline.function)} - {"self"}
        return not any(name in own or self._outline.writes(name, self._outline.function) for name in names)

    def _gives_function(self, call: ast.Call, place: int) -> bool:
        """Whether what gets the stream may call something of the function's own, or of its object, with each tensor."""
        return any(
            isinstance(node, ast.Lambda)
            or (isinstance(node, (ast.Name, ast.Attribute)) and self._is_function(node))
            for item in _other_arguments(call, place)
            for node in ast.walk(item)
        )

    def _is_function(self, node: ast.Name | ast.Attribute) -> bool:
        if isinstance(node, ast.Name):
            found = self._project.find(self._function.index.named(node.id))
            return bool(self._outline.inner(node.id)) or isinstance(found, Function)
        around, owner = self._outline.parent(node), self._function.owner
        if isinstance(around, ast.Call) and around.func is node:
            return False
        is_own = isinstance(node.value, ast.Name) and node.value.id == "self" and owner is not None
        return is_container_method(node.attr) or (is_own and bool(self._project.methods(owner, node.attr)))

    # Loops

    def _is_plain_loop(self, loop: ast.For) -> bool:
        """Whether a loop over pairs runs whenever its function does, and keeps no tensor."""
        target = loop.target
        names = target.elts if isinstance(target, ast.Tuple) else []
        if len(names) != 2 or not all(isinstance(name, ast.Name) for name in names):
            return False
        in_step = InStep(self._function, self._outline, self._project)
        return self._is_always_run(loop) and in_step.stays(names[1].id, loop)  # type: ignore[attr-defined]

    def _is_always_run(self, statement: ast.stmt) -> bool:
        scope = self._outline.scope(statement)
        return isinstance(scope, ast.FunctionDef) and statement in _always_run(scope)

    # Callees

    def _callees(self, call: ast.Call) -> list[Function]:
        """The functions or methods of the project that may be called, where the statements around tell."""
        index, owner = self._function.index, self._function.owner
        if isinstance(call.func, ast.Name):
            if self._outline.rebinds(call.func.id):
                return []
            found = self._project.find(index.named(call.func.id))
            return [found] if isinstance(found, Function) else []
        if not isinstance(call.func, ast.Attribute):
            return []
        receiver, name = call.func.value, call.func.attr
        if is_super(receiver):
            method = None if owner is None else self._project.inherited_method(owner, owner, name)
        elif isinstance(receiver, ast.Name) and receiver.id == "self":
            return [] if owner is None else self._project.methods(owner, name)
        else:
            cls = self._class_of(receiver)
            method = None if cls is None else self._project.method(cls, name)
        return [] if method is None else [method]

    def _visits_own(self, callee: Function) -> bool:
        """Whether an inherited method calls methods that the class of the function has made its own."""
        owner, above = self._function.owner, callee.owner
        if owner is None or above is None or above is owner or above not in self._project.lineage(owner):
            return False
        called = set(_OWN_METHOD.findall(callee.index.source_of(callee))) - {callee.node.name}
        method = self._project.method
        return any(method(owner, name) is not method(above, name) for name in called)

    def _class_of(self, receiver: ast.expr) -> Class | None:
        """The class of an object that is made on the spot, or by the only statement that sets the variable."""
        if isinstance(receiver, ast.Name):
            writes = self._outline.writes(receiver.id, self._outline.function)
            made = self._outline.statement(writes[0]) if len(writes) == 1 else None
            receiver = made.value if isinstance(made, ast.Assign) and made.targets == writes else receiver
        if not isinstance(receiver, ast.Call):
            return None
        found = self._project.find(self._function.index.qualified(receiver.func))
        return found if isinstance(found, Class) else None


def _other_arguments(call: ast.Call, place: int) -> list[ast.expr]:
    return [*call.args[:place], *call.args[place + 1 :], *(keyword.value for keyword in call.keywords)]


def _always_run(function: ast.FunctionDef) -> Iterator[ast.stmt]:
    """The statements that each call runs which does not fail, up to the first that may leave the function."""
    todo = list(reversed(function.body))
    while todo:
        statement = todo.pop()
        yield statement
        if isinstance(statement, ast.With):
            todo += reversed(statement.body)
        elif not isinstance(statement, ast.FunctionDef):
            if any(isinstance(node, ast.Return) for node in ast.walk(statement)):
                return
