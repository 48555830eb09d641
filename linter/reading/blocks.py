"""Walking `ast` trees by statement: a tenth of the nodes, where expressions do not matter."""

from __future__ import annotations

import ast
from collections.abc import Iterator

_BLOCKS = ("body", "orelse", "finalbody", "handlers", "cases")


def statements(parent: ast.AST) -> Iterator[ast.AST]:
    """The statements directly inside `parent`; handlers and cases count as such."""
    for name in _BLOCKS:
        block = getattr(parent, name, ())
        if isinstance(block, list):
            yield from block


def all_statements(parent: ast.AST) -> Iterator[ast.AST]:
    """The statements inside `parent` at any depth, in the order of the source, those of inner functions too."""
    todo = [*statements(parent)][::-1]
    while todo:
        node = todo.pop()
        yield node
        todo += [*statements(node)][::-1]
