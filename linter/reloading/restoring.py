"""Parameters and buffers that are registered again from what was saved, over attributes that may still be there.

`register_parameter` and `register_buffer` raise where the module has a plain attribute of that name. Deleting what
is registered now does not delete such an attribute, which post-processing may have left in a parameter's place.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from loaderlint.linter.reloading.nodes import Definition, body_nodes, last_name, parameters
from loaderlint.linter.reloading.origins import Origins

_REGISTER = ("register_parameter", "register_buffer")
_TABLES = ("_parameters", "_buffers")
_BUILDERS = {"list", "dict", "set", "sorted", "tuple", "enumerate", "zip"}
_EVERYTHING = {"__dict__", "vars", "dir"}


@dataclass(frozen=True, slots=True)
class Restoring:
    """`at` registers a name on `module` that was saved before; `removed` only removes what is registered now."""

    at: ast.Call
    removed: ast.AST
    module: str


def restored_over(function: Definition, helpers: Mapping[str, Definition]) -> Iterator[Restoring]:
    """The first such registration of each module in `function`; `helpers` are functions that it may call."""
    found: dict[str, Restoring] = {}
    body = _Body(function, helpers)
    for call in body.registrations:
        module = ast.unparse(call.func.value)
        removed = body.removed_before(call, module)
        if removed is not None and module not in found and not body.is_safe(call, module):
            found[module] = Restoring(call, removed, module)
    yield from found.values()


class _Body:
    def __init__(self, function: Definition, helpers: Mapping[str, Definition]) -> None:
        self._nodes = list(body_nodes(function))
        self._helpers = helpers
        self._origins = Origins(function)
        self._loops = [node for node in self._nodes if isinstance(node, ast.For)]
        calls = [node for node in self._nodes if isinstance(node, ast.Call)]
        self.registrations = [
            call
            for call in calls
            if isinstance(call.func, ast.Attribute)
            and call.func.attr in _REGISTER
            and call.args
            and isinstance(call.args[0], ast.Name)
        ]

    def removed_before(self, call: ast.Call, module: str) -> ast.AST | None:
        """What removes from `module` what is registered now, before the registration; None for nothing."""
        for node in self._nodes:
            before = getattr(node, "lineno", call.lineno) < call.lineno
            if before and self._removes_registered(node, call.args[0].id, module):
                return node
        return None

    def _removes_registered(self, node: ast.AST, name: str, module: str) -> bool:
        if isinstance(node, ast.For):
            return self._walks_registered(node, module) and _deletes(node, module)
        if isinstance(node, ast.Delete):
            return any(
                isinstance(target, ast.Subscript) and _is_table(target.value, module)
                for target in node.targets
            )
        if not isinstance(node, ast.Call):
            return False
        if isinstance(node.func, ast.Attribute) and node.func.attr in ("pop", "clear"):
            same = not node.args or ast.unparse(node.args[0]) == name
            return same and _is_table(node.func.value, module)
        return self._calls_helper(node, module)

    def _walks_registered(self, loop: ast.For, module: str) -> bool:
        """`for name in tensors_of(layer)`: the loop runs over what the module itself has."""
        return module.partition(".")[0] in self._origins.of(loop.iter) and not _sees_everything(loop.iter)

    def _calls_helper(self, call: ast.Call, module: str) -> bool:
        helper = self._helpers.get(last_name(call.func))
        if helper is None:
            return False
        names = [name for name in parameters(helper) if name not in ("self", "cls")]
        given = dict(zip(names, (ast.unparse(item) for item in call.args), strict=False))
        inner = next((name for name, value in given.items() if value == module), None)
        if inner is None:
            return False
        body = _Body(helper, {})
        return any(body._walks_registered(loop, inner) and _deletes(loop, inner) for loop in body._loops)

    def is_safe(self, call: ast.Call, module: str) -> bool:
        """Whether something removes a plain attribute too, or the name is one that is registered now."""
        name = call.args[0].id
        saved = self._origins.of(call.args[0]) - _BUILDERS
        if module.partition(".")[0] in saved:
            return True
        # The same name may stand for others in another loop: what counts is where both come from.
        behind = saved - {name} or saved
        for node in self._nodes:
            handled = _handled_name(node, module)
            if handled is not None and self._origins.of(handled) & behind:
                return True
        loops = (loop for loop in self._loops if _deletes(loop, module))
        return any(behind & self._origins.of(loop.iter) for loop in loops)


def _deletes(loop: ast.For, module: str) -> bool:
    """Whether the loop deletes attributes of the module, or entries of its tables, one by one."""
    for node in ast.walk(loop):
        if isinstance(node, ast.Call) and last_name(node.func) in ("delattr", "__delattr__"):
            receiver = node.args[0] if len(node.args) == 2 else getattr(node.func, "value", None)
            if receiver is not None and ast.unparse(receiver) == module:
                return True
        if isinstance(node, ast.Delete):
            tables = (target.value for target in node.targets if isinstance(target, ast.Subscript))
            if any(_is_table(table, module) for table in tables):
                return True
    return False


def _is_table(node: ast.expr, module: str) -> bool:
    return isinstance(node, ast.Attribute) and node.attr in _TABLES and ast.unparse(node.value) == module


def _sees_everything(node: ast.expr) -> bool:
    """`vars(layer)`, `layer.__dict__`: plain attributes are among them."""
    return any(
        (isinstance(item, ast.Attribute) and item.attr in _EVERYTHING)
        or (isinstance(item, ast.Name) and item.id in _EVERYTHING)
        for item in ast.walk(node)
    )


def _handled_name(node: ast.AST, module: str) -> ast.expr | None:
    """The name of an attribute that the code looks for, or removes, whether it is registered or not."""
    if not isinstance(node, ast.Call) or not node.args:
        return None
    called = last_name(node.func)
    if called in ("hasattr", "delattr", "__delattr__"):
        on_module = called == "__delattr__" or ast.unparse(node.args[0]) == module
        return node.args[-1] if on_module else None
    everything = isinstance(node.func, ast.Attribute) and _sees_everything(node.func.value)
    return node.args[0] if called == "pop" and everything else None
