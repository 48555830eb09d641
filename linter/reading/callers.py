"""Who calls a function, and whether any of them could give it a weight stream.

A parameter that is annotated as an iterable of (name, tensor) pairs says little where the whole project passes it the
parameters of a module, or a list: then nothing is lent to it.
"""

from __future__ import annotations

import ast
import os
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass, field
from functools import cached_property

from loaderlint.linter.reading.discover import discover
from loaderlint.linter.reading.index import Function
from loaderlint.linter.reading.modules import module_of
from loaderlint.linter.reading.source import SourceError, read_bytes, source_from_bytes

_DISPLAYS = (ast.List, ast.Tuple, ast.Set, ast.Dict, ast.ListComp, ast.SetComp, ast.DictComp, ast.Constant)
_COLLECTIONS = {"list", "tuple", "dict", "sorted", "set"}
_SCOPES = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Module)
_TEST_FOLDERS = {"test", "tests"}
_MAX_STEPS = 6  # So many assignments and calls are followed from an argument to what it is.


@dataclass
class _Use:
    """One mention of a function's name: the call, or None for any other use, in the scopes around it."""

    call: ast.Call | None
    scopes: tuple[ast.AST, ...]


@dataclass
class Callers:
    """The calls of the functions that are asked for, in `files`, or else in the packages that these are part of.

    `functions` share no names. `owned_by` are names of methods whose results are no streams. Files are read when the
    first question comes, and only those that mention one of the names are parsed.
    """

    functions: Collection[Function]
    owned_by: frozenset[str]
    files: Collection[str] = ()
    _uses: dict[str, list[_Use]] = field(default_factory=dict)
    _definitions: dict[str, list[ast.AST]] = field(default_factory=dict)

    def give_no_stream(self, function: Function) -> bool:
        """Whether the function is called, and by nobody with what could be a weight stream; tests do not count."""
        found = self._found.get(function.node.name, [])
        definitions = self._definitions.get(function.node.name, [])
        # What it hands on under its own name, to the parts of a model say, is no caller's argument.
        uses = [use for use in found if definitions[0] not in use.scopes] if len(definitions) == 1 else []
        return bool(uses) and all(use.call is not None and self._is_owned_call(function, use) for use in uses)

    @cached_property
    def _found(self) -> dict[str, list[_Use]]:
        names = {function.node.name for function in self.functions}
        folders = {_package_folder(function) for function in self.functions}
        for file in self.files or discover(sorted(folders)).files:
            self._read(file, names)
        return self._uses

    def _read(self, file: str, names: set[str]) -> None:
        try:
            data = read_bytes(file)
            if not any(name.encode() in data for name in names) or _is_test(file):
                return
            tree = source_from_bytes(file, data).tree()
        except SourceError:
            return
        for node, scopes in _with_scopes(tree):
            if isinstance(node, _SCOPES[:2]) and node.name in names:
                self._definitions.setdefault(node.name, []).append(node)
            elif isinstance(node, ast.Call) and _name(node.func) in names:
                self._uses.setdefault(_name(node.func), []).append(_Use(node, scopes))
            elif isinstance(node, (ast.Name, ast.Attribute)) and _name(node) in names:
                self._uses.setdefault(_name(node), []).append(_Use(None, scopes))

    def _is_owned_call(self, function: Function, use: _Use) -> bool:
        given = _arguments(function, use.call)  # type: ignore[arg-type]
        return given is not None and all(
            parameter not in given or self._is_owned(given[parameter], use.scopes, _MAX_STEPS)
            for parameter in function.streams
        )

    def _is_owned(self, value: ast.expr, scopes: tuple[ast.AST, ...], steps: int) -> bool:
        """Whether a value cannot be a weight stream: a collection, or the tensors of a module."""
        if steps == 0:
            return False
        if isinstance(value, _DISPLAYS):
            return True
        if isinstance(value, ast.IfExp):
            return all(self._is_owned(part, scopes, steps - 1) for part in (value.body, value.orelse))
        if isinstance(value, ast.GeneratorExp):
            return self._is_owned(value.generators[0].iter, scopes, steps - 1)
        if isinstance(value, ast.Call):
            return self._is_owned_result(value, scopes, steps - 1)
        if isinstance(value, ast.Name):
            sources = list(_assigned(value.id, scopes))
            return bool(sources) and all(
                source is not None and self._is_owned(source, scopes, steps - 1) for source in sources
            )
        return False

    def _is_owned_result(self, call: ast.Call, scopes: tuple[ast.AST, ...], steps: int) -> bool:
        name = _name(call.func)
        if isinstance(call.func, ast.Attribute):
            return name in self.owned_by
        if name in _COLLECTIONS:
            return True
        local = [node for scope in scopes for node in _own_nodes(scope) if _is_function(node, name)]
        if len(local) != 1 or any(
            isinstance(node, (ast.Yield, ast.YieldFrom)) for node in _own_nodes(local[0])
        ):
            return False
        results = [node.value for node in _own_nodes(local[0]) if isinstance(node, ast.Return)]
        return bool(results) and all(
            result is not None and self._is_owned(result, (local[0], *scopes), steps) for result in results
        )


def _package_folder(function: Function) -> str:
    """The folder of the package that a function is part of, or its file where there is none."""
    module = function.index.module
    top = os.path.join(module.root, module.name.partition(".")[0])
    return os.path.relpath(top) if os.path.isdir(top) else function.index.path


def _is_test(file: str) -> bool:
    """Whether a file is one of tests, by its own name or by folders of its package: what lies above is no matter."""
    module = module_of(file)
    folders = {os.path.basename(os.path.dirname(os.path.abspath(file))), *module.name.split(".")[:-1]}
    name = os.path.basename(file)
    return name.startswith("test_") or name == "conftest.py" or not _TEST_FOLDERS.isdisjoint(folders)


def _with_scopes(tree: ast.Module) -> Iterator[tuple[ast.AST, tuple[ast.AST, ...]]]:
    """Every node but the name of a call that comes itself, with the functions around it, innermost first."""
    todo: list[tuple[ast.AST, tuple[ast.AST, ...]]] = [(tree, ())]
    while todo:
        node, scopes = todo.pop()
        yield node, scopes
        inner = (node, *scopes) if isinstance(node, _SCOPES) else scopes
        for child in ast.iter_child_nodes(node):
            called = isinstance(node, ast.Call) and child is node.func
            below = [child] if not called else list(ast.iter_child_nodes(child))
            todo += [(part, inner) for part in below]


def _arguments(function: Function, call: ast.Call) -> dict[str, ast.expr] | None:
    """What a call passes by parameter; None where stars hide it."""
    if any(isinstance(argument, ast.Starred) for argument in call.args):
        return None
    if any(keyword.arg is None for keyword in call.keywords):
        return None
    arguments = function.node.args
    names = [argument.arg for argument in (*arguments.posonlyargs, *arguments.args)]
    bound = function.owner is not None and not function.is_static and isinstance(call.func, ast.Attribute)
    given = dict(zip(names[1:] if bound else names, call.args, strict=False))
    given.update((keyword.arg, keyword.value) for keyword in call.keywords if keyword.arg is not None)
    return given


def _assigned(name: str, scopes: Iterable[ast.AST]) -> Iterator[ast.expr | None]:
    """What a variable is assigned in the innermost scope that does so; None for what cannot be said."""
    for scope in scopes:
        found = list(_assigned_in(name, scope))
        if found:
            yield from found
            return


def _assigned_in(name: str, scope: ast.AST) -> Iterator[ast.expr | None]:
    if isinstance(scope, _SCOPES[:2]) and any(argument.arg == name for argument in _parameters(scope)):
        yield None
    for node in _own_nodes(scope):
        if isinstance(node, ast.Assign) and any(_binds(target, name) for target in node.targets):
            yield node.value if any(_name(target) == name for target in node.targets) else None
        elif isinstance(node, (ast.AnnAssign, ast.NamedExpr)) and _name(node.target) == name and node.value:
            yield node.value
        elif isinstance(node, (ast.For, ast.AsyncFor)) and _binds(node.target, name):
            # A value of a mapping is a collection at most: iterators are not kept in mappings.
            yield node.iter if isinstance(node.iter, ast.Call) and _name(node.iter.func) == "items" else None
        elif isinstance(node, ast.withitem) and node.optional_vars and _binds(node.optional_vars, name):
            yield None


def _parameters(function: ast.AST) -> Iterator[ast.arg]:
    return (node for node in ast.walk(function.args) if isinstance(node, ast.arg))  # type: ignore[attr-defined]


def _own_nodes(scope: ast.AST) -> Iterator[ast.AST]:
    """What a scope consists of, without what is inside the functions and classes in it."""
    todo = list(ast.iter_child_nodes(scope))
    while todo:
        node = todo.pop()
        yield node
        if not isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Lambda)):
            todo += ast.iter_child_nodes(node)


def _is_function(node: ast.AST, name: str) -> bool:
    return isinstance(node, ast.FunctionDef) and node.name == name


def _binds(target: ast.expr, name: str) -> bool:
    return any(isinstance(node, ast.Name) and node.id == name for node in ast.walk(target))


def _name(node: ast.AST) -> str:
    return node.attr if isinstance(node, ast.Attribute) else node.id if isinstance(node, ast.Name) else ""
