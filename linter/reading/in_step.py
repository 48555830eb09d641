"""Tensors that are only handed on, or looked at, before the next one comes: told by the syntax tree."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from loaderlint.linter.reading.index import Function
from loaderlint.linter.reading.outline import Outline

if TYPE_CHECKING:
    from loaderlint.linter.reading.project import Project

# What a tensor says of itself.
_METADATA = ("shape", "dtype", "device", "ndim")
# Whoever copies has a reason to look at: was it needed, does it wait?
_COPIES = ("clone", "repeat", "tile", "copy", "numpy", "share_memory_", "untyped_storage", "storage", "set_")


class InStep:
    """Judges what becomes of lent tensors in `function`, or in a function inside it: see `stays`."""

    def __init__(self, function: Function, outline: Outline, project: Project) -> None:
        self._function = function
        self._outline = outline
        self._project = project
        self._contracts = function.index.contracts

    def stays(self, tensor: str, step: ast.AST) -> bool:
        """Whether the variable `tensor`, bound by `step`, holds no tensor of one step in the next, and hands none on
        to anything but weight loaders, or those who are given what `step` yields.

        `step` is a loop over a stream that binds it, or the function that it is a parameter of.
        """
        scope = step if isinstance(step, ast.FunctionDef) else self._outline.scope(step)
        todo, known = [tensor], {tensor}
        while todo:
            name = todo.pop()
            writes = [self._outline.statement(node) for node in self._outline.writes(name, scope)]
            if any(isinstance(write, ast.AugAssign) for write in writes):
                return False  # Written in place, in memory that is the stream's.
            for use in self._outline.reads(name, scope):
                fresh = name == tensor or any(self._outline.follows(use, write) for write in writes)
                here = self._outline.scope(use) is scope and self._outline.is_in_body(use, step)
                aliases = self._aliases(use) if here and fresh else None
                if aliases is None:
                    return False
                todo += aliases - known
                known |= aliases
        return True

    def _aliases(self, use: ast.expr) -> set[str] | None:
        """The variables that a tensor, or a view of it, is put into where it is used; None where it may be kept."""
        node: ast.AST = use
        while True:
            around = self._outline.parent(node)
            if isinstance(around, (ast.Compare, ast.FormattedValue)):
                return set()
            if isinstance(around, ast.Attribute):
                if around.attr in _METADATA:
                    return set()
                call = self._outline.parent(around)
                if isinstance(call, ast.Call) and call.func is around:
                    kind = self._contracts.tensor_methods.get(around.attr)
                    if kind == "metadata":
                        return set()
                    if around.attr in _COPIES or kind == "mutate":
                        return None
                    node = call
                elif self._contracts.tensor_attributes.get(around.attr) == "view":
                    node = around
                else:
                    return None
            elif isinstance(around, ast.Subscript) and around.value is node and isinstance(around.ctx, ast.Load):
                node = around
            elif isinstance(around, (ast.BinOp, ast.UnaryOp)):
                node = around
            elif isinstance(around, ast.keyword):
                node, call = around, self._outline.parent(around)
                return set() if self._is_read_by(call) else None
            elif isinstance(around, ast.Call):
                return set() if node in around.args and self._is_read_by(around) else None
            elif isinstance(around, ast.Assign):
                return self._bound(around.targets)
            elif isinstance(around, ast.For) and around.iter is node:
                return self._bound([around.target])
            else:
                return set() if self._is_yielded(node) else None

    def _bound(self, targets: list[ast.expr]) -> set[str] | None:
        """The variables that are bound; None if anything else is."""
        names: set[str] = set()
        for target in targets:
            parts = target.elts if isinstance(target, ast.Tuple) else [target]
            if not all(isinstance(part, ast.Name) for part in parts):
                return None
            names |= {part.id for part in parts if isinstance(part, ast.Name)}
        return names

    def _is_yielded(self, node: ast.AST) -> bool:
        """Whether it is the tensor of a pair that is yielded: with the next step of the stream, the reader's is over."""
        pair = self._outline.parent(node)
        return (
            isinstance(pair, ast.Tuple)
            and len(pair.elts) == 2
            and pair.elts[1] is node
            and isinstance(self._outline.parent(pair), ast.Yield)
        )

    def _is_read_by(self, call: ast.AST) -> bool:
        """Whether a call reads its tensors at once: `copy_`, or a weight loader that is judged where it is defined."""
        if not isinstance(call, ast.Call):
            return False
        callee, loaders = call.func, self._contracts.loader_attributes
        if isinstance(callee, ast.Attribute):
            if callee.attr == "copy_":
                return not call.keywords and len(call.args) == 1
            return callee.attr in loaders and not (isinstance(callee.value, ast.Name) and callee.value.id == "self")
        if not isinstance(callee, ast.Name):
            return False
        found = self._project.find(self._function.index.named(callee.id))
        if isinstance(found, Function):
            return bool(found.lent)
        return found is None and callee.id in loaders
