"""From sources to findings: index, interpreter, and what is made of the events."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Set
from dataclasses import replace

from loaderlint.linter.findings import Finding, NoFix
from loaderlint.linter.interpreter.analysis import Interpreter
from loaderlint.linter.interpreter.events import Event, Observation, Retention
from loaderlint.linter.judging import brief, judged
from loaderlint.linter.reading.callers import Callers
from loaderlint.linter.reading.candidates import candidates
from loaderlint.linter.reading.index import Class, FileIndex, Function
from loaderlint.linter.reading.offers import Offers
from loaderlint.linter.reading.plain import is_harmless
from loaderlint.linter.reading.project import Project
from loaderlint.linter.reading.source import SourceFile
from loaderlint.linter.reloading.observing import Observer
from loaderlint.linter.selection import is_on
from loaderlint.linter.settings import Settings
from loaderlint.rules.codes import INTERNAL_ERROR
from loaderlint.rules.registry import BY_CODE, facts_on


class Checker:
    """Takes files in one by one, and judges them at the end: a defect may show only in a caller's file."""

    def __init__(self, settings: Settings, files: Collection[str] = ()) -> None:
        """`files` are all that are looked at, whether or not they are added."""
        self._settings = settings
        self._files = files
        self._project = Project(settings.contracts, files)
        self._events: dict[object, Event] = {}
        self._observed: dict[object, Observation] = {}
        self._entries: dict[object, set[Function]] = defaultdict(set)
        self._failures: list[Finding] = []
        self._added: list[tuple[SourceFile, FileIndex]] = []

    def add(self, source: SourceFile) -> None:
        """Take one file in. Raises `SourceError` for what is not Python."""
        self._added.append((source, self._project.add(source)))

    def _analyse(self, source: SourceFile, index: FileIndex) -> None:
        executed: set[tuple[FileIndex, str]] = set()
        functions = candidates(
            index, self._project.exports.maker_offers, lambda function: is_harmless(function, self._project)
        )
        # Outer functions first: they run the functions inside them with what these capture.
        for function in sorted(functions, key=lambda item: item.qualname.count(".")):
            if function.outer is not None and (function.index, function.qualname) in executed:
                continue
            interpreter = self._run(source, function)
            executed |= interpreter.executed
            if interpreter.hooks:
                self._run_below(source, function, interpreter.hooks)
        self._observe(source, index)

    def _observe(self, source: SourceFile, index: FileIndex) -> None:
        wanted = facts_on(self._settings.layers)
        observer = Observer(index, source.text, wanted, self._project)
        for function in observer.functions():
            try:
                for observation in observer.observations(function):
                    self._observed.setdefault(_place(observation), observation)
            except Exception as error:
                self._failures.append(_internal_error(source, function, error))

    def _run(self, source: SourceFile, function: Function, owner: Class | None = None) -> Interpreter:
        interpreter = Interpreter(self._project, self._settings)
        try:
            for event in interpreter.run(function, owner):
                place = _place(event)
                known = self._events.setdefault(place, event)
                if isinstance(known, Retention) and known.producer != event.producer:
                    # Streams of several producers come here.
                    self._events[place] = replace(known, producer=None)
                self._entries[place].add(function)
        except Exception as error:  # A defect of ours must cost one function, not the run.
            self._failures.append(_internal_error(source, function, error))
        return interpreter

    def _run_below(self, source: SourceFile, function: Function, hooks: Set[str]) -> None:
        """Run an inherited method on objects of classes that override, or define, what it gives lent tensors to."""
        method = self._project.method
        todo, known = [(function.owner, hooks)], set[tuple[object, ...]]()
        while todo:
            above, hooks = todo.pop()
            known.add(tuple((hook, method(above, hook)) for hook in sorted(hooks)))
            for cls in self._project.subclasses(above):
                meant = tuple((hook, method(cls, hook)) for hook in sorted(hooks))
                if meant not in known and method(cls, function.node.name) is function:
                    known.add(meant)
                    todo.append((cls, self._run(source, function, cls).hooks))

    @property
    def offers(self) -> Offers:
        """What the files taken in so far have that others may import."""
        return self._project.exports.offers

    def source(self, path: str) -> SourceFile | None:
        """A file that was added, or that a call led to."""
        return self._project.source(path)

    def paths(self) -> list[str]:
        """The files that were added, and those that calls led to so far."""
        return self._project.paths()

    def findings(self, named: Set[str] = frozenset()) -> list[Finding]:
        """What was found in the files that were added, and in those that their calls led to.

        `named` are paths that count like the added ones, though nothing was added of them.
        """
        # Only now: a call must not lead to a file that is to be added, and so is read a second time.
        self._project.follow_imports()
        self._project.exports.learn_types()
        for source, index in self._added:
            self._analyse(source, index)
        self._added.clear()
        failures = self._failures if is_on(BY_CODE[INTERNAL_ERROR], self._settings.layers) else []
        return [*failures, *judged([*self._lent(), *self._observed.values()], self._project, self._settings, named)]

    def _lent(self) -> list[Event]:
        """The events without those of functions that nobody gives a stream, whatever their annotations say."""
        entries = {function for functions in self._entries.values() for function in functions}
        unsure = set(self._project.unique(function for function in entries if function.streams))
        # Only where an event has no surer witness does it matter who calls the function: that is rare.
        asked = {one for functions in self._entries.values() if functions <= unsure for one in functions}
        callers = Callers(asked, self._settings.contracts.named("methods", "own"), self._files)
        owned = {function for function in asked if callers.give_no_stream(function)}
        return [event for place, event in self._events.items() if not self._entries[place] <= owned]


def _place(event: Event) -> object:
    """What tells events apart: several paths and callers lead to the same one."""
    if isinstance(event, Observation):
        return (event.fact, event.at.node)
    return (event.kept.node, event.call and event.call.node, event.conditional)


def _internal_error(source: SourceFile, function: Function, error: Exception) -> Finding:
    line, column = function.node.lineno, source.column_of_byte(function.node.lineno, function.node.col_offset)
    return BY_CODE[INTERNAL_ERROR].finding(
        source.path,
        (line, column, line, column + len("def")),
        f"`{function.qualname}` could not be analysed, please report it: {brief(error)}",
        NoFix("the function was not analysed"),
        function=function.qualname,
    )
