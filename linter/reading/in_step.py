"""Tensors that are only handed on, or looked at, before the next one comes: told by the syntax tree."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from loaderlint.linter.reading.index import Function
from loaderlint.linter.reading.outline import Outline, all_arguments

if TYPE_CHECKING:
    from loaderlint.linter.reading.project import Project

# What a tensor says of itself.
_METADATA = ("shape", "dtype", "device", "ndim", "is_meta", "is_cuda", "is_sparse")
_CONTAINERS = (list, dict, set)


def is_plain_loader(function: Function, project: Project) -> bool:
    """Whether a weight loader only hands on, or looks at, the tensors that it is lent."""
    in_step = InStep(function, Outline(function.node), project)
    return bool(function.lent) and all(in_step.stays(tensor, function.node) for tensor in function.lent)


class InStep:
    """Judges what becomes of lent tensors in `function`, or in a function inside it: see `stays`."""

    def __init__(self, function: Function, outline: Outline, project: Project) -> None:
        self._function = function
        self._outline = outline
        self._project = project
        self._contracts = function.index.contracts
        # Whoever copies has a reason to be looked at: was it needed, is it waited for?
        contracts = self._contracts
        self._copying = {*contracts.copy_if_true.values(), *contracts.background_if_true.values()}

    def stays(self, tensor: str, step: ast.For | ast.FunctionDef) -> bool:
        """Whether the variable `tensor`, bound by `step`, holds no tensor of one step in the next, and hands none on
        but to weight loaders, and to those who are given what `step` yields.

        `step` is a loop over a stream that binds it, or the function that it is a parameter of.
        """
        scope = step if isinstance(step, ast.FunctionDef) else self._outline.scope(step)
        todo, known = [tensor], {tensor}
        while todo:
            name = todo.pop()
            writes = [self._outline.statement(node) for node in self._outline.writes(name, scope)]
            bound = [one for one in writes if not isinstance(one, ast.Delete) and not _says_only_type(one)]
            # A variable of another function, or memory of the stream that is written in place.
            if name in self._outline.declared or any(isinstance(write, ast.AugAssign) for write in writes):
                return False
            for use in self._outline.reads(name, scope):
                # What was bound before the loop says nothing of the step that a tensor is of.
                fresh = name == tensor or any(
                    self._outline.follows(use, write)
                    for write in bound
                    if self._outline.is_in_body(write, step)
                )
                here = self._outline.scope(use) is scope and self._outline.is_in_body(use, step)
                aliases = self._aliases(use) if here and fresh else None
                if aliases is None:
                    return False
                todo += aliases - known
                known |= aliases
        return True

    def _aliases(self, use: ast.expr) -> set[str] | None:
        """The variables that a tensor, or what is made of it, is put into; None where it may be kept."""
        node: ast.AST = use
        while True:
            around = self._outline.parent(node)
            if isinstance(around, (ast.Compare, ast.FormattedValue)) or self._is_asked(around):
                return set()
            outer = self._made_of(node, around)
            if outer is None:
                return self._end(node, around)
            node = outer

    def _is_asked(self, around: ast.AST) -> bool:
        """Whether an attribute of a tensor, or the method that is called there, only tells of the tensor."""
        if not isinstance(around, ast.Attribute):
            return False
        return around.attr in _METADATA or self._contracts.tensor_methods.get(around.attr) == "metadata"

    def _made_of(self, node: ast.AST, around: ast.AST) -> ast.AST | None:
        """The expression `around` a tensor that is one again: a view or a result; None for anything else."""
        if isinstance(around, (ast.BinOp, ast.UnaryOp)):
            return around
        if isinstance(around, ast.Subscript):
            return around if around.value is node and isinstance(around.ctx, ast.Load) else None
        if isinstance(around, ast.Attribute):
            call = self._outline.parent(around)
            if isinstance(call, ast.Call) and call.func is around:
                return call if self._gives_tensor(around.attr, call) else None
            return around if self._contracts.tensor_attributes.get(around.attr) == "view" else None
        return around if isinstance(around, ast.Call) and self._is_library_call(node, around) else None

    def _gives_tensor(self, method: str, call: ast.Call) -> bool:
        if any(keyword.arg in self._copying for keyword in call.keywords):
            return False
        changes = self._contracts.tensor_methods.get(method) in ("copy", "mutate")
        return not changes and self._contracts.tensor_results.get(method) != "other"

    def _is_library_call(self, node: ast.AST, call: ast.Call) -> bool:
        """Whether a function of torch is given the tensor that gives a result, or a view."""
        name = self._function.index.qualified(call.func)
        if name.partition(".")[0] not in self._contracts.modules or name in self._contracts.owners:
            return False
        kind = self._contracts.functions.get(name)
        function = name.rpartition(".")[2].islower() and not name.endswith("_")
        plain = not any(keyword.arg in ("out", *self._copying) for keyword in call.keywords)
        return node in call.args and function and plain and kind in (None, "view", "conditional_copy")

    def _end(self, node: ast.AST, around: ast.AST) -> set[str] | None:
        """What becomes of a tensor in the end: the variables that it is put into; None where it may be kept."""
        if isinstance(around, ast.keyword):
            return set() if self._is_read_by(self._outline.parent(around)) else None
        if isinstance(around, ast.Call):
            return set() if node in around.args and self._is_read_by(around) else None
        if isinstance(around, ast.For):
            return self._bound([around.target]) if around.iter is node else None
        if isinstance(around, ast.Assign):
            if all(
                isinstance(target, ast.Subscript) and self._is_memory(target) for target in around.targets
            ):
                return set()  # Copied into the memory of a parameter.
            return self._bound(around.targets)
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

    def _is_memory(self, node: ast.expr, depth: int = 4) -> bool:
        """Whether an expression is a part of what some `.data` is, by the statements of the function."""
        while isinstance(node, (ast.Subscript, ast.Attribute)):
            if isinstance(node, ast.Attribute) and node.attr == "data":
                # An object's own attribute of that name may be anything.
                return not (isinstance(node.value, ast.Name) and node.value.id == "self")
            node = node.value
        if not isinstance(node, ast.Name) or not depth:
            return False
        bound = [
            self._outline.parent(target)
            for target in self._outline.writes(node.id, self._outline.scope(node))
        ]
        values = [one.value for one in bound if isinstance(one, ast.Assign)]
        return (
            bool(values)
            and len(values) == len(bound)
            and all(self._is_memory(it, depth - 1) for it in values)
        )

    def _is_yielded(self, node: ast.AST) -> bool:
        """Whether it is the tensor of a pair that is yielded: with the next step of the stream, the reader's is over."""
        pair = self._outline.parent(node)
        return (
            isinstance(pair, ast.Tuple)
            and len(pair.elts) == 2
            and pair.elts[1] is node
            and isinstance(self._outline.parent(pair), ast.Yield)
        )

    # Callees

    def _is_read_by(self, call: ast.AST) -> bool:
        """Whether a call reads its tensors at once: `copy_`, or a weight loader that is judged where it is defined."""
        if not isinstance(call, ast.Call):
            return False
        callee, loaders = call.func, self._contracts.loader_attributes
        if isinstance(callee, ast.Attribute):
            return self._is_reading_method(callee, call)
        if not isinstance(callee, ast.Name):
            return False
        if self._outline.rebinds(callee.id):
            return callee.id in loaders and self._holds_loader(callee.id)
        found = self._project.find(self._function.index.named(callee.id))
        if isinstance(found, Function):
            return bool(found.lent)
        return found is None and callee.id in loaders

    def _holds_loader(self, name: str) -> bool:
        """Whether a variable holds what a parameter's attribute of a weight loader's name is, or what a caller gives."""
        outer = self._outline.function
        inner = self._function.index.functions.get(f"{self._function.qualname}.{name}")
        if self._outline.inner(name):
            return inner is not None and bool(inner.lent) and not self._outline.writes(name, outer)
        bound = [self._outline.parent(target) for target in self._outline.writes(name, outer)]
        return all(isinstance(one, ast.Assign) and self._is_loader(one.value) for one in bound)

    def _is_loader(self, value: ast.expr) -> bool:
        """`param.weight_loader`, `getattr(param, "weight_loader", default_weight_loader)`, and the same of another type."""
        loaders = self._contracts.loader_attributes
        if isinstance(value, ast.Attribute):
            return value.attr in loaders
        if isinstance(value, ast.Name):
            found = self._project.find(self._function.index.named(value.id))
            return value.id in loaders or (isinstance(found, Function) and bool(found.lent))
        if not isinstance(value, ast.Call) or value.keywords or len(value.args) < 2:
            return isinstance(value, ast.Constant) and value.value is None
        name = self._function.index.qualified(value.func).rpartition(".")[2]
        if name == "getattr":
            _, asked, *default = value.args
            known = isinstance(asked, ast.Constant) and asked.value in loaders
            return known and all(map(self._is_loader, default))
        return name == "cast" and self._is_loader(value.args[1])

    def _is_reading_method(self, callee: ast.Attribute, call: ast.Call) -> bool:
        owner, name, receiver = self._function.owner, callee.attr, callee.value
        if name == "copy_":
            return not call.keywords and len(call.args) == 1
        if is_super(receiver):
            method = None if owner is None else self._project.inherited_method(owner, owner, name)
            return method is not None and bool(method.lent)
        if isinstance(receiver, ast.Name) and receiver.id == "self":
            methods = [] if owner is None else self._project.methods(owner, name)
            return bool(methods) and all(method.lent for method in methods)
        return name in self._contracts.loader_attributes or self._is_unknown(receiver, name)

    def _is_unknown(self, receiver: ast.expr, method: str) -> bool:
        """Whether nothing is known of what is called: a method of a parameter, with a name that says nothing."""
        named = method in self._contracts.methods or is_container_method(method)
        parameters = {argument.arg for argument in all_arguments(self._outline.function)} - {"self", "cls"}
        given = isinstance(receiver, ast.Name) and receiver.id in parameters
        return given and not named and not self._outline.writes(receiver.id, self._outline.function)  # type: ignore[attr-defined]


def _says_only_type(statement: ast.stmt) -> bool:
    """`part: torch.Tensor`, which binds nothing."""
    return isinstance(statement, ast.AnnAssign) and statement.value is None


def is_container_method(name: str) -> bool:
    """Whether lists, dicts or sets have a method of that name."""
    return any(hasattr(kind, name) for kind in _CONTAINERS)


def is_super(node: ast.expr) -> bool:
    """`super()`, with or without arguments."""
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "super"
