"""What a module, or a class in it, certainly does not define. Where a name could be made at run time, nothing is."""

from __future__ import annotations

import ast
import os
from collections.abc import Iterable, Iterator

from loaderlint.linter.reading.source import SourceError, read_source

# Names by which a module, or whoever imports it, can define others as it runs.
_DYNAMIC = frozenset({"globals", "vars", "exec", "setattr"})
_SCOPES = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)


def missing_name(file: str, inside: str) -> tuple[str, str, list[str]] | None:
    """The part of a qualified name that is not there: (where, the part, what there is instead).

    `file` is the module that the name leads to, `inside` the rest of it: `Reader.tensors`. None if all is there, or if
    nobody can tell.
    """
    try:
        module = read_source(file).tree()
    except SourceError:
        return None
    first, _, rest = inside.partition(".")
    if _is_dynamic(module):
        return None
    names = set(_bound(module.body)) | _global_names(module)
    if first not in names:
        return None if _lies_beside(file, first) else ("", first, sorted(names))
    method = rest.partition(".")[0]
    classes = [node for node in module.body if isinstance(node, ast.ClassDef) and node.name == first]
    if not method or len(classes) != 1 or list(_bound(module.body)).count(first) != 1:
        return None
    return _missing_in_class(classes[0], method)


def _missing_in_class(cls: ast.ClassDef, name: str) -> tuple[str, str, list[str]] | None:
    if cls.bases or cls.keywords or cls.decorator_list:
        return None
    names = set(_bound(cls.body))
    names |= {node.attr for node in ast.walk(cls) if isinstance(node, ast.Attribute)}
    return None if name in names else (cls.name, name, sorted(names))


def _is_dynamic(module: ast.Module) -> bool:
    return any(
        (isinstance(node, ast.Name) and node.id in _DYNAMIC)
        or (isinstance(node, ast.Attribute) and node.attr == "__dict__")
        or (isinstance(node, ast.FunctionDef) and node.name == "__getattr__")
        or (isinstance(node, ast.ImportFrom) and any(alias.name == "*" for alias in node.names))
        for node in ast.walk(module)
    )


def _lies_beside(file: str, name: str) -> bool:
    """Whether a package has something of that name that is no Python source: a compiled module, a bare folder."""
    if os.path.basename(file) != "__init__.py":
        return False
    return any(entry.partition(".")[0] == name for entry in os.listdir(os.path.dirname(file)))


def _global_names(module: ast.Module) -> set[str]:
    return {name for node in ast.walk(module) if isinstance(node, ast.Global) for name in node.names}


def _bound(body: Iterable[ast.AST]) -> Iterator[str]:
    """Every name that these statements bind in their own scope, once for each time."""
    todo = list(body)
    while todo:
        node = todo.pop()
        if isinstance(node, _SCOPES):
            yield node.name
            continue
        if isinstance(node, ast.alias):
            yield (node.asname or node.name).partition(".")[0]
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            yield node.id
        elif isinstance(node, (ast.MatchAs, ast.MatchStar)) and node.name:
            yield node.name
        todo += ast.iter_child_nodes(node)
