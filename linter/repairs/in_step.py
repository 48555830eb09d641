"""A loop over a collected list that becomes a function, which is called in the step that collected."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass

import libcst as cst
from loaderlint.linter.findings import Edit
from loaderlint.linter.interpreter.events import Retention
from loaderlint.linter.reading.nodes import walk
from loaderlint.linter.repairs.attributes import refuse_if_set_meanwhile
from loaderlint.linter.repairs.callees import leaves
from loaderlint.linter.repairs.collected import CollectedList
from loaderlint.linter.repairs.collecting import collected_in
from loaderlint.linter.repairs.edit import (
    between,
    delete_statements,
    first_line,
    insert,
    needs_blank_above,
    replace,
    rewritten,
)
from loaderlint.linter.repairs.moving import blocks_after, captured, only_added_to, refuse_what_cannot_move
from loaderlint.linter.repairs.names import bound_names, changed_objects, exposed_reads, mentioned
from loaderlint.linter.repairs.tree import Refused, Statement, Tree

_WHY = "# Each tensor is lent for one step only: load it in that step."


@dataclass(frozen=True, slots=True)
class StepLoader:
    """The function's text; `preludes` go before it, `removed` and the `loop` that it was go altogether."""

    name: str
    text: str
    preludes: tuple[Statement, ...]
    removed: tuple[Statement, ...]
    loop: cst.For
    edits: tuple[Edit, ...]


def step_loader(
    tree: Tree, collected: CollectedList, anchor: cst.For | cst.FunctionDef, event: Retention
) -> StepLoader:
    """Make the one loop over `collected` a function that `anchor`, which fills it, calls. Raises `Refused`."""
    items, removed = _iterated(tree, collected)
    loop = _loop_over(tree, collected.name, items, anchor)
    parameters = _parameters(tree, loop)
    rest = [one for one in _statements_between(tree, anchor, loop) if one not in removed]
    preludes = _preludes(rest, loop)
    _refuse_dependencies(tree, anchor, loop, preludes, [one for one in rest if one not in preludes])
    name = f"load_{collected.name.removeprefix('load_')}"
    while name in tree.names:
        name += "_"
    if collected_in(tree, loop, event):
        raise Refused(f"the loop over `{collected.name}` collects its tensors again")
    body = rewritten(tree, tree.start(loop)[0] + 1, tree.end(loop)[0], list(_returns(tree, loop)))
    indent, unit = tree.indent(loop), tree.indent(loop.body.body[0]).removeprefix(tree.indent(loop))
    comments = "".join(_comments_above(tree, one) for one in (*removed, loop))
    comment = loop.body.header.comment
    beside = f"  {comment.value}" if comment is not None else ""
    head = f"{indent}def {name}({', '.join(parameters)}):{beside}\n{indent}{unit}{_WHY}\n"
    calls = [edit for append in collected.appends for edit in _call(tree, append, name, len(parameters))]
    return StepLoader(name, f"{comments}{head}{body}\n", tuple(preludes), removed, loop, tuple(calls))


def _comments_above(tree: Tree, statement: Statement) -> str:
    lines = range(first_line(tree, statement), tree.start(statement)[0])
    return "".join(f"{tree.line(line)}\n" for line in lines)


def step_loader_edits(
    tree: Tree, anchor: cst.CSTNode, loaders: Sequence[StepLoader], removed: Collection[cst.CSTNode]
) -> list[Edit]:
    """Put the functions before `anchor`, with what they need, and remove the loops.

    The statements `removed` go from before it.
    """
    preludes = list(dict.fromkeys(one for loader in loaders for one in loader.preludes))
    place = first_line(tree, anchor)
    text = "\n" if needs_blank_above(tree, anchor, place, removed) else ""
    for prelude in preludes:
        text += rewritten(tree, first_line(tree, prelude), tree.end(prelude)[0], []) + "\n"
    text += ("\n" if preludes else "") + "".join(f"{loader.text}\n" for loader in loaders)
    edits = [insert((place, 1), text)]
    gone = (one for loader in loaders for one in (*loader.removed, loader.loop))
    edits += delete_statements(tree, [*preludes, *gone])
    return [*edits, *(edit for loader in loaders for edit in loader.edits)]


def _iterated(tree: Tree, collected: CollectedList) -> tuple[cst.BaseExpression, tuple[Statement, ...]]:
    """What is iterated of a list: itself, or the items of a dict that is made of it, and the line that makes it."""
    if len(collected.reads) != 1:
        raise Refused(f"`{collected.name}` is used more than once after it was filled")
    read = collected.reads[0]
    argument = tree.parent(read)
    call = tree.parent(argument) if isinstance(argument, cst.Arg) else None
    assigned = tree.parent(call) if isinstance(call, cst.Call) and len(call.args) == 1 else None
    if not isinstance(assigned, cst.Assign) or tree.text(call.func) != "dict":
        return read, ()
    line, target = tree.statement(assigned), assigned.targets[0].target
    uses = tree.names[target.value] if isinstance(target, cst.Name) else []
    if len(uses) != 2 or len(assigned.targets) != 1 or len(line.body) != 1:
        return read, ()
    items = tree.parent(tree.parent(uses[1]))
    asked = isinstance(items, cst.Call) and isinstance(items.func, cst.Attribute) and not items.args
    return (items, (line,)) if asked and items.func.attr.value == "items" else (read, ())


def _loop_over(
    tree: Tree, name: str, items: cst.BaseExpression, anchor: cst.For | cst.FunctionDef
) -> cst.For:
    loop = tree.parent(items)
    if not isinstance(loop, cst.For) or loop.iter is not items or loop.orelse or loop.asynchronous:
        raise Refused(f"`{name}` is not only iterated")
    if tree.parent(loop) is not tree.parent(anchor) or not isinstance(loop.body, cst.IndentedBlock):
        raise Refused(f"the loop over `{name}` does not stand beside the one that fills it")
    refuse_what_cannot_move(loop.body)
    jumps = (
        node for node in walk(loop.body, skip=(cst.FunctionDef, cst.Lambda)) if isinstance(node, cst.Break)
    )
    if any(leaves(jump, loop, tree) for jump in jumps):
        raise Refused(f"the loop over `{name}` may stop early")
    return loop


def _parameters(tree: Tree, loop: cst.For) -> list[str]:
    target = loop.target
    parts = [part.value for part in target.elements] if isinstance(target, cst.Tuple) else [target]
    if not all(isinstance(part, cst.Name) for part in parts):
        raise Refused(f"`{tree.brief(target)}` cannot be the parameters of a function")
    return [part.value for part in parts]


def _statements_between(tree: Tree, anchor: cst.CSTNode, loop: cst.For) -> list[Statement]:
    block = list(tree.parent(loop).body)
    between_them = block[block.index(anchor) + 1 : block.index(loop)]
    if any(isinstance(one, cst.Return) for one in walk(*between_them, skip=(cst.FunctionDef, cst.Lambda))):
        raise Refused("the function may return before the loop")
    if isinstance(anchor, cst.FunctionDef):
        uses = [use for use in tree.names.get(anchor.name.value, ()) if not tree.inside(use, anchor)]
        if not all(any(tree.inside(use, one) for one in between_them) for use in uses):
            raise Refused(f"`{anchor.name.value}` does not only run before the loop")
    return between_them


def _preludes(rest: Sequence[Statement], loop: cst.For) -> list[Statement]:
    """The assignments before the loop that what it does needs, in order."""
    found: list[Statement] = []
    needed = exposed_reads([loop]) - mentioned(loop.iter)
    for statement in reversed(rest):
        if not bound_names(statement) & needed:
            continue
        alone = isinstance(statement, cst.SimpleStatementLine) and len(statement.body) == 1
        if not alone or not isinstance(statement.body[0], (cst.Assign, cst.AnnAssign)):
            raise Refused(
                f"`{min(bound_names(statement) & needed)}` is set before the loop, by more than one line"
            )
        found.insert(0, statement)
        needed |= mentioned(statement)
    return found


def _refuse_dependencies(
    tree: Tree,
    anchor: cst.For | cst.FunctionDef,
    loop: cst.For,
    preludes: Sequence[Statement],
    rest: Sequence[Statement],
) -> None:
    """Refuse where it would be seen that the loop's body runs earlier, step by step."""
    own, ahead = bound_names(loop), bound_names(*preludes)
    later = [statement for block in blocks_after(tree, loop) for statement in block]
    outlive = own & (exposed_reads(later) | exposed_reads([loop]) | captured(tree, tree.scope(loop)))
    if outlive:
        raise Refused(f"`{min(outlive)}` is set by the loop and read in another step or after it")
    variables = bound_names(tree.scope(loop).body)
    filled = bound_names(anchor) | changed_objects(anchor) & variables
    for name in sorted(ahead):
        if sum(name in bound_names(one) for one in (*preludes, *rest)) > 1 or name in mentioned(anchor):
            raise Refused(f"`{name}` is used before the loop, too")
    early = mentioned(*preludes) & filled
    if early:
        raise Refused(f"`{min(early)}` is filled before what the loop needs is made")
    body = exposed_reads([loop]) - mentioned(loop.iter) - ahead
    stale = body & bound_names(anchor)
    if stale:
        raise Refused(f"`{min(stale)}` is set by the loop that fills the list")
    changed = (changed_objects(loop.body) & variables) - own - ahead
    others = (anchor, *rest)
    refuse_if_set_meanwhile(tree, [loop], others)
    added = only_added_to(tree, (changed | body) & variables, [loop, *others])
    seen = (changed & mentioned(*others) | body & changed_objects(*others) & variables) - added
    if seen:
        raise Refused(f"`{min(seen)}` is used before the loop")


def _returns(tree: Tree, loop: cst.For) -> Iterator[Edit]:
    """Each `continue` of the loop becomes a `return`."""
    for node in walk(loop.body, skip=(cst.FunctionDef, cst.Lambda)):
        if isinstance(node, cst.Continue) and leaves(node, loop, tree):
            yield replace(tree, node, "return")


def _call(tree: Tree, append: cst.Expr | cst.Assign, name: str, count: int) -> list[Edit]:
    """`A.append((name, w))`, and `A[name] = w`, become `load_A(name, w)`."""
    if isinstance(append, cst.Assign):
        if count != 2:
            raise Refused(f"`{tree.brief(append)}` does not show what the loop unpacks")
        key = append.targets[0].target.slice[0]
        return [
            between(tree.start(append), tree.start(key), f"{name}("),
            between(tree.end(key), tree.start(append.value), ", "),
            insert(tree.end(append), ")"),
        ]
    call = append.value
    value = call.args[0].value
    if count == 1:
        return [between(tree.start(append), tree.end(call.func), name)]
    plain = isinstance(value, cst.Tuple) and len(value.elements) == count and len(value.lpar) == 1
    if not plain or any(isinstance(part, cst.StarredElement) for part in value.elements):
        raise Refused(f"`{tree.brief(append)}` does not show what the loop unpacks")
    if tree.start(append)[0] == tree.end(append)[0]:
        return [
            between(tree.start(append), tree.start(value), name),
            between(tree.end(value), tree.end(append), ""),
        ]
    if "#" in tree.text(append):
        raise Refused(f"a comment in `{tree.brief(append)}` would be lost")
    return [replace(tree, append, f"{name}({', '.join(tree.text(part.value) for part in value.elements)})")]
