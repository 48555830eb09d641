"""What is made of events: the rule that each one is for, its message, steps, consequences and repair."""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Set
from dataclasses import replace
from typing import Any

import libcst as cst
from loaderlint.linter.findings import Finding, Fix, NoFix, Step
from loaderlint.linter.interpreter.events import Event, Fact, Holder, Note, Observation, Retention
from loaderlint.linter.reading.project import Project
from loaderlint.linter.reading.slices import FunctionSlice
from loaderlint.linter.reading.source import SourceFile
from loaderlint.linter.repairs import plan
from loaderlint.linter.repairs.imports import Surroundings
from loaderlint.linter.repairs.restored import delete_first
from loaderlint.linter.repairs.tree import Refused, Tree
from loaderlint.linter.selection import is_on
from loaderlint.linter.settings import Settings
from loaderlint.linter.suppressions import unsuppressed
from loaderlint.rules.base import AnEvent, Rule
from loaderlint.rules.registry import RULES, rule_for

_UNKNOWN_SHAPE = NoFix("no repair is known for this shape")
_CALLEE_KEEPS = NoFix("the callee keeps it, in a file that is not among those that were named")


def judged(
    events: Iterable[Event], project: Project, settings: Settings, named: Set[str] = frozenset()
) -> list[Finding]:
    """The findings that `events` make under `settings`, each with its repair or the reason why there is none.

    What a file keeps that is neither of the project's own nor `named` is found at the call that leads there.
    """
    retentions, observations = [], []
    for event in events:
        (observations if isinstance(event, Observation) else retentions).append(event)
    on = frozenset(rule.code for rule in RULES if is_on(rule, settings.layers))
    findings = list(
        _retained(_ruled(_definite_first(_as_seen(retentions, project, named)), on), project, settings)
    )
    for event, rule in _ruled(observations, on):
        findings.append(_finding(event, rule, event.notes, (), _observed_fix(event, rule)))
    return findings


def _ruled(events: Iterable[AnEvent], on: frozenset[str]) -> Iterator[tuple[AnEvent, Rule[Any]]]:
    """The events that have a rule, if it is on: others must not lead to repairs either, not even along the way."""
    for event in events:
        rule = rule_for(event)
        if rule is not None and rule.code in on:
            yield event, rule


def _as_seen(events: Iterable[Retention], project: Project, named: Set[str]) -> Iterator[Retention]:
    """The events as those see them who named their files."""
    for event in events:
        path = event.kept.unit.path
        if event.call is None or path in named:
            yield event
        elif not _is_silenced(event, project.source(path)):
            yield replace(event, is_callers=True)


def _is_silenced(event: Retention, source: SourceFile) -> bool:
    """Whether a comment beside the place that keeps silences it there, and so for every caller."""
    rule = rule_for(event)
    return rule is not None and not unsuppressed(source, [_finding(event, rule, (), (), _CALLEE_KEEPS)])


def _definite_first(events: Iterable[Retention]) -> list[Retention]:
    """One event a place: where a place keeps both a tensor and a copy that may be none, the tensor counts."""
    chosen: dict[object, Retention] = {}
    for event in sorted(events, key=lambda event: event.conditional):
        chosen.setdefault(event.at.node, event)
    return list(chosen.values())


def _retained(
    events: Iterable[tuple[Retention, Rule[Any]]], project: Project, settings: Settings
) -> Iterator[Finding]:
    by_unit: dict[FunctionSlice, list[tuple[Retention, Rule[Any]]]] = defaultdict(list)
    for event, rule in events:
        by_unit[event.kept.unit].append((event, rule))
    lenders = settings.lenders()
    for unit, mine in by_unit.items():
        repairable = [one for one, rule in mine if rule.fixable and not one.is_callers]
        source = project.source(unit.path)
        around = Surroundings(source, settings.own_helper) if source is not None else None
        repairs = _repairs(repairable, project.functions_beside(unit), around)
        for event, rule in mine:
            named = lenders if event.producer is None else [settings.lender(event.producer)]
            yield _finding(event, rule, _steps(event), _consequences(event, named), _fix(event, repairs))


def _repairs(
    events: list[Retention], functions: Mapping[str, ast.FunctionDef], around: Surroundings | None
) -> Mapping[Retention, Fix | NoFix]:
    try:
        return plan(events, functions, around)
    except Exception as error:  # Without its repair the finding still stands.
        return dict.fromkeys(events, _failed(error))


def _failed(error: Exception) -> NoFix:
    return NoFix(f"planning the repair failed, please report it: {brief(error)}")


def _observed_fix(event: Observation, rule: Rule[Any]) -> Fix | NoFix:
    if not rule.fixable or event.fact is not Fact.RESTORED_OVER:
        return _UNKNOWN_SHAPE
    try:
        return delete_first(Tree(event.at.unit), event)
    except Refused as refusal:
        return NoFix(str(refusal))
    except Exception as error:  # As for any other repair.
        return _failed(error)


def _finding(
    event: Event, rule: Rule[Any], notes: Iterable[Note], consequences: tuple[str, ...], fix: Fix | NoFix
) -> Finding:
    return rule.finding(
        event.at.unit.path,
        event.at.unit.range(event.at.node),
        rule.message(event),
        fix,
        function=event.at.unit.qualname,
        steps=tuple(_step(note) for note in notes),
        assumptions=event.assumptions,
        consequences=(*consequences, *([rule.consequence] if rule.consequence else [])),
    )


def _fix(event: Retention, repairs: Mapping[Retention, Fix | NoFix]) -> Fix | NoFix:
    if event.is_callers:
        return _CALLEE_KEEPS
    return repairs.get(event, _UNKNOWN_SHAPE)


def _steps(event: Retention) -> list[Note]:
    borrowed, advanced = (
        "borrowed here, valid until the next step",
        "the stream advances: every kept tensor is stale",
    )
    if event.closed:
        borrowed, advanced = (
            "borrowed here, valid until its producer is closed",
            "closed: every kept tensor is stale",
        )
    elif isinstance(event.borrowed.node, cst.Param):
        borrowed, advanced = "lent here until the function returns", "after its return the tensor is stale"
    elif isinstance(event.borrowed.node, (cst.Attribute, cst.FunctionDef)):
        borrowed, advanced = (
            "lends it one tensor a call, until it returns",
            "after its return the tensor is stale",
        )
    return [
        Note("borrowed", event.borrowed, borrowed),
        Note(
            "kept", event.kept, "copied from here on" if event.holder_kind is Holder.COPYING else "kept here"
        ),
        Note("advanced", event.advanced, advanced),
        Note("read", event.read, event.read_note),
    ]


def _step(note: Note) -> Step:
    line, column, _, _ = note.site.unit.range(note.site.node)
    return Step(note.kind, note.site.unit.path, line, column, note.text)


def _consequences(event: Retention, lenders: list[str]) -> tuple[str, ...]:
    corrupts = f"corrupts with: {', '.join(lenders)}"
    if event.holder_kind in (Holder.COPYING, Holder.PARAMETER):
        return (corrupts,)
    held = "the tensor" if event.holder_kind is Holder.VARIABLE else "every kept tensor"
    return (corrupts, f"otherwise: holds {held} in memory until it is read")


def brief(error: Exception) -> str:
    """One line for an error of ours; a message that holds a syntax tree would fill pages."""
    if isinstance(error, KeyError) and not isinstance(error.args[0], str):
        return f"{type(error).__name__} of a {type(error.args[0]).__name__}"
    text = " ".join(f"{type(error).__name__}: {error}".split())
    return text if len(text) <= 160 else f"{text[:159]}…"
