"""What a file defines and imports, from the standard library's `ast`: cheap, and nothing is judged here."""

from __future__ import annotations

import ast
import builtins
import re
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import accumulate

from loaderlint.linter.contracts import Contracts
from loaderlint.linter.reading.blocks import all_statements, has_blocks, statements
from loaderlint.linter.reading.makers import Maker, attributes_of, maker
from loaderlint.linter.reading.modules import Module, module_of
from loaderlint.linter.reading.slices import FunctionSlice
from loaderlint.linter.reading.source import SourceFile
from loaderlint.linter.reading.streams import Element, alias_element, stream_parameters

_HOOK = r"self\.\w+\((?!\))"
_WORD = re.compile(r"\w+")
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
        """ "setter" or "deleter" for what a property runs where its attribute is set or deleted, else ""."""
        kinds = [kind for kind in ("setter", "deleter") if self._is_decorated(kind)]
        return kinds[0] if kinds else ""

    @property
    def lent(self) -> frozenset[str]:
        """The parameters that are lent until the function returns, if it has the shape of a weight loader."""
        if not self.index.may_define_loaders:
            return frozenset()
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
    def makes_functions(self) -> bool:
        """Whether it returns a function that is made in it: a lambda, or one that is defined there."""
        inner = {node.name for node in all_statements(self.node) if isinstance(node, _FUNCTIONS)}
        results = (node.value for node in all_statements(self.node) if isinstance(node, ast.Return))
        return any(
            isinstance(result, ast.Lambda) or (isinstance(result, ast.Name) and result.id in inner)
            for result in results
        )

    @property
    def calls_hooks(self) -> bool:
        """Whether a method gives something to methods of its own object, which a subclass may define."""
        return self.index.has_line(self, self.index.lines_with(_HOOK))

    def _is_decorated(self, name: str) -> bool:
        decorators = self.node.decorator_list
        return any(
            (isinstance(item, ast.Name) and item.id == name)
            or (isinstance(item, ast.Attribute) and item.attr == name)
            for item in decorators
        )


class FileIndex:
    """Functions, classes and imports of one file."""

    def __init__(self, source: SourceFile, contracts: Contracts) -> None:
        """Raises `SourceError` for what is not Python."""
        self.path = source.path
        self.module = module_of(source.path)
        self.text = source.text
        self._lines = source.lines
        self.contracts = contracts
        self._slices: dict[str, FunctionSlice] = {}
        self._matches: dict[str, list[int]] = {}
        self._mentioned: dict[str, bool] = {}
        self.functions: dict[str, Function] = {}
        self.classes: dict[str, Class] = {}
        self.globals: dict[str, ast.expr] = {}
        # What the module imports; the same with what its functions import; the modules that it takes all names from.
        self.imports: dict[str, str] = {}
        self.imported: dict[str, str] = {}
        self.stars: list[str] = []
        # The last names of all that is imported.
        self.doors: set[str] = set()
        self.packages: set[str] = set()
        self._attributes: dict[str, dict[str, Maker]] = {}
        self._collect(source.tree())
        # Only now: names of types may be defined, or imported, below what uses them.
        for function in self.functions.values():
            if self._may_take_streams(function):
                function.streams.update(stream_parameters(function.node, self.type_names))

    def _may_take_streams(self, function: Function) -> bool:
        """A first look at the words of a header: most functions take nothing of the kind."""
        header = "".join(self._lines[function.node.lineno - 1 : function.node.body[0].lineno])
        if any(hint in header for hint in ("Iter", "Generator", "weight", "tensors")):
            return True
        return not self.type_names.keys().isdisjoint(_WORD.findall(header))

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
                    self._import(node, outer is None)
                elif isinstance(node, (ast.Assign, ast.AnnAssign)) and parent is tree:
                    self._global(node)
                elif type(node).__name__ == "TypeAlias":  # `type X = ...`, from Python 3.12 on.
                    self.globals[node.name.id] = node.value
                elif has_blocks(node):
                    todo.append((node, prefix, owner, outer))

    def _import(self, node: ast.Import | ast.ImportFrom, for_module: bool) -> None:
        names = dict(imported_names(node, self.module))
        self.packages.update(target.partition(".")[0] for target in names.values())
        self.doors.update(alias.name.rpartition(".")[2] for alias in node.names)
        star = names.pop("*", "")
        if star:
            self.stars.append(star.removesuffix(".*"))
        self.imported.update(names)
        if for_module:
            self.imports.update(names)

    def _function(
        self, node: ast.FunctionDef, prefix: str, owner: Class | None, outer: Function | None
    ) -> Function:
        return Function(self, prefix + node.name, node, owner, outer, {})

    def _global(self, node: ast.Assign | ast.AnnAssign) -> None:
        targets = node.targets if isinstance(node, ast.Assign) else [node.target]
        for target in targets:
            if isinstance(target, ast.Name) and node.value is not None:
                self.globals[target.id] = node.value

    def text_of(self, name: str) -> str:
        """The text that a global name is set to; "" for anything else."""
        value = self.globals.get(name)
        return value.value if isinstance(value, ast.Constant) and isinstance(value.value, str) else ""

    @cached_property
    def type_names(self) -> dict[str, ast.expr]:
        """What the file's own names may stand for in annotations: its globals, and imports under another name."""
        last_names = {local: target.rpartition(".")[2] for local, target in self.imported.items()}
        renamed = {local: ast.Name(last) for local, last in last_names.items() if local != last}
        return {**renamed, **self.globals}

    @cached_property
    def stream_types(self) -> dict[str, Element]:
        """The file's names for types of streams, and the shape of their items."""
        elements = {name: alias_element(name, self.type_names) for name in self.globals}
        return {name: element for name, element in elements.items() if element is not None}

    def learn_types(self, element_of: Callable[[str], Element | None]) -> None:
        """Look again for streams among the parameters, by types of other files: `element_of` a qualified name."""
        for function in self.functions.values():
            arguments = function.node.args
            for argument in (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs):
                if argument.arg not in function.streams:
                    elements = {element_of(name) for name in self._type_names_in(argument.annotation)} - {
                        None
                    }
                    if len(elements) == 1:
                        function.streams[argument.arg] = elements.pop()  # type: ignore[assignment]

    def _type_names_in(self, annotation: ast.expr | None) -> Iterator[str]:
        """The qualified names that an annotation mentions, behind quotes too."""
        if isinstance(annotation, ast.Constant) and isinstance(annotation.value, str):
            try:
                annotation = ast.parse(annotation.value.strip(), mode="eval").body
            except (SyntaxError, ValueError):
                return
        for node in ast.walk(annotation) if annotation is not None else ():
            if isinstance(node, (ast.Name, ast.Attribute)):
                yield self.qualified(node)

    @cached_property
    def may_define_loaders(self) -> bool:
        """Whether the file mentions all that the parameters of a weight loader are called."""
        return all(name in self.text for name in self.contracts.loader_parameters)

    def mentions(self, text: str) -> bool:
        """Whether the file has that text anywhere."""
        if text not in self._mentioned:
            self._mentioned[text] = text in self.text
        return self._mentioned[text]

    def source_of(self, function: Function) -> str:
        """The function's source, without its decorators."""
        return "".join(self._lines[function.node.lineno - 1 : function.node.end_lineno])

    def has_line(self, function: Function, numbers: Sequence[int]) -> bool:
        """Whether one of these lines, given in order, is one of the function's."""
        if not numbers:
            return False
        place = bisect_left(numbers, function.node.lineno)
        return place < len(numbers) and numbers[place] <= (function.node.end_lineno or 0)

    def lines_with(self, pattern: str) -> list[int]:
        """The numbers of the lines in which a match of a regular expression begins, in order."""
        if pattern not in self._matches:
            found = (match.start() for match in re.finditer(pattern, self.text))
            self._matches[pattern] = [bisect_right(self._starts, start) for start in found]
        return self._matches[pattern]

    @cached_property
    def _starts(self) -> list[int]:
        """The offset in the text at which each line begins."""
        return [0, *accumulate(len(line) for line in self._lines)]

    @cached_property
    def producers(self) -> set[str]:
        """The functions of libraries that make streams, by the names under which the file calls them."""
        calls = self.contracts.lending_calls
        last_names = {call.rpartition(".")[2] for call in calls}
        reached = {call.rpartition(".")[2] for call in calls if call.partition(".")[0] in self.packages}
        own = {name for name, target in self.imported.items() if target.rpartition(".")[2] in last_names}
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
        if not own:
            known = (f"{module}.{name}" for module in self.stars)
            starred = next((full for full in known if full in self.contracts.known_names), "")
            if starred:
                return starred
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


def _name(node: ast.expr) -> str:
    return node.id if isinstance(node, ast.Name) else ""
