"""Walking `ast` trees by statement: a tenth of the nodes, where expressions do not matter."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import cache

_BLOCKS = ("body", "orelse", "finalbody", "handlers", "cases")


@cache
def _blocks(kind: type[ast.AST]) -> tuple[str, ...]:
    """The fields of a node type that hold statements: expressions have none, whatever their fields are called."""
    holds_none = issubclass(kind, ast.expr)
    return () if holds_none else tuple(name for name in _BLOCKS if name in kind._fields)


def has_blocks(node: ast.AST) -> bool:
    """Whether there may be statements inside `node`."""
    return bool(_blocks(type(node)))


def statements(parent: ast.AST) -> list[ast.AST]:
    """The statements directly inside `parent`; handlers and cases count as such."""
    return [node for name in _blocks(type(parent)) for node in getattr(parent, name)]


def all_statements(parent: ast.AST) -> Iterator[ast.AST]:
    """The statements inside `parent` at any depth, in the order of the source, those of inner functions too."""
    todo = statements(parent)[::-1]
    while todo:
        node = todo.pop()
        yield node
        todo += statements(node)[::-1]
