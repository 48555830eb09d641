"""What the files of a project have for each other: functions that hand out streams, types of streams, base classes."""

from __future__ import annotations

from collections.abc import Mapping, Set

from loaderlint.linter.reading.candidates import stream_makers
from loaderlint.linter.reading.index import FileIndex, Function
from loaderlint.linter.reading.offers import Offers
from loaderlint.linter.reading.streams import Element

# How many re-exports the name of a type may pass through.
_MAX_HOPS = 8


class Exports:
    """Looks through the files that were read, each once; `indices` and `modules` grow while others are read."""

    def __init__(self, indices: Mapping[str, FileIndex | None], modules: Mapping[str, FileIndex]) -> None:
        self._indices = indices
        self._modules = modules
        self._makers: set[Function] = set()
        self._maker_offers = Offers()
        self._looked_at = 0

    @property
    def makers(self) -> Set[Function]:
        """The functions, of the files read so far, that hand out a stream of a producer's."""
        self._refresh()
        return self._makers

    @property
    def maker_offers(self) -> Offers:
        """The same functions by their names, as other files get at them."""
        self._refresh()
        return self._maker_offers

    def _refresh(self) -> None:
        """Look for makers in the files that were read since: one may hand on what another one makes."""
        if self._looked_at == len(self._indices):
            return
        unread = list(filter(None, list(self._indices.values())[self._looked_at :]))
        self._looked_at = len(self._indices)
        new = bool(unread)
        while new:
            new = False
            for index in unread:
                for function in stream_makers(index, self._maker_offers):
                    self._makers.add(function)
                    new = self._maker_offers.add(function.node.name, *_doors(function)) or new
                for local, target in index.imports.items():
                    if local != _last(target) and self._maker_offers.offers(_last(target)):
                        new = self._maker_offers.add(local, local, _last(index.module.name)) or new

    @property
    def offers(self) -> Offers:
        """Everything that makes a file worth reading which imports it: makers, and base classes with loaders."""
        found = self.maker_offers.copy()
        for index in filter(None, self._indices.values()):
            for function in index.functions.values():
                if function.owner is not None and function.streams and function.calls_hooks:
                    name = function.owner.node.name
                    found.add_base(name, name, _last(index.module.name))
            for name in index.stream_types:
                found.add(name, name, _last(index.module.name))
        return found

    def learn_types(self) -> None:
        """Find the parameters whose types other files give a name: when all files are read."""
        types = Offers()
        known = list(filter(None, self._indices.values()))
        for index in known:
            for name in index.stream_types:
                types.add(name, name, _last(index.module.name))
        for index in known:
            if types.leads_from(index.doors) or index.stars:
                index.learn_types(self._stream_type)

    def _stream_type(self, qualified: str) -> Element | None:
        """The shape of the items of a type of streams, by its qualified name, through re-exports."""
        for _ in range(_MAX_HOPS):
            index, inside = known_place(qualified, self._modules)
            if index is None or not inside:
                return None
            if inside in index.stream_types:
                return index.stream_types[inside]
            if inside not in index.imports:
                starred = (known_place(f"{module}.{inside}", self._modules) for module in index.stars)
                return next(
                    (one.stream_types[name] for one, name in starred if one and name in one.stream_types),
                    None,
                )
            qualified = index.imports[inside]
        return None


def known_place(qualified: str, modules: Mapping[str, FileIndex]) -> tuple[FileIndex | None, str]:
    """The module, among those that are read already, that a qualified name begins with, and the rest of the name."""
    module, inside = qualified, ""
    while module and module not in modules:
        module, _, last = module.rpartition(".")
        inside = f"{last}.{inside}" if inside else last
    return modules.get(module), inside


def _doors(function: Function) -> tuple[str, ...]:
    """The names whose import gets a file at a function: its own or its class's, and the module's."""
    outermost = function.qualname.partition(".")[0]
    return outermost, _last(function.index.module.name)


def _last(name: str) -> str:
    return name.rpartition(".")[2]
