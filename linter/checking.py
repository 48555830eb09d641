"""From one file's source to its findings: sieve, index, interpreter, rules, repairs."""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Iterable, Mapping

import libcst as cst
from loaderlint.linter.findings import Category, Finding, Fix, NoFix, Severity, Step
from loaderlint.linter.interpreter.analysis import Interpreter
from loaderlint.linter.interpreter.events import Holder, Retention, Site
from loaderlint.linter.reading.index import FileIndex, Function
from loaderlint.linter.reading.project import Project
from loaderlint.linter.reading.slices import FunctionSlice
from loaderlint.linter.reading.source import SourceFile
from loaderlint.linter.repairs import plan
from loaderlint.linter.settings import Settings
from loaderlint.rules.registry import rule_for

INTERNAL_ERROR = "LDR900"


class Checker:
    """Takes files in one by one, and judges them at the end: a defect may show only in a caller's file."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._project = Project(settings.contracts)
        self._events: dict[object, Retention] = {}
        self._failures: list[Finding] = []
        self._added: list[tuple[SourceFile, FileIndex]] = []

    def add(self, source: SourceFile) -> None:
        """Take one file in. Raises `SourceError` for what is not Python."""
        self._added.append((source, self._project.add(source)))

    def _analyse(self, source: SourceFile, index: FileIndex) -> None:
        executed: set[tuple[FileIndex, str]] = set()
        candidates = index.candidates(self._project.stream_makers)
        # Outer functions first: they run the functions inside them with what these capture.
        for function in sorted(candidates, key=lambda item: item.qualname.count(".")):
            if function.outer is not None and (function.index, function.qualname) in executed:
                continue
            try:
                interpreter = Interpreter(self._project, self._settings)
                for event in interpreter.run(function):
                    self._events.setdefault((event.kept.node, event.conditional), event)
                executed |= interpreter.executed
            except Exception as error:  # A defect of ours must cost one function, not the run.
                self._failures.append(_internal_error(source, function, error))

    def source(self, path: str) -> SourceFile | None:
        """A file that was added, or that a call led to."""
        return self._project.source(path)

    def findings(self) -> list[Finding]:
        """What was found in the files that were added, and in those that their calls led to."""
        # Only now: a call must not lead to a file that is to be added, and so is read a second time.
        for source, index in self._added:
            self._analyse(source, index)
        self._added.clear()
        return [
            *self._failures,
            *_judged(_definite_first(self._events.values()), self._project, self._settings),
        ]


def _definite_first(events: Iterable[Retention]) -> list[Retention]:
    """One event a place: where a place keeps both a tensor and a copy that may be none, the tensor counts."""
    chosen: dict[object, Retention] = {}
    for event in sorted(events, key=lambda event: event.conditional):
        chosen.setdefault(event.kept.node, event)
    return list(chosen.values())


def _judged(events: list[Retention], project: Project, settings: Settings) -> list[Finding]:
    by_unit: dict[FunctionSlice, list[Retention]] = defaultdict(list)
    for event in events:
        by_unit[event.kept.unit].append(event)
    findings = []
    lenders = settings.lenders()
    for unit, mine in by_unit.items():
        definite = [event for event in mine if not event.conditional]
        repairs = _repairs(definite, project.functions_beside(unit))
        findings += [found for event in mine if (found := _finding(event, repairs, lenders)) is not None]
    return findings


def _repairs(
    events: list[Retention], functions: Mapping[str, ast.FunctionDef]
) -> Mapping[Retention, Fix | NoFix]:
    try:
        return plan(events, functions)
    except Exception as error:  # Without its repair the finding still stands.
        reason = f"planning the repair failed, please report it: {_brief(error)}"
        return dict.fromkeys(events, NoFix(reason))


def _finding(
    event: Retention, repairs: Mapping[Retention, Fix | NoFix], lenders: list[str]
) -> Finding | None:
    rule = rule_for(event)
    if rule is None:
        return None
    line, column, end_line, end_column = event.kept.unit.range(event.kept.node)
    return Finding(
        code=rule.code,
        name=rule.name,
        category=rule.category,
        severity=rule.severity,
        path=event.kept.unit.path,
        line=line,
        column=column,
        end_line=end_line,
        end_column=end_column,
        function=event.kept.unit.qualname,
        message=rule.message(event),
        steps=_steps(event),
        assumptions=event.assumptions,
        consequences=_consequences(event, lenders),
        fix=_fix(event, repairs),
    )


def _fix(event: Retention, repairs: Mapping[Retention, Fix | NoFix]) -> Fix | NoFix:
    if event.borrowed.unit.path != event.kept.unit.path:
        return NoFix("the stream is another file's: only a check of both could prove a repair")
    return repairs.get(event, NoFix("no repair is known for this shape"))


def _steps(event: Retention) -> tuple[Step, ...]:
    borrowed, advanced = (
        "borrowed here, valid until the next step",
        "the stream advances: every kept tensor is stale",
    )
    if isinstance(event.borrowed.node, cst.Param):
        borrowed, advanced = "lent here until the function returns", "after its return the tensor is stale"
    elif isinstance(event.borrowed.node, (cst.Attribute, cst.FunctionDef)):
        borrowed, advanced = (
            "lends it one tensor a call, until it returns",
            "after its return the tensor is stale",
        )
    steps = [
        _step("borrowed", event.borrowed, borrowed),
        _step("kept", event.kept, "kept here"),
        _step("advanced", event.advanced, advanced),
        _step("read", event.read, event.read_note),
    ]
    return tuple(steps)


def _step(kind: str, site: Site, text: str) -> Step:
    line, column, _, _ = site.unit.range(site.node)
    return Step(kind, site.unit.path, line, column, text)


def _consequences(event: Retention, lenders: list[str]) -> tuple[str, ...]:
    held = "the tensor" if event.holder_kind is Holder.VARIABLE else "every kept tensor"
    return (f"corrupts with: {', '.join(lenders)}", f"otherwise: holds {held} in memory until it is read")


def _internal_error(source: SourceFile, function: Function, error: Exception) -> Finding:
    node = function.node
    column = source.column_of_byte(node.lineno, node.col_offset)
    return Finding(
        code=INTERNAL_ERROR,
        name="internal-error",
        category=Category.HAZARD,
        severity=Severity.WARNING,
        path=source.path,
        line=node.lineno,
        column=column,
        end_line=node.lineno,
        end_column=column + len("def"),
        function=function.qualname,
        message=f"`{function.qualname}` could not be analysed, please report it: {_brief(error)}",
        fix=NoFix("the function was not analysed"),
    )


def _brief(error: Exception) -> str:
    """One line for an error of ours; a message that holds a syntax tree would fill pages."""
    if isinstance(error, KeyError) and not isinstance(error.args[0], str):
        return f"{type(error).__name__} of a {type(error.args[0]).__name__}"
    text = " ".join(f"{type(error).__name__}: {error}".split())
    return text if len(text) <= 160 else f"{text[:159]}…"
