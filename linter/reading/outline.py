"""What stands around each name of a function: one walk, for questions that need no more than the syntax tree."""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Iterator

_COMPREHENSIONS = (ast.GeneratorExp, ast.ListComp, ast.SetComp, ast.DictComp)
_OWN_SCOPE = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda, ast.ClassDef, *_COMPREHENSIONS)


class Outline:
    """The parents of all nodes in `function`, and its variables by name, in order of the source."""

    def __init__(self, function: ast.FunctionDef) -> None:
        self.function = function
        self._parents: dict[ast.AST, ast.AST] = {}
        self._names: dict[str, list[ast.Name]] = defaultdict(list)
        self._definitions: dict[str, list[ast.AST]] = defaultdict(list)
        # The variables that functions inside take from around them, to bind them.
        self.declared: set[str] = set()
        self._walk(function)

    def _walk(self, root: ast.AST) -> None:
        parents, todo = self._parents, [root]
        while todo:
            node = todo.pop()
            if type(node) is ast.Name:
                self._names[node.id].append(node)
                continue
            if type(node) in (ast.Global, ast.Nonlocal):
                self.declared.update(node.names)  # type: ignore[attr-defined]
            if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)) and node is not root:
                self._definitions[node.name].append(node)
            for field in node._fields:
                value = getattr(node, field, None)
                if type(value) is list:
                    children = [item for item in value if isinstance(item, ast.AST)]
                elif isinstance(value, ast.AST):
                    children = [value]
                else:
                    continue
                for child in children:
                    parents[child] = node
                todo += children
        for found in self._names.values():
            found.sort(key=lambda name: (name.lineno, name.col_offset))

    def parent(self, node: ast.AST) -> ast.AST:
        """What directly holds `node`, which is not the function itself."""
        return self._parents[node]

    def above(self, node: ast.AST) -> Iterator[ast.AST]:
        """What holds `node`, innermost first, up to the function."""
        while node is not self.function:
            node = self._parents[node]
            yield node

    def scope(self, node: ast.AST) -> ast.AST:
        """The function, class or comprehension that `node` is evaluated in."""
        return next(self._scopes(node))

    def _scopes(self, node: ast.AST) -> Iterator[ast.AST]:
        """The scopes around `node`, innermost first. Defaults, decorators and what a comprehension iterates first are
        evaluated outside of what they belong to.
        """
        below = [node]
        for around in self.above(node):
            if isinstance(around, _OWN_SCOPE) and (around is self.function or not _is_outside(below, around)):
                yield around
            below.append(around)

    def statement(self, node: ast.AST) -> ast.stmt:
        """The statement that an expression is part of."""
        return next(one for one in self.above(node) if isinstance(one, ast.stmt))

    def reads(self, name: str, scope: ast.AST) -> list[ast.Name]:
        """Where the variable of that name which belongs to `scope` is read, in there or in what is inside it."""
        found = (node for node in self._names.get(name, ()) if isinstance(node.ctx, ast.Load))
        return [node for node in found if self._belongs_to(node) is scope]

    def writes(self, name: str, scope: ast.AST) -> list[ast.Name]:
        """Where the variable is bound or deleted."""
        found = (node for node in self._names.get(name, ()) if not isinstance(node.ctx, ast.Load))
        return [node for node in found if self.scope(node) is scope]

    def rebinds(self, name: str) -> bool:
        """Whether a name means something of the function's own: a variable, a parameter or a function inside."""
        return self._binds(self.function, name) or bool(self.inner(name))

    def is_own(self, name: ast.Name) -> bool:
        """Whether a name stands for something that the function, or one inside it, binds or defines."""
        return self._belongs_to(name) is not None or bool(self._definitions[name.id])

    def inner(self, name: str) -> list[ast.AST]:
        """The functions and classes of that name that are defined directly in the function."""
        return [node for node in self._definitions[name] if self.scope(node) is self.function]

    def _belongs_to(self, name: ast.Name) -> ast.AST | None:
        """The scope of a variable: the innermost around that binds it."""
        return next((one for one in self._scopes(name) if self._binds(one, name.id)), None)

    def _binds(self, scope: ast.AST, name: str) -> bool:
        if isinstance(scope, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)):
            if any(argument.arg == name for argument in all_arguments(scope)):
                return True
        return bool(self.writes(name, scope))

    def is_in_body(self, node: ast.AST, statement: ast.AST) -> bool:
        """Whether `node` is in the body of a loop or function: not in its header, nor behind `else`."""
        while node is not self.function and self._parents[node] is not statement:
            node = self._parents[node]
        return node is not self.function and node in statement.body  # type: ignore[attr-defined]

    def follows(self, node: ast.AST, statement: ast.AST) -> bool:
        """Whether `node` is reached only after `statement`: behind it in its block, at any depth; of a loop, which may
        not run at all, in its body.
        """
        if isinstance(statement, ast.For):
            return self.is_in_body(node, statement)
        around = self._parents[statement]
        while node is not self.function and self._parents[node] is not around:
            node = self._parents[node]
        blocks = (getattr(around, field, None) for field in ("body", "orelse", "finalbody"))
        block = next((one for one in blocks if isinstance(one, list) and statement in one), [])
        return node in block and block.index(statement) < block.index(node)


def _is_outside(below: list[ast.AST], scope: ast.AST) -> bool:
    """Whether the last of `below`, a part of `scope` that holds the ones before it, is evaluated outside of it."""
    if isinstance(scope, _COMPREHENSIONS):
        first = scope.generators[0]
        return below[-1] is first and len(below) > 1 and below[-2] is first.iter
    if isinstance(scope, ast.Lambda):
        return below[-1] is scope.args
    return below[-1] not in scope.body  # type: ignore[attr-defined]


def all_arguments(function: ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda) -> Iterator[ast.arg]:
    """All parameters, those with stars too."""
    arguments = function.args
    yield from (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs)
    yield from (item for item in (arguments.vararg, arguments.kwarg) if item is not None)
