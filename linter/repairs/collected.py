"""Lists and dicts that a loop fills: where they begin, what is put into them, and where else they are used."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import libcst as cst
from loaderlint.linter.findings import Edit
from loaderlint.linter.repairs.edit import delete_line, replace
from loaderlint.linter.repairs.tree import Refused, Tree


@dataclass(frozen=True, slots=True)
class CollectedList:
    """`beginning` is the `name = []`, `appends` the statements `name.append(x)`, `reads` all other uses.

    Of a dict these are `name = {}`, `name[key] = x` and `name.items()`.
    """

    name: str
    beginning: cst.SimpleStatementLine
    appends: tuple[cst.Expr | cst.Assign, ...]
    reads: tuple[cst.Name | cst.Call, ...]


def collected_list(tree: Tree, name: str, loop: cst.For | cst.FunctionDef) -> CollectedList:
    """The list `name` that `loop`, or a nested function, fills.

    Raises `Refused` if anything else fills it or reads it meanwhile.
    """
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


def collected_dict(tree: Tree, name: str, loop: cst.For) -> CollectedList:
    """The dict `name` that `loop` fills, and whose items are all that is read. Raises `Refused` for any other."""
    first, *others = tree.names.get(name) or [None]
    if first is None:
        raise Refused(f"`{name}` is not a local dict")
    beginning = _beginning(tree, first, loop)
    stores, reads = [], []
    for use in others:
        if tree.inside(use, loop):
            stores.append(_store(tree, use))
        else:
            reads.append(_items(tree, use))
    return CollectedList(name, beginning, tuple(stores), tuple(reads))


def _store(tree: Tree, use: cst.Name) -> cst.Assign:
    subscript = tree.parent(use)
    target = tree.parent(subscript)
    statement = tree.parent(target)
    if (
        isinstance(target, cst.AssignTarget)
        and isinstance(subscript, cst.Subscript)
        and subscript.value is use
    ):
        one = isinstance(statement, cst.Assign) and len(statement.targets) == 1 and len(subscript.slice) == 1
        if one and isinstance(subscript.slice[0].slice, cst.Index):
            return statement
    raise Refused(f"`{use.value}` is not only filled by the loop, see line {tree.start(use)[0]}")


def _items(tree: Tree, use: cst.Name) -> cst.Call:
    attribute = tree.parent(use)
    call = tree.parent(attribute)
    if (
        isinstance(attribute, cst.Attribute)
        and attribute.attr.value == "items"
        and isinstance(call, cst.Call)
    ):
        return call
    raise Refused(f"`{use.value}` is used in line {tree.start(use)[0]} for more than its items")


def _beginning(tree: Tree, name: cst.Name, loop: cst.For | cst.FunctionDef) -> cst.SimpleStatementLine:
    line = tree.statement(name)
    same_block = tree.parent(line) is tree.parent(loop) and isinstance(line, cst.SimpleStatementLine)
    if not same_block or len(line.body) != 1 or name.value not in _beginnings(line.body[0]):
        raise Refused(f"`{name.value}` does not begin empty beside the loop")
    return line


def _beginnings(statement: cst.CSTNode) -> dict[str, cst.BaseExpression]:
    """What `A = []`, `A: list[T] = []` or `A, B = [], {}` set to something empty, by name; else nothing."""
    if isinstance(statement, cst.AnnAssign):
        targets, values = [statement.target], [statement.value]
    elif isinstance(statement, cst.Assign) and len(statement.targets) == 1:
        targets, values = [statement.targets[0].target], [statement.value]
        if isinstance(targets[0], cst.Tuple) and isinstance(values[0], cst.Tuple):
            targets, values = ([part.value for part in side[0].elements] for side in (targets, values))
    else:
        return {}
    if len(targets) != len(values) or not all(isinstance(target, cst.Name) for target in targets):
        return {}
    names = (target.value for target in targets)
    return dict(zip(names, values)) if all(map(_is_empty, values)) else {}


def _is_empty(value: cst.CSTNode | None) -> bool:
    if isinstance(value, (cst.List, cst.Dict)):
        return not value.elements
    if not isinstance(value, cst.Call) or value.args:
        return False
    made = value.func.value if isinstance(value.func, cst.Subscript) else value.func
    return isinstance(made, cst.Name) and made.value in ("list", "dict")


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


def removed_lines(lists: Iterable[CollectedList]) -> set[cst.CSTNode]:
    """The lines of which nothing is left once these are not made any more."""
    names = {one.name for one in lists}
    return {one.beginning for one in lists if _beginnings(one.beginning.body[0]).keys() <= names}


def without_beginnings(tree: Tree, lists: Iterable[CollectedList]) -> Iterator[Edit]:
    """Remove the `[]` or `{}` of each, and the whole line where that is all there is on it."""
    lines: dict[cst.SimpleStatementLine, set[str]] = {}
    for one in lists:
        lines.setdefault(one.beginning, set()).add(one.name)
    for line, gone in lines.items():
        kept = {
            name: tree.text(value) for name, value in _beginnings(line.body[0]).items() if name not in gone
        }
        if kept:
            yield replace(tree, line.body[0], f"{', '.join(kept)} = {', '.join(kept.values())}")
        else:
            yield delete_line(tree, line)
