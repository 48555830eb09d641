"""Which repair each retention of a function gets: one for all that share a holder, or the reason for none."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from functools import partial

import libcst as cst
from loaderlint.linter.findings import Applicability, Fix, NoFix
from loaderlint.linter.interpreter.events import Holder, Retention
from loaderlint.linter.repairs.callees import Functions
from loaderlint.linter.repairs.collected import (
    CollectedList,
    collected_dict,
    collected_list,
    removed_lines,
    without_beginnings,
)
from loaderlint.linter.repairs.collecting import collected_in
from loaderlint.linter.repairs.consumer import Consumer
from loaderlint.linter.repairs.imports import Surroundings
from loaderlint.linter.repairs.in_step import step_loader, step_loader_edits
from loaderlint.linter.repairs.lent import unpacking_target
from loaderlint.linter.repairs.loops import stream_loop
from loaderlint.linter.repairs.materialized import (
    consumer_of_collection,
    iterate_lazily,
    own_whole_stream,
)
from loaderlint.linter.repairs.own import own
from loaderlint.linter.repairs.partition import partition
from loaderlint.linter.repairs.peeking import look_at_names
from loaderlint.linter.repairs.submit import call_in_line, futures_list
from loaderlint.linter.repairs.texts import short
from loaderlint.linter.repairs.tree import Refused, Tree
from loaderlint.linter.repairs.twice import refuse_if_loaded_twice

Repair = Fix | NoFix
Strategy = Callable[[], Fix]

_TOO_DEEP = NoFix("an expression of this function is nested too deeply to be rewritten")


def plan(
    events: Sequence[Retention], functions: Functions | None = None, around: Surroundings | None = None
) -> dict[Retention, Repair]:
    """The repair of each of `events`, which are all the retentions of one function slice.

    `functions` are the functions of the same file by qualified name. A callee found there is read, to see
    whether it is content with an iterator. Of any other callee that is not known, so its repair is unsafe. `around` is
    the file: without it there are no repairs that need an import.
    """
    try:
        return _plan_holders(Tree(events[0].kept.unit, around), events, functions or {}) if events else {}
    except RecursionError:
        return dict.fromkeys(events, _TOO_DEEP)


def _plan_holders(tree: Tree, events: Sequence[Retention], functions: Functions) -> dict[Retention, Repair]:
    repairs: dict[Retention, Repair] = {}
    # The order in which they were observed is no order: it may differ from run to run.
    holders = _by_holder(tree, sorted(events, key=lambda event: (tree.start(event.kept.node), event.holder)))
    for loop, lists in _by_loop(tree, holders).items():
        fix = _first_that_fits(partial(partition, tree, loop, lists, functions))
        if isinstance(fix, Fix):
            repairs.update(dict.fromkeys((event for those in lists.values() for event in those), fix))
    known = {event.kept.node for event in events}
    for those in holders.values():
        if those[0] not in repairs:
            strategies = _strategies(tree, those, known, functions)
            repairs.update(dict.fromkeys(those, _first_that_fits(*strategies)))
    return repairs


def _by_holder(tree: Tree, events: Sequence[Retention]) -> dict[tuple[cst.CSTNode, str], list[Retention]]:
    """The events of each holder. What is kept by the expression itself is its own holder; futures share a list."""
    holders: dict[tuple[cst.CSTNode, str], list[Retention]] = {}
    for event in events:
        node, name = event.kept.node, event.holder
        if event.holder_kind is Holder.SUBMITTED:
            name = futures_list(tree, node)
        elif event.holder_kind is Holder.MATERIALIZED or unpacking_target(event) is not None:
            name = ""
        key = (tree.scope(node) if name else node, name)
        holders.setdefault(key, []).append(event)
    return holders


def _by_loop(
    tree: Tree, holders: Mapping[tuple[cst.CSTNode, str], Sequence[Retention]]
) -> dict[cst.For, dict[CollectedList, Sequence[Retention]]]:
    """The local lists and dicts that each loop over a stream fills, with the events of each."""
    loops: dict[cst.For, dict[CollectedList, Sequence[Retention]]] = {}
    for (_, holder), events in holders.items():
        kind = events[0].holder_kind
        if kind in (Holder.LIST, Holder.DICT):
            collected = collected_list if kind is Holder.LIST else collected_dict
            with suppress(Refused):
                loop = stream_loop(tree, events[0])
                loops.setdefault(loop, {})[collected(tree, holder, loop)] = events
    return {loop: lists for loop, lists in loops.items() if lists}


def _strategies(
    tree: Tree, events: Sequence[Retention], known: set[cst.CSTNode], functions: Functions
) -> list[Strategy]:
    first, keep = events[0], partial(own, tree, events, functions)
    if first.holder_kind is Holder.SUBMITTED:
        return [partial(call_in_line, tree, events), keep]
    if first.holder_kind is Holder.TEED:
        return [partial(_refuse_tee, tree, first)]
    unpacks = isinstance(first.kept.node, (cst.Tuple, cst.List))
    if first.holder_kind is Holder.MATERIALIZED or unpacks:
        lazily = partial(_iterate, tree, first, known, functions)
        names = partial(_look_at_names, tree, first, known, functions)
        return [lazily, names, partial(own_whole_stream, tree, first), keep]
    if first.holder_kind is Holder.LIST:
        return [partial(_load_side_list, tree, events, functions), keep]
    return [keep]


def _load_side_list(tree: Tree, events: Sequence[Retention], functions: Functions) -> Fix:
    """Load in its step what a nested function puts into a list on the side. Raises `Refused`."""
    filling = tree.scope(events[0].kept.node)
    if not isinstance(filling, cst.FunctionDef) or filling is tree.unit.function:
        raise Refused(f"`{short(events[0].holder)}` is not filled by a loop that could load in its steps")
    collected = collected_list(tree, events[0].holder, filling)
    refuse_if_loaded_twice(tree, collected, functions, lists=True)
    loader = step_loader(tree, collected, filling, events[0])
    edits = [
        *step_loader_edits(tree, filling, [loader], removed_lines([collected])),
        *without_beginnings(tree, [collected]),
    ]
    edits.sort(key=lambda edit: (edit.line, edit.column))
    return Fix(Applicability.UNSAFE, f"load `{collected.name}` in their step", tuple(edits))


def _iterate(tree: Tree, event: Retention, known: set[cst.CSTNode], functions: Functions) -> Fix:
    consumer = consumer_of_collection(tree, event)
    return _and_follow(
        tree, event, iterate_lazily(tree, event, consumer, functions), consumer, known, functions
    )


def _look_at_names(tree: Tree, event: Retention, known: set[cst.CSTNode], functions: Functions) -> Fix:
    fix, consumer = look_at_names(tree, event, functions)
    return _and_follow(tree, event, fix, consumer, known, functions)


def _and_follow(
    tree: Tree,
    event: Retention,
    fix: Fix,
    consumer: Consumer,
    known: set[cst.CSTNode],
    functions: Functions,
) -> Fix:
    """Repair, too, what the loop keeps that reads the stream after `fix`. Raises `Refused`."""
    again = collected_in(tree, consumer.statement, event) if consumer.call is None else []
    again = [one for one in again if one.kept.node not in known]
    if not again:
        return fix
    others = dict.fromkeys(_plan_holders(tree, again, functions).values())
    refusals = [other.reason for other in others if isinstance(other, NoFix)]
    if refusals:
        raise Refused(refusals[0])
    fixes = [fix, *others]
    safe = all(one.applicability is Applicability.SAFE for one in fixes)
    return Fix(
        Applicability.SAFE if safe else Applicability.UNSAFE,
        "; ".join(one.title for one in fixes),
        tuple(edit for one in fixes for edit in one.edits),
    )


def _refuse_tee(tree: Tree, event: Retention) -> Fix:
    raise Refused(
        f"`{tree.brief(event.kept.node)}` buffers what one side has not read; read the stream once instead"
    )


def _first_that_fits(*strategies: Strategy) -> Repair:
    """The first strategy's repair that is possible, or the reason why the first one is not."""
    reasons = []
    for strategy in strategies:
        try:
            return strategy()
        except Refused as refusal:
            reasons.append(str(refusal))
    return NoFix(reasons[0])
