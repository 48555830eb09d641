"""Lists that a loop fills: where they begin, what is appended to them, and where else they are used."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import libcst as cst
from loaderlint.linter.findings import Edit
from loaderlint.linter.repairs.edit import delete_line, replace
from loaderlint.linter.repairs.tree import Refused, Tree


@dataclass(frozen=True, slots=True)
class CollectedList:
    """`beginning` is the `name = []`, `appends` the statements `name.append(x)`, `reads` all other uses."""

    name: str
    beginning: cst.SimpleStatementLine
    appends: tuple[cst.Expr, ...]
    reads: tuple[cst.Name, ...]


def collected_list(tree: Tree, name: str, loop: cst.For | cst.FunctionDef) -> CollectedList:
    """The list `name` that `loop`, or a nested function, fills. Raises `Refused` if anything else fills it or reads it meanwhile."""
    first, *others = tree.names.get(name) or [None]
    if first is None:
        raise Refused(f"`{name}` is not a local list")
    beginning = _beginning(tree, first, loop)
    scope = loop if isinstance(loop, cst.FunctionDef) else tree.scope(loop)
    appends, reads = [], []
    for use in others:
        statement = _append(tree, use)
        if tree.inside(use, loop) and statement is not None and tree.scope(use) is scope:
            appends.append(statement)
        elif tree.start(use) < tree.end(loop):
            raise Refused(
                f"`{name}` is also used in line {tree.start(use)[0]}, before the loop has filled it"
            )
        else:
            reads.append(use)
    return CollectedList(name, beginning, tuple(appends), tuple(reads))


def _beginning(tree: Tree, name: cst.Name, loop: cst.For | cst.FunctionDef) -> cst.SimpleStatementLine:
    line = tree.statement(name)
    same_block = tree.parent(line) is tree.parent(loop) and isinstance(line, cst.SimpleStatementLine)
    if not same_block or len(line.body) != 1 or name.value not in _empty_lists(line.body[0]):
        raise Refused(f"`{name.value}` does not begin as an empty list beside the loop")
    return line


def _empty_lists(statement: cst.CSTNode) -> list[str]:
    """Names that `A = []`, `A: list[T] = []` or `A, B = [], []` set to an empty list; else none."""
    if isinstance(statement, cst.AnnAssign):
        targets, values = [statement.target], [statement.value]
    elif isinstance(statement, cst.Assign) and len(statement.targets) == 1:
        targets, values = [statement.targets[0].target], [statement.value]
        if isinstance(targets[0], cst.Tuple) and isinstance(values[0], cst.Tuple):
            targets, values = ([part.value for part in side[0].elements] for side in (targets, values))
    else:
        return []
    if len(targets) != len(values) or not all(isinstance(target, cst.Name) for target in targets):
        return []
    return [target.value for target in targets] if all(map(_is_empty_list, values)) else []


def _is_empty_list(value: cst.CSTNode | None) -> bool:
    if isinstance(value, cst.List):
        return not value.elements
    if not isinstance(value, cst.Call) or value.args:
        return False
    made = value.func.value if isinstance(value.func, cst.Subscript) else value.func
    return isinstance(made, cst.Name) and made.value == "list"


def _append(tree: Tree, use: cst.Name) -> cst.Expr | None:
    """The statement `use.append(x)`, if that is what `use` stands in."""
    attribute = tree.parent(use)
    if not isinstance(attribute, cst.Attribute) or attribute.attr.value != "append":
        return None
    call = tree.parent(attribute)
    if not isinstance(call, cst.Call) or len(call.args) != 1 or call.args[0].star or call.args[0].keyword:
        return None
    statement = tree.parent(call)
    return statement if isinstance(statement, cst.Expr) else None


def without_beginnings(tree: Tree, lists: Iterable[CollectedList]) -> Iterator[Edit]:
    """Remove the `[]` of each list, and the whole line where that is all there is on it."""
    lines: dict[cst.SimpleStatementLine, set[str]] = {}
    for one in lists:
        lines.setdefault(one.beginning, set()).add(one.name)
    for line, gone in lines.items():
        kept = [name for name in _empty_lists(line.body[0]) if name not in gone]
        if kept:
            values = ", ".join(["[]"] * len(kept))
            yield replace(tree, line.body[0], f"{', '.join(kept)} = {values}")
        else:
            yield delete_line(tree, line)
