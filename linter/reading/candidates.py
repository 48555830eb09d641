"""Which functions are analysed on their own: those that handle a stream, and those that install a weight loader."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterator

from loaderlint.linter.reading.index import FileIndex, Function
from loaderlint.linter.reading.installing import seems_to_install
from loaderlint.linter.reading.offers import ANY, Offers


def candidates(
    index: FileIndex, makers: Offers, is_harmless: Callable[[Function], bool] = lambda _: False
) -> Iterator[Function]:
    """The functions that handle a stream of their own: a parameter, or one that they ask a producer for.

    `makers` are the functions of the project that hand out streams. One that `is_harmless` with what it is given, or
    installs, is left out.
    """
    around = _around_loaders(index, is_harmless)
    calls = MakerCalls(index, makers)
    for function in index.functions.values():
        asked = function.lent or function.streams or seems_to_install(function)
        if function in around or calls.made_in(function) or (asked and not is_harmless(function)):
            yield function


def stream_makers(index: FileIndex, makers: Offers) -> Iterator[Function]:
    """The functions that hand out a stream: one of a producer, or of one of `makers`."""
    calls = MakerCalls(index, makers)
    return (
        function for function in index.functions.values() if _hands_out(function, calls.made_in(function))
    )


def _hands_out(function: Function, made: list[ast.Call]) -> bool:
    """Whether a function yields what it makes, or returns it: as it is, under a name, or wrapped in a call."""
    if not made:
        return False
    if function.is_generator:
        return True
    names, returned = set[str](), list[ast.AST]()
    for node in ast.walk(function.node):
        if isinstance(node, ast.Assign) and any(part in made for part in ast.walk(node.value)):
            names.update(target.id for target in node.targets if isinstance(target, ast.Name))
        elif isinstance(node, ast.Return) and node.value is not None:
            returned += ast.walk(node.value)
    return any(part in made or (isinstance(part, ast.Name) and part.id in names) for part in returned)


class MakerCalls:
    """Looks for calls of what makes streams: producers, functions of the file that do, and `makers` of other files."""

    def __init__(self, index: FileIndex, makers: Offers) -> None:
        self._index = index
        own = index.producers | makers.through([index.module.name.rpartition(".")[2]])
        renamed = {
            local for local, target in index.imported.items() if makers.offers(target.rpartition(".")[2])
        }
        starred = makers.through([ANY]) if index.stars else set[str]()
        behind = makers.through(index.doors)
        # Called by a plain name, or after a dot.
        self._plain = {name for name in own | renamed | starred if index.mentions(name)}
        self._dotted = {name for name in own | behind if index.mentions(name)}
        names = "|".join(map(re.escape, sorted(self._plain | self._dotted)))
        self._lines = index.lines_with(names) if names else []

    def made_in(self, function: Function) -> list[ast.Call]:
        """Such calls in the function, and in those inside it."""
        if not self._index.has_line(function, self._lines):
            return []
        calls = (node for node in ast.walk(function.node) if isinstance(node, ast.Call))
        return [call for call in calls if self._is_meant(call)]

    def _is_meant(self, call: ast.Call) -> bool:
        if isinstance(call.func, ast.Attribute):
            return call.func.attr in self._dotted
        return isinstance(call.func, ast.Name) and call.func.id in self._plain


def _around_loaders(index: FileIndex, is_harmless: Callable[[Function], bool]) -> set[Function]:
    """The functions inside which a weight loader is defined that is not harmless: it captures what they hold."""
    around: set[Function] = set()
    for function in index.functions.values():
        outer = function.outer if function.lent and not is_harmless(function) else None
        while outer is not None:
            around.add(outer)
            outer = outer.outer
    return around
