"""Every fact of this room about one function, as observations that rules can report."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Set
from functools import cached_property

from loaderlint.linter.interpreter.events import Fact, Note, Observation
from loaderlint.linter.reading.candidates import MakerCalls
from loaderlint.linter.reading.index import FileIndex, Function
from loaderlint.linter.reading.project import Project
from loaderlint.linter.reloading.answers import unanswered
from loaderlint.linter.reloading.asking import ignored, recorded
from loaderlint.linter.reloading.carrying import carrying
from loaderlint.linter.reloading.experts import gathered
from loaderlint.linter.reloading.handing_on import question_handed_on
from loaderlint.linter.reloading.loaded_names import LoadedNames, Silence
from loaderlint.linter.reloading.nodes import FUNCTIONS, parameters
from loaderlint.linter.reloading.places import site
from loaderlint.linter.reloading.replacing import bare_again
from loaderlint.linter.reloading.restoring import restored_over
from loaderlint.linter.reloading.states import Asks

_REGISTERS = ("register_parameter(", "register_buffer(")
_STACKS = ("stack(", "cat(", "concat(", "concatenate(")
_REMOVES = ("delattr(", "._parameters", "._buffers")


class Observer:
    """Looks at the functions of one file for the `wanted` facts.

    `text` is the file's source: it tells what need not be looked for.
    """

    def __init__(self, index: FileIndex, text: str, wanted: Set[Fact], project: Project) -> None:
        self._index = index
        self._project = project
        self._loaded = LoadedNames(project) if Fact.ANSWER_LOST in wanted else None
        answers = index.contracts.loader_results if Fact.ANSWER_LOST in wanted else ()
        self._questions = frozenset(name for name in answers if name in text)
        self._registers = Fact.RESTORED_OVER in wanted and any(call in text for call in _REGISTERS)
        stacks = Fact.STACK_REQUIRED in wanted and "expert" in text
        self._stacks = stacks and any(call in text for call in _STACKS)
        after = index.contracts.loader_after if Fact.LOADER_LOST in wanted else ()
        self._after = frozenset(name for name in after if f"def {name}(" in text)

    @cached_property
    def _makers(self) -> MakerCalls:
        return MakerCalls(self._index, self._project.exports.maker_offers)

    def functions(self) -> Iterator[Function]:
        """The functions that there may be something to say about."""
        calls = [*(_STACKS if self._stacks else ()), *(_REGISTERS if self._registers else ())]
        hints = "|".join(map(re.escape, [*sorted(self._questions), *calls]))
        numbers = self._index.lines_with(hints) if hints else []
        for function in self._index.functions.values():
            named = function.node.name in self._after or self._index.has_line(function, numbers)
            answers = self._loaded and (self._loaded.may_miss(function) or function.lent)
            if named or answers:
                yield function

    @cached_property
    def _removers(self) -> dict[str, ast.FunctionDef]:
        """The file's functions that remove something from a module, by name."""
        removing = self._index.lines_with("|".join(map(re.escape, _REMOVES)))
        return {
            function.node.name: function.node
            for function in self._index.functions.values()
            if self._index.has_line(function, removing)
        }

    def observations(self, function: Function) -> Iterator[Observation]:
        """What shows in the function's own body."""
        source = self._index.slice(function).source
        if any(question in source for question in self._questions):
            yield from self._answers(function)
        if self._loaded is not None:
            yield from self._not_handed_back(function)
        if self._stacks and any(call in source for call in _STACKS):
            yield from self._gathered(function)
        if function.node.name in self._after and function.owner is not None:
            yield from self._replaced(function)
        if self._registers and any(call in source for call in _REGISTERS):
            if any(mark in source for mark in (*_REMOVES, *(f"{name}(" for name in self._removers))):
                yield from self._restored(function)

    def _answers(self, function: Function) -> Iterator[Observation]:
        asks = Asks(self._questions)
        dropped = list(ignored(function.node, asks))
        for call in dropped:
            note = Note("asked", site(function, call), "asked here, and the answer is dropped")
            yield _lost(function, call, ast.unparse(call.func), "ignored", (note,))
        for node, name, call in recorded(function.node, asks):
            notes = (
                Note("asked", site(function, call), f"the loader may refuse `{name}`"),
                Note("recorded", site(function, node), "recorded as loaded on that path too"),
            )
            yield _lost(function, node, name, "recorded", notes)
        for question in self._questions.intersection(parameters(function.node)) if not dropped else ():
            yield from self._unanswered(function, question)

    def _unanswered(self, function: Function, question: str) -> Iterator[Observation]:
        for node in unanswered(function.node, question, self._index.contracts.loader_attributes):
            ends = "returns without an answer" if isinstance(node, ast.Return) else "the end has no answer"
            note = Note("unanswered", site(function, node), f"asked by `{question}`, {ends}")
            yield _lost(function, node, function.node.name, "unanswered", (note,))

    def _not_handed_back(self, function: Function) -> Iterator[Observation]:
        """Answers that a wrapper does not give back, and those of whole loaders."""
        unnamed = function.lent and self._questions.isdisjoint(parameters(function.node))
        for call in question_handed_on(function.node) if unnamed else ():
            if self._loaded.has_no_answer(call, function):
                continue
            note = Note("asked", site(function, call), "hands on whether it is asked, and drops the answer")
            yield _lost(function, call, ast.unparse(call.func), "dropped", (note,))
        for found in self._loaded.missing(function):
            yield _without_names(found)

    def _gathered(self, function: Function) -> Iterator[Observation]:
        for found in gathered(function.node, function.streams, self._makers.made_in(function)):
            at = site(function, found.stacked)
            notes = (
                Note("gathered", site(function, found.kept), "each expert waits here for the others"),
                Note("stacked", at, "the stack needs all of them"),
            )
            yield Observation(Fact.STACK_REQUIRED, at, found.holder, notes)

    def _replaced(self, function: Function) -> Iterator[Observation]:
        targets = self._index.imports.items()
        classes = frozenset(
            {"Parameter", *(name for name, target in targets if target.endswith(".Parameter"))}
        )
        if not any(f"{name}(" in self._index.slice(function).source for name in classes):
            return
        methods = [
            node
            for node in function.owner.node.body
            if isinstance(node, FUNCTIONS) and node is not function.node
        ]
        loaders = self._index.contracts.loader_attributes
        carried = carrying(methods, loaders)
        for found in bare_again(function.node, carried, loaders, classes):
            at = site(function, found.at)
            note = Note("replaced", at, "the new parameter has none of the old one's attributes")
            yield Observation(Fact.LOADER_LOST, at, found.parameter, (note,))

    def _restored(self, function: Function) -> Iterator[Observation]:
        for found in restored_over(function.node, self._removers):
            at = site(function, found.at)
            notes = (
                Note("removed", site(function, found.removed), "removes only what is registered now"),
                Note("restored", at, "raises for the name of a plain attribute"),
            )
            yield Observation(Fact.RESTORED_OVER, at, found.module, notes)


def _lost(
    function: Function, node: ast.AST, subject: str, detail: str, notes: tuple[Note, ...]
) -> Observation:
    return Observation(Fact.ANSWER_LOST, site(function, node), subject, notes, detail)


def _without_names(found: Silence) -> Observation:
    function, at, asked = found
    if asked is None:
        note = Note("asked", site(function, at), "says that it answers, and drops the answer")
        return _lost(function, at, ast.unparse(at.func), "dropped", (note,))
    notes = (
        Note("unanswered", site(function, at), "gives no names of what it loaded"),
        Note("handed on", site(*asked), "handed on as the names of what was loaded"),
    )
    return _lost(function, at, function.node.name, "handed on", notes)
