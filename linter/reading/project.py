"""The analysed project as a whole: definitions across files, found when a call leads to them."""

from __future__ import annotations

import ast
import os
from collections import Counter
from collections.abc import Collection, Iterable, Iterator
from functools import cached_property
from itertools import islice

from loaderlint.linter.contracts import Contracts
from loaderlint.linter.reading.exports import Exports, known_place
from loaderlint.linter.reading.index import Class, FileIndex, Function
from loaderlint.linter.reading.makers import Maker
from loaderlint.linter.reading.modules import locate
from loaderlint.linter.reading.sieve import Sieve
from loaderlint.linter.reading.slices import FunctionSlice
from loaderlint.linter.reading.source import SourceError, SourceFile, read_bytes, read_source

# How many re-exports a name may pass through, and how many classes lie above one.
_MAX_HOPS = 8


class Project:
    """Looks definitions up by qualified name. Files are read and indexed at the first question, once."""

    def __init__(self, contracts: Contracts, files: Collection[str] = ()) -> None:
        self._contracts = contracts
        # Those that are looked at anyway.
        self._files = files
        self._sieve = Sieve(contracts)
        self._indices: dict[str, FileIndex | None] = {}
        self._roots: dict[str, None] = {}
        self.named: set[str] = set()
        self._sources: dict[str, SourceFile] = {}
        self._modules: dict[str, FileIndex] = {}
        self.exports = Exports(self._indices, self._modules)
        # Files that were looked at because something of them is imported, and whether they may make streams.
        self._may_make: dict[str, bool] = {}
        self._properties: dict[Class, frozenset[str]] = {}
        self._lineages: dict[Class, tuple[Class, ...]] = {}
        self._bases: tuple[int, dict[str, list[Class]]] = (0, {})
        # The modules whose star imports are being followed: they may lead in a circle.
        self._asked: list[FileIndex] = []

    def add(self, source: SourceFile) -> FileIndex:
        """Index a file that was named for the check. Raises `SourceError` for what is not Python."""
        self.named.add(source.path)
        return self._add(source)

    def _add(self, source: SourceFile) -> FileIndex:
        index = FileIndex(source, self._contracts)
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

    def follow_imports(self) -> None:
        """Read the files that those read so far import, if they may make streams: where not all files are looked at."""
        targets: dict[str, None] = {}
        for index in filter(None, self._indices.values()):
            targets.update(dict.fromkeys([*index.imported.values(), *index.stars]))
        for target in targets:
            self._follow(target)

    def _follow(self, target: str) -> None:
        """Read the file behind an imported name, and behind the package that only hands the name on."""
        for _ in range(_MAX_HOPS):
            place = locate(target, tuple(self._roots))
            if place is None or os.path.abspath(place[0]) in self._covered:
                return
            file, inside = place
            is_package = os.path.basename(file) == "__init__.py"
            index = self._index(file) if is_package or self._is_worth_reading(file) else None
            if index is None or not inside or not is_package:
                return
            target = index.imports.get(inside.partition(".")[0], "")

    @cached_property
    def _covered(self) -> frozenset[str]:
        return frozenset(map(os.path.abspath, self._files))

    def _is_worth_reading(self, file: str) -> bool:
        """Whether a file may make streams, by its bytes: each is looked at once, however many names are imported."""
        if file not in self._may_make:
            try:
                self._may_make[file] = self._sieve.may_handle_weights(read_bytes(file))
            except SourceError:
                self._may_make[file] = False
        return self._may_make[file]

    def unique(self, functions: Iterable[Function]) -> list[Function]:
        """Those of the functions whose name no other function of the files read so far has."""
        asked = list(functions)
        names = {function.node.name for function in asked}
        known = (index for index in self._indices.values() if index is not None)
        found = (qualname.rpartition(".")[2] for index in known for qualname in index.functions)
        count = Counter(name for name in found if name in names)
        return [function for function in asked if count[function.node.name] == 1]

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
            if target is None:
                return self._starred(index, inside)
            if target == qualified:
                return None
            qualified = f"{target}.{rest}" if rest else target
        return None

    def text(self, qualified: str) -> str:
        """The text that a module's constant of that name holds, through re-exports; "" for anything else."""
        for _ in range(_MAX_HOPS):
            index, inside = self._place(qualified)
            text = "" if index is None else index.text_of(inside)
            if text or index is None or inside not in index.imports:
                return text
            qualified = index.imports[inside]
        return ""

    def _starred(self, index: FileIndex, inside: str) -> Function | Class | None:
        """The same where a module takes over all names of others."""
        if index in self._asked:
            return None
        self._asked.append(index)
        found = (self.find(f"{module}.{inside}") for module in index.stars)
        result = next((one for one in found if one is not None), None)
        self._asked.remove(index)
        return result

    def _place(self, qualified: str) -> tuple[FileIndex | None, str]:
        """The module that a qualified name begins with, and the rest of the name."""
        known, inside = known_place(qualified, self._modules)
        if known is not None and "." not in inside:
            return known, inside
        # A package that is known may have a module that is not, and that the name leads to.
        place = locate(qualified, tuple(self._roots))
        if place is not None and (known is None or len(place[1]) < len(inside)):
            return self._index(place[0]), place[1]
        return known, inside

    def method(self, owner: Class, name: str) -> Function | None:
        """The method that `owner` has or inherits."""
        for cls in self.lineage(owner):
            found = cls.index.functions.get(f"{cls.qualname}.{name}")
            if found is not None:
                return found
        return None

    def methods(self, owner: Class, name: str) -> list[Function]:
        """What `self.name` may be in a method of `owner`: its own or inherited method, and those of classes below."""
        found = (self.method(cls, name) for cls in (owner, *self.subclasses(owner)))
        return list(dict.fromkeys(method for method in found if method is not None))

    def properties(self, owner: Class) -> frozenset[str]:
        """The names of the properties that `owner` has or inherits."""
        if owner not in self._properties:
            found = (name for cls in self.lineage(owner) for name in cls.index.properties(cls))
            self._properties[owner] = frozenset(found)
        return self._properties[owner]

    def inherited_method(self, cls: Class, owner: Class, name: str) -> Function | None:
        """The method that `super().name` calls in a method of `owner`, on an object of `cls`."""
        line = self.lineage(cls)
        above = line[line.index(owner) + 1 :] if owner in line else self.lineage(owner)[1:]
        found = (one.index.functions.get(f"{one.qualname}.{name}") for one in above)
        return next((function for function in found if function is not None), None)

    def subclasses(self, cls: Class) -> list[Class]:
        """The classes below `cls` in the files read so far, in the order in which these were read."""
        found, todo = {cls: None}, [cls]
        while todo:
            above = todo.pop()
            for below in self._by_base.get(above.node.name, ()):
                if below not in found and above in self.lineage(below):
                    found[below] = None
                    todo.append(below)
        return list(found)[1:]

    @property
    def _by_base(self) -> dict[str, list[Class]]:
        """The classes of the files read so far by the last names of the classes that they derive from."""
        seen, found = self._bases
        for index in filter(None, islice(self._indices.values(), seen, None)):
            for cls in index.classes.values():
                for name in index.base_names(cls):
                    found.setdefault(name.rpartition(".")[2], []).append(cls)
        self._bases = (len(self._indices), found)
        return found

    def fields(self, owner: Class) -> list[str]:
        """The annotated fields of a dataclass or named tuple, those of the classes above it first."""
        names: dict[str, None] = {}
        for cls in reversed(self.lineage(owner)):
            names.update(dict.fromkeys(cls.index.annotated_fields(cls)))
        return list(names)

    def attribute(self, owner: Class, name: str) -> Maker | None:
        """What makes an attribute of the objects of a class, as it or one above it says."""
        found = (cls.index.attributes(cls).get(name) for cls in self.lineage(owner))
        return next((made for made in found if made is not None), None)

    def lineage(self, owner: Class) -> tuple[Class, ...]:
        """The class and those above it, depth first: near enough to Python's order of methods."""
        known = self._lineages.get(owner)
        if known is None:
            known = self._lineages[owner] = tuple(self._line_above(owner))
        return known

    def _line_above(self, owner: Class) -> Iterator[Class]:
        todo, seen = [owner], set[Class]()
        while todo and len(seen) < 8 * _MAX_HOPS:
            cls = todo.pop()
            if cls in seen:
                continue
            seen.add(cls)
            yield cls
            bases = [self.find(name) for name in cls.index.base_names(cls)]
            todo += [base for base in reversed(bases) if isinstance(base, Class)]
