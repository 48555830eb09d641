"""The analysed project as a whole: definitions across files, found when a call leads to them."""

from __future__ import annotations

import ast
import os
from collections import Counter
from collections.abc import Iterable, Iterator

from loaderlint.linter.contracts import Contracts
from loaderlint.linter.reading.index import Class, FileIndex, Function
from loaderlint.linter.reading.makers import Maker
from loaderlint.linter.reading.modules import locate
from loaderlint.linter.reading.slices import FunctionSlice
from loaderlint.linter.reading.source import SourceError, SourceFile, read_source

# How many re-exports a name may pass through, and how many classes lie above one.
_MAX_HOPS = 8


class Project:
    """Looks definitions up by qualified name. Files are read and indexed at the first question, once."""

    def __init__(self, contracts: Contracts) -> None:
        self._contracts = contracts
        self._indices: dict[str, FileIndex | None] = {}
        self._roots: dict[str, None] = {}
        self.named: set[str] = set()
        self._sources: dict[str, SourceFile] = {}
        self._modules: dict[str, FileIndex] = {}
        self._properties: dict[Class, frozenset[str]] = {}
        self._makers: tuple[int, frozenset[str]] = (0, frozenset())

    def add(self, source: SourceFile) -> FileIndex:
        """Index a file that was named for the check. Raises `SourceError` for what is not Python."""
        self.named.add(source.path)
        return self._add(source)

    def _add(self, source: SourceFile) -> FileIndex:
        index = FileIndex(source.path, source.tree(), source.lines, self._contracts)
        self._indices[os.path.realpath(source.path)] = index
        self._roots.setdefault(index.module.root)
        self._sources[source.path] = source
        self._modules[index.module.name] = index
        return index

    def _index(self, file: str) -> FileIndex | None:
        key = os.path.realpath(file)
        if key not in self._indices:
            try:
                shown = os.path.relpath(file)
                self._add(read_source(file if shown.startswith("..") else shown))
            except (SourceError, OSError):
                self._indices[key] = None
        return self._indices[key]

    @property
    def stream_makers(self) -> frozenset[str]:
        """The names of all functions, of the files read so far, that call a producer."""
        if self._makers[0] != len(self._indices):
            known = (index.stream_makers for index in self._indices.values() if index is not None)
            self._makers = (len(self._indices), frozenset().union(*known))
        return self._makers[1]

    def unique(self, functions: Iterable[Function]) -> list[Function]:
        """Those of the functions whose name no other function of the files read so far has."""
        known = (index for index in self._indices.values() if index is not None)
        count = Counter(function.node.name for index in known for function in index.functions.values())
        return [function for function in functions if count[function.node.name] == 1]

    def source(self, path: str) -> SourceFile | None:
        """The file of that path, as it was read for the analysis."""
        return self._sources.get(path)

    def paths(self) -> list[str]:
        """The files that were read for the analysis."""
        return list(self._sources)

    def functions_beside(self, unit: FunctionSlice) -> dict[str, ast.FunctionDef]:
        """The functions of the file that a slice is from, by qualified name."""
        index = self._indices.get(os.path.realpath(unit.path))
        return {} if index is None else {name: function.node for name, function in index.functions.items()}

    def find(self, qualified: str) -> Function | Class | None:
        """The function or class of that name, through re-exports; None for what is not of the project."""
        for _ in range(_MAX_HOPS):
            index, inside = self._place(qualified)
            if index is None or not inside:
                return None
            found = index.functions.get(inside) or index.classes.get(inside)
            if found is not None:
                return found
            first, _, rest = inside.partition(".")
            if first in index.classes:
                return self.method(index.classes[first], rest)
            target = index.imports.get(first)
            if target is None or target == qualified:
                return None
            qualified = f"{target}.{rest}" if rest else target
        return None

    def _place(self, qualified: str) -> tuple[FileIndex | None, str]:
        """The module that a qualified name begins with, and the rest of the name."""
        known, inside = self._known_place(qualified)
        if known is not None and "." not in inside:
            return known, inside
        # A package that is known may have a module that is not, and that the name leads to.
        place = locate(qualified, tuple(self._roots))
        if place is not None and (known is None or len(place[1]) < len(inside)):
            return self._index(place[0]), place[1]
        return known, inside

    def _known_place(self, qualified: str) -> tuple[FileIndex | None, str]:
        """The same among the modules that are read already: also a file that is not on the disk as it is checked."""
        module, inside = qualified, ""
        while module and module not in self._modules:
            module, _, last = module.rpartition(".")
            inside = f"{last}.{inside}" if inside else last
        return self._modules.get(module), inside

    def method(self, owner: Class, name: str) -> Function | None:
        """The method that `owner` has or inherits."""
        for cls in self.lineage(owner):
            found = cls.index.functions.get(f"{cls.qualname}.{name}")
            if found is not None:
                return found
        return None

    def properties(self, owner: Class) -> frozenset[str]:
        """The names of the properties that `owner` has or inherits."""
        if owner not in self._properties:
            found = (name for cls in self.lineage(owner) for name in cls.index.properties(cls))
            self._properties[owner] = frozenset(found)
        return self._properties[owner]

    def inherited_method(self, owner: Class, name: str) -> Function | None:
        """The method that `super().name` calls in a method of `owner`."""
        above = list(self.lineage(owner))[1:]
        found = (cls.index.functions.get(f"{cls.qualname}.{name}") for cls in above)
        return next((function for function in found if function is not None), None)

    def fields(self, owner: Class) -> list[str]:
        """The annotated fields of a dataclass or named tuple, those of the classes above it first."""
        names: dict[str, None] = {}
        for cls in reversed(list(self.lineage(owner))):
            names.update(dict.fromkeys(cls.index.annotated_fields(cls)))
        return list(names)

    def attribute(self, owner: Class, name: str) -> Maker | None:
        """What makes an attribute of the objects of a class, as it or one above it says."""
        found = (cls.index.attributes(cls).get(name) for cls in self.lineage(owner))
        return next((made for made in found if made is not None), None)

    def lineage(self, owner: Class) -> Iterator[Class]:
        """The class and those above it, depth first: near enough to Python's order of methods."""
        todo, seen = [owner], set[tuple[str, str]]()
        while todo and len(seen) < 8 * _MAX_HOPS:
            cls = todo.pop()
            key = (cls.index.path, cls.qualname)
            if key in seen:
                continue
            seen.add(key)
            yield cls
            bases = [self.find(name) for name in cls.index.base_names(cls)]
            todo += [base for base in reversed(bases) if isinstance(base, Class)]
