"""What a file defines and imports, from the standard library's `ast`: cheap, and nothing is judged here."""

from __future__ import annotations

import ast
import builtins
from collections.abc import Iterator, Set
from dataclasses import dataclass, replace
from functools import cached_property

from loaderlint.linter.contracts import Contracts
from loaderlint.linter.reading.blocks import statements
from loaderlint.linter.reading.makers import Maker, attributes_of, maker
from loaderlint.linter.reading.modules import Module, module_of
from loaderlint.linter.reading.slices import FunctionSlice
from loaderlint.linter.reading.streams import Element, stream_parameters

_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)


@dataclass(frozen=True, slots=True, eq=False)
class Class:
    """A `class` of the file."""

    index: FileIndex
    qualname: str
    node: ast.ClassDef


@dataclass(frozen=True, slots=True, eq=False)
class Function:
    """A `def` of the file. `owner` is its class, if it is a method; `outer` the function around it, if any."""

    index: FileIndex
    qualname: str
    node: ast.FunctionDef
    owner: Class | None
    outer: Function | None
    streams: dict[str, Element]

    @property
    def is_static(self) -> bool:
        """Whether a method is called without its object."""
        return self._is_decorated("staticmethod")

    @property
    def is_for_class(self) -> bool:
        """Whether a method gets its class as the first argument."""
        return self._is_decorated("classmethod")

    @property
    def is_property(self) -> bool:
        """Whether the function runs where the attribute of its name is read."""
        return self._is_decorated("property") or self._is_decorated("cached_property")

    @property
    def accessor(self) -> str:
        """"setter" or "deleter" for what a property runs where its attribute is set or deleted, else ""."""
        kinds = [kind for kind in ("setter", "deleter") if self._is_decorated(kind)]
        return kinds[0] if kinds else ""

    @property
    def lent(self) -> frozenset[str]:
        """The parameters that are lent until the function returns, if it has the shape of a weight loader."""
        arguments = self.node.args
        names = {item.arg for item in (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs)}
        contracts = self.index.contracts
        shape = contracts.loader_parameters
        is_loader = bool(shape) and not self.streams and shape <= names
        return contracts.loader_tensors & names if is_loader else frozenset()

    @property
    def is_generator(self) -> bool:
        """Whether its own body yields."""
        todo: list[ast.AST] = list(self.node.body)
        while todo:
            node = todo.pop()
            if isinstance(node, (ast.Yield, ast.YieldFrom)):
                return True
            if not isinstance(node, (*_FUNCTIONS, ast.Lambda, ast.ClassDef)):
                todo += ast.iter_child_nodes(node)
        return False

    @property
    def makes_stream(self) -> bool:
        """Whether the function calls a producer."""
        return self.index.calls_producer(self)

    def _is_decorated(self, name: str) -> bool:
        decorators = self.node.decorator_list
        return any(
            (isinstance(item, ast.Name) and item.id == name)
            or (isinstance(item, ast.Attribute) and item.attr == name)
            for item in decorators
        )


class FileIndex:
    """Functions, classes and imports of one file. `lines` are the file's lines with their ends."""

    def __init__(self, path: str, tree: ast.Module, lines: list[str], contracts: Contracts) -> None:
        self.path = path
        self.module = module_of(path)
        self._lines = lines
        self.contracts = contracts
        self._slices: dict[str, FunctionSlice] = {}
        self.functions: dict[str, Function] = {}
        self.classes: dict[str, Class] = {}
        self.globals: dict[str, ast.expr] = {}
        self.imports: dict[str, str] = {}
        self.packages: set[str] = set()
        self._named: dict[str, str] = {}
        self._attributes: dict[str, dict[str, Maker]] = {}
        self._collect(tree)

    def _collect(self, tree: ast.Module) -> None:
        """One walk over statements; expressions hold no definitions that matter here."""
        todo: list[tuple[ast.AST, str, Class | None, Function | None]] = [(tree, "", None, None)]
        while todo:
            parent, prefix, owner, outer = todo.pop()
            for node in statements(parent):
                if isinstance(node, ast.ClassDef):
                    cls = self.classes[prefix + node.name] = Class(self, prefix + node.name, node)
                    todo.append((node, f"{cls.qualname}.", cls, outer))
                elif isinstance(node, _FUNCTIONS):
                    function = self._function(node, prefix, owner, outer)
                    if function.accessor:
                        # Beside the getter, which has the same name.
                        function = replace(function, qualname=f"{function.qualname}.{function.accessor}")
                    self.functions[function.qualname] = function
                    todo.append((node, f"{function.qualname}.", None, function))
                elif isinstance(node, (ast.Import, ast.ImportFrom)):
                    names = dict(imported_names(node, self.module))
                    self.packages.update(target.partition(".")[0] for target in names.values())
                    self._named.update(names)
                    if outer is None:
                        self.imports.update(names)
                elif isinstance(node, (ast.Assign, ast.AnnAssign)) and parent is tree:
                    self._global(node)
                elif not isinstance(node, ast.expr):
                    todo.append((node, prefix, owner, outer))

    def _function(
        self, node: ast.FunctionDef, prefix: str, owner: Class | None, outer: Function | None
    ) -> Function:
        return Function(self, prefix + node.name, node, owner, outer, stream_parameters(node, self.globals))

    def _global(self, node: ast.Assign | ast.AnnAssign) -> None:
        targets = node.targets if isinstance(node, ast.Assign) else [node.target]
        for target in targets:
            if isinstance(target, ast.Name) and node.value is not None:
                self.globals[target.id] = node.value

    def candidates(self, stream_makers: Set[str] = frozenset()) -> Iterator[Function]:
        """The functions that handle a stream of their own: a parameter, or a producer that they call.

        `stream_makers` are names of functions of the project that call a producer.
        """
        makers = self.stream_makers | (stream_makers & self.imports.keys())
        for function in self.functions.values():
            if (
                function.streams
                or function in self._around_loaders
                or function.lent
                or self.calls_producer(function)
                or self._calls(function, makers)
                or self._installs_loader(function)
            ):
                yield function

    @cached_property
    def _around_loaders(self) -> set[Function]:
        """The functions inside which a weight loader is defined: it captures what they hold."""
        around: set[Function] = set()
        for function in self.functions.values():
            outer = function.outer if function.lent else None
            while outer is not None:
                around.add(outer)
                outer = outer.outer
        return around

    def _installs_loader(self, function: Function) -> bool:
        """Whether the function gives a parameter a weight loader of its own."""
        lines = self._lines[function.node.lineno - 1 : function.node.end_lineno]
        attributes = self.contracts.loader_attributes
        return any(f".{attribute} = " in line for attribute in attributes for line in lines)

    @cached_property
    def stream_makers(self) -> set[str]:
        """Names of the file's functions that call a producer, and so may hand out its stream."""
        return {function.node.name for function in self.functions.values() if self.calls_producer(function)}

    def calls_producer(self, function: Function) -> bool:
        """Whether the function itself calls something that makes a stream."""
        return self._calls(function, self._producer_names)

    def _calls(self, function: Function, names: Set[str]) -> bool:
        if not names:
            return False
        text = "".join(self._lines[function.node.lineno - 1 : function.node.end_lineno])
        if not any(name in text for name in names):
            return False
        return any(
            isinstance(node, ast.Call) and _called_name(node) in names for node in ast.walk(function.node)
        )

    @cached_property
    def _producer_names(self) -> set[str]:
        """Last names of the producers that the file's imports can reach, and its own names for them."""
        calls = self.contracts.lending_calls
        lending = frozenset(calls)
        reached = {
            call.rpartition(".")[2]
            for call in calls
            if call.partition(".")[0] in self.packages or call.rpartition(".")[2] in self.imports
        }
        own = {name for name, target in self._named.items() if target in lending}
        return reached | own | self.contracts.named("methods", "produce")

    def slice(self, function: Function) -> FunctionSlice:
        """The function's source lines, its decorators first."""
        known = self._slices.get(function.qualname)
        if known is None or known.first_line != self._first_line(function):
            first = self._first_line(function)
            source = "".join(self._lines[first - 1 : function.node.end_lineno])
            known = FunctionSlice(self.path, function.qualname, first, source)
            self._slices[function.qualname] = known
        return known

    @staticmethod
    def _first_line(function: Function) -> int:
        return min([function.node.lineno, *(item.lineno for item in function.node.decorator_list)])

    def properties(self, cls: Class) -> list[str]:
        """The names of the properties that a class defines."""
        names = [node.name for node in cls.node.body if isinstance(node, _FUNCTIONS)]
        return [name for name in names if self.functions[f"{cls.qualname}.{name}"].is_property]

    def annotated_fields(self, cls: Class) -> list[str]:
        """The names that a class body annotates, in order."""
        return [_name(node.target) for node in cls.node.body if isinstance(node, ast.AnnAssign)]

    def base_names(self, cls: Class) -> list[str]:
        """The qualified names of the classes that `cls` derives from."""
        return [name for base in cls.node.bases if (name := self.qualified(base))]

    def qualified(self, node: ast.expr) -> str:
        """The qualified name that a dotted expression leads to; "" for any other expression."""
        parts: list[str] = []
        while isinstance(node, (ast.Attribute, ast.Subscript)):
            if isinstance(node, ast.Attribute):
                parts.append(node.attr)
            node = node.value
        if not isinstance(node, ast.Name):
            return ""
        return ".".join([self.named(node.id), *reversed(parts)])

    def named(self, name: str) -> str:
        """The qualified name of a plain name, as the file's own scope has it."""
        if name in self.imports:
            return self.imports[name]
        own = name in self.functions or name in self.classes or name in self.globals
        if own or not hasattr(builtins, name):
            return f"{self.module.name}.{name}"
        return f"builtins.{name}"

    def attributes(self, cls: Class) -> dict[str, Maker]:
        """What makes the attributes that a class sets, where its statements tell."""
        known = self._attributes.get(cls.qualname)
        if known is None:
            known = self._attributes[cls.qualname] = attributes_of(cls.node, self.qualified)
        return known

    def global_maker(self, name: str) -> Maker | None:
        """What makes a global variable's value, where its statement tells."""
        return maker(self.globals.get(name), self.qualified)


def imported_names(node: ast.Import | ast.ImportFrom, module: Module) -> Iterator[tuple[str, str]]:
    """(local name, qualified name) for everything that an import statement of `module` binds."""
    for alias in node.names:
        if isinstance(node, ast.ImportFrom):
            source = module.absolute(node.level, node.module or "")
            yield alias.asname or alias.name, f"{source}.{alias.name}"
        elif alias.asname:
            yield alias.asname, alias.name
        else:
            top = alias.name.partition(".")[0]
            yield top, top


def _called_name(call: ast.Call) -> str:
    return call.func.attr if isinstance(call.func, ast.Attribute) else _name(call.func)


def _name(node: ast.expr) -> str:
    return node.id if isinstance(node, ast.Name) else ""
