"""What a value is made from, name by name: enough to tell a module's own tensors from saved ones."""

from __future__ import annotations

import ast

from loaderlint.linter.reloading.nodes import Definition, bindings, body_nodes, bound_names

_PUTS = ("append", "add", "extend", "update", "insert")


class Origins:
    """Follows names through the assignments and loops of one function."""

    def __init__(self, function: Definition) -> None:
        self._values: dict[str, list[ast.expr]] = {}
        self._loops: list[ast.For | ast.AsyncFor] = []
        for node in body_nodes(function):
            if isinstance(node, (ast.For, ast.AsyncFor)):
                self._loops.append(node)
            if not isinstance(node, ast.comprehension):
                for target, value in bindings(node):
                    for name in bound_names(target):
                        self._values.setdefault(name, []).append(value)
            if isinstance(node, ast.Call):
                self._put(node)

    def _put(self, call: ast.Call) -> None:
        """A collection is made from what is put into it, too."""
        if (
            isinstance(call.func, ast.Attribute)
            and call.func.attr in _PUTS
            and isinstance(call.func.value, ast.Name)
        ):
            self._values.setdefault(call.func.value.id, []).extend(call.args)

    def of(self, expression: ast.expr) -> set[str]:
        """The names that an expression is made from, its own and those behind them; `self.kept` is one, too."""
        found: set[str] = set()
        seen: set[int] = set()
        todo = [expression]
        while todo:
            one = todo.pop()
            if id(one) in seen:
                continue
            seen.add(id(one))
            inside = {
                name
                for node in ast.walk(one)
                if isinstance(node, ast.comprehension)
                for name in bound_names(node.target)
            }
            for node in ast.walk(one):
                if isinstance(node, ast.Name) and node.id not in inside:
                    found.add(node.id)
                    todo.extend(self._behind(node))
                elif isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
                    found.add(f"{node.value.id}.{node.attr}")
        return found

    def _behind(self, name: ast.Name) -> list[ast.expr]:
        """What the name is taken from: by the innermost loop around it that binds it, or anywhere."""
        around = [
            loop.iter
            for loop in self._loops
            if loop.lineno <= name.lineno <= loop.end_lineno and name.id in bound_names(loop.target)
        ]
        return around[-1:] or self._values.get(name.id, [])
