"""A loop that sorts a stream into lists: stream the list that is consumed first, own the others."""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set
from contextlib import suppress

import libcst as cst
from loaderlint.linter.findings import Applicability, Edit, Fix
from loaderlint.linter.interpreter.events import Retention
from loaderlint.linter.reading.nodes import walk
from loaderlint.linter.repairs.callees import Functions, reading_of
from loaderlint.linter.repairs.collected import CollectedList, removed_lines, without_beginnings
from loaderlint.linter.repairs.collecting import collected_in
from loaderlint.linter.repairs.consumer import Consumer, only_consumer
from loaderlint.linter.repairs.edit import delete_statements, first_line, insert, replace, rewritten
from loaderlint.linter.repairs.generator import generator_edits
from loaderlint.linter.repairs.in_step import StepLoader, step_loader, step_loader_edits
from loaderlint.linter.repairs.mixing import computes_with
from loaderlint.linter.repairs.moving import Move, check_move
from loaderlint.linter.repairs.names import bound_names, mentioned
from loaderlint.linter.repairs.own import own_on_host
from loaderlint.linter.repairs.purity import is_pure
from loaderlint.linter.repairs.tree import Refused, Statement, Tree
from loaderlint.linter.repairs.twice import refuse_if_loaded_twice
from loaderlint.linter.repairs.unwrapping import unwrap


def partition(
    tree: Tree, loop: cst.For, lists: Mapping[CollectedList, Sequence[Retention]], functions: Functions
) -> Fix:
    """The repair of all lists that `loop` fills. Raises `Refused` where none of them can be streamed."""
    read = sorted((one for one in lists if one.reads), key=lambda one: tree.start(one.reads[0]))
    if not read:
        raise Refused("the lists are not read in this function")
    loaders: dict[CollectedList, StepLoader] = {}
    for one in read:
        with suppress(Refused):
            refuse_if_loaded_twice(tree, one, functions, lists=True)
            loaders[one] = step_loader(tree, one, loop, lists[one][0])
    refusal = None
    # Rather than a list that can be loaded in its step, one is streamed that would have to be owned.
    for streamed in sorted(read, key=loaders.__contains__):
        # What is read before the streamed list must not be a list any more.
        if all(one in loaders for one in read[: read.index(streamed)]):
            try:
                others = {one: loader for one, loader in loaders.items() if one is not streamed}
                return _streamed(tree, loop, lists, streamed, others, functions)
            except Refused as reason:
                refusal = refusal or reason
    if not loaders:
        raise refusal or Refused("no list can be streamed")
    return _in_steps(tree, loop, lists, loaders, functions)


def _streamed(
    tree: Tree,
    loop: cst.For,
    lists: Mapping[CollectedList, Sequence[Retention]],
    streamed: CollectedList,
    loaders: Mapping[CollectedList, StepLoader],
    functions: Functions,
) -> Fix:
    """Yield what belongs to one list, load that of others in the step, and own the rest."""
    refuse_if_loaded_twice(tree, streamed, functions, lists=False)
    owned = [one for one in lists if one is not streamed and one not in loaders]
    consumer = only_consumer(tree, streamed.name, streamed.reads, tree.scope(loop))
    if consumer.call is None and collected_in(tree, consumer.statement, lists[streamed][0]):
        raise Refused(f"the loop over `{streamed.name}` collects its tensors again")
    kept = {one.name for one in lists if one is not streamed}
    along = [loader.loop for loader in loaders.values()]
    moved = (one for loader in loaders.values() for one in (*loader.preludes, *loader.removed))
    ahead = [*along, *moved]
    move = check_move(tree, loop, consumer, kept, streamed.appends, ahead, along)
    reading = reading_of(tree, consumer, functions)
    drain = move.has_effects and not reading.drains
    if (drain or move.checks) and not _can_follow(consumer):
        raise Refused(f"`{streamed.name}` may be left unread by the statement that ends the function")
    generator = _unused(tree, f"stream_{streamed.name}")
    begins = removed_lines([streamed, *loaders])
    edits = _others(tree, loop, lists, owned, loaders, functions, begins)
    edits += without_beginnings(tree, [streamed, *loaders])
    spaced = bool(loaders)
    edits += generator_edits(tree, loop, streamed, generator, move.carried, edits, begins, spaced)
    edits += _consume(tree, consumer, streamed.name, generator, drain, move.checks)
    unseen = not loaders and _unobservable(tree, loop, streamed, owned, consumer, move)
    applicability = Applicability.SAFE if reading.once and unseen else Applicability.UNSAFE
    by = f"`{tree.brief(consumer.call.func)}`" if consumer.call else "the loop that reads them"
    first = f"yield the tensors of `{streamed.name}` to {by}"
    return Fix(applicability, _title(first, loaders, owned), tuple(sorted(edits, key=_place)))


def _in_steps(
    tree: Tree,
    loop: cst.For,
    lists: Mapping[CollectedList, Sequence[Retention]],
    loaders: Mapping[CollectedList, StepLoader],
    functions: Functions,
) -> Fix:
    """Load the tensors of some lists in the step, and own those of the others."""
    owned = [one for one in lists if one not in loaders]
    edits = _others(tree, loop, lists, owned, loaders, functions, removed_lines(list(loaders)))
    edits += without_beginnings(tree, loaders)
    return Fix(Applicability.UNSAFE, _title("", loaders, owned), tuple(sorted(edits, key=_place)))


def _others(
    tree: Tree,
    loop: cst.For,
    lists: Mapping[CollectedList, Sequence[Retention]],
    owned: Sequence[CollectedList],
    loaders: Mapping[CollectedList, StepLoader],
    functions: Functions,
    begins: Set[cst.CSTNode],
) -> list[Edit]:
    edits = step_loader_edits(tree, loop, list(loaders.values()), begins) if loaders else []
    for one in owned:
        edits += own_on_host(tree, lists[one], functions)
    return edits


def _place(edit: Edit) -> tuple[int, int]:
    return edit.line, edit.column


def _can_follow(consumer: Consumer) -> bool:
    if consumer.returns or isinstance(consumer.statement, cst.SimpleStatementSuite):
        return False
    if consumer.call is not None:
        return True
    return not any(isinstance(node, cst.Return) for node in walk(consumer.statement, skip=(cst.FunctionDef,)))


def _unused(tree: Tree, name: str) -> str:
    while name in tree.names:
        name += "_"
    return name


def _consume(
    tree: Tree, consumer: Consumer, name: str, generator: str, drain: bool, checks: Sequence[Statement]
) -> list[Edit]:
    """Hand the generator to the consumer, read what the consumer may have left, and check what was found."""
    statement = consumer.guard or consumer.statement
    behind = (tree.end(statement)[0] + 1, 1)
    edits = [replace(tree, consumer.in_place(tree), name if drain else f"{generator}()")]
    if drain:
        first = tree.start(consumer.statement)[0]
        indent, unit = tree.indent(statement), tree.indent_step
        rest = (
            f"{indent}for _ in {name}:\n{indent}{unit}pass  # Sort what the consumer has left unread, too.\n"
        )
        edits += [insert((first, 1), f"{indent}{name} = {generator}()\n"), insert(behind, rest)]
    for check in checks:
        edits.append(insert(behind, rewritten(tree, first_line(tree, check), tree.end(check)[0], []) + "\n"))
    if checks:
        edits += delete_statements(tree, checks)
    if consumer.guard is not None:
        edits += unwrap(tree, consumer.guard, tuple(edits))
    return edits


def _unobservable(
    tree: Tree,
    loop: cst.For,
    streamed: CollectedList,
    owned: Sequence[CollectedList],
    consumer: Consumer,
    move: Move,
) -> bool:
    """Whether nothing can tell that the loop's body now runs while its first list is consumed."""
    appends = [append for one in (streamed, *owned) for append in one.appends]
    used = mentioned(loop.body) - bound_names(loop)
    return (
        isinstance(loop.iter, cst.Name)
        and all(isinstance(append, cst.Expr) for append in appends)  # A dict loads a name once.
        and not move.between
        and not move.carried
        and consumer.guard is None
        and is_pure(loop, appends)
        and not used & mentioned(consumer.statement) - {streamed.name}
        and not any(_computed_with(tree, use) for one in owned for use in one.reads)
    )


def _computed_with(tree: Tree, use: cst.Name) -> bool:
    """Whether arithmetic waits for the tensors of an owned list, so that their device may matter."""
    loop = tree.parent(use)
    return isinstance(loop, cst.For) and computes_with(loop)


def _title(first: str, loaders: Mapping[CollectedList, StepLoader], owned: Sequence[CollectedList]) -> str:
    parts = [first] if first else []
    if loaders:
        names = " and ".join(f"`{one.name}`" for one in loaders)
        parts.append(f"load those of {names} in their step" if first else f"load {names} in their step")
    if owned:
        parts.append("own the rest on the host")
    return ", ".join(parts)
