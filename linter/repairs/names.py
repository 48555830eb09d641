"""Which names a piece of code binds, and which it reads before it has bound them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import libcst as cst
from loaderlint.linter.reading.nodes import children, walk

_OWN_SCOPE = (cst.FunctionDef, cst.Lambda, cst.ClassDef)
# What changes a container that lies in another one; a tensor that lies in one is not part of it.
_CONTAINER_METHODS = ("append", "extend", "insert", "add", "update", "setdefault", "pop", "remove", "clear")
# By exact type: LibCST's classes are abstract base classes, for which isinstance is slow.
_BINDING = {
    cst.AssignTarget, cst.AnnAssign, cst.AugAssign, cst.For, cst.NamedExpr, cst.FunctionDef, cst.ClassDef, cst.AsName,
    cst.ImportAlias, cst.Del, cst.MatchAs, cst.MatchStar,
}  # fmt: skip
_BINDERS = (cst.AssignTarget, cst.AnnAssign, cst.AugAssign, cst.For, cst.NamedExpr)


def bound_names(*nodes: cst.CSTNode) -> set[str]:
    """Names that these statements bind in the function they stand in."""
    found: set[str] = set()
    for node in walk(*nodes, skip=_OWN_SCOPE):
        if type(node) in _BINDING:
            found |= _bound_by(node)
    return found


def _bound_by(node: cst.CSTNode) -> set[str]:
    if isinstance(node, _BINDERS):
        return target_names(node.target)
    if isinstance(node, (cst.FunctionDef, cst.ClassDef)):
        return {node.name.value}
    if isinstance(node, cst.AsName):
        return target_names(node.name)
    if isinstance(node, cst.ImportAlias) and node.asname is None:
        return {next(part.value for part in walk(node.name) if isinstance(part, cst.Name))}
    if isinstance(node, cst.Del):
        return target_names(node.target)
    if isinstance(node, (cst.MatchAs, cst.MatchStar)) and node.name is not None:
        return {node.name.value}
    return set()


def target_names(target: cst.CSTNode) -> set[str]:
    """The names in an assignment's target; subscripts and attributes bind none."""
    nodes = walk(target, skip=(cst.Subscript, cst.Attribute))
    return {node.value for node in nodes if isinstance(node, cst.Name)}


def changed_objects(*nodes: cst.CSTNode, but: Sequence[cst.BaseSmallStatement] = ()) -> set[str]:
    """Variables whose objects these statements change: by a method called for its effect, or by a store.

    The statements in `but` do not count.
    """
    found: set[str] = set()
    stores = {target for one in but if isinstance(one, cst.Assign) for target in one.targets}
    for node in walk(*nodes, skip=_OWN_SCOPE):
        target: cst.CSTNode | None = None
        if node in stores:
            continue
        if isinstance(node, cst.Expr) and node not in but and isinstance(node.value, cst.Call):
            target = node.value.func
        elif isinstance(node, (cst.AssignTarget, cst.AugAssign, cst.AnnAssign, cst.Del)):
            target = node.target
        if isinstance(target, (cst.Attribute, cst.Subscript)):
            found |= _changed_by(target)
    return found


def _changed_by(target: cst.Attribute | cst.Subscript) -> set[str]:
    """The variable in front of `a.b`, `a[b]`, `a[b][c]` or `a.setdefault(b, []).append`."""
    owner = target.value
    inner = isinstance(target, cst.Subscript) or target.attr.value in _CONTAINER_METHODS
    while inner and not isinstance(owner, cst.Name):
        if isinstance(owner, cst.Call):
            owner = owner.func
        elif isinstance(owner, (cst.Subscript, cst.Attribute)):
            owner = owner.value
        else:
            return set()
    return {owner.value} if isinstance(owner, cst.Name) else set()


def mentioned(*nodes: cst.CSTNode | None) -> set[str]:
    """Every name that stands in these nodes as a variable of theirs, read or bound."""
    found: set[str] = set()
    todo = [node for node in nodes if node is not None]
    while todo:
        node = todo.pop()
        if isinstance(node, cst.Name):
            found.add(node.value)
        elif isinstance(node, (cst.Attribute, cst.Arg)):
            todo.append(node.value)
        elif isinstance(node, cst.BaseComp):
            found |= _mentioned_in_comprehension(node)
        else:
            todo.extend(children(node))
    return found


def _mentioned_in_comprehension(node: cst.BaseComp) -> set[str]:
    own: set[str] = set()
    clause: cst.CompFor | None = node.for_in
    while clause is not None:
        own |= target_names(clause.target)
        clause = clause.inner_for_in
    return mentioned(*children(node)) - own | mentioned(node.for_in.iter)


def exposed_reads(statements: Iterable[cst.CSTNode]) -> set[str]:
    """Names that the statements may read before they have bound them themselves."""
    found: set[str] = set()
    bound: set[str] = set()
    for statement in statements:
        found |= _exposed(statement) - bound
        bound |= _surely_bound(statement)
    return found


def _body(node: cst.If | cst.Else | cst.For | cst.While | cst.With) -> Sequence[cst.CSTNode]:
    return node.body.body


def _exposed(node: cst.CSTNode) -> set[str]:
    if isinstance(node, cst.For):
        body = exposed_reads(_body(node)) - target_names(node.target)
        return _reads(node.iter) | body | (exposed_reads(_body(node.orelse)) if node.orelse else set())
    if isinstance(node, cst.With):
        items = exposed_reads(node.items)
        return items | exposed_reads(_body(node)) - bound_names(*node.items)
    if isinstance(node, cst.If):
        return set().union(*(_reads(test) | exposed_reads(body) for test, body in if_branches(node)))
    return _reads(node)


def _surely_bound(node: cst.CSTNode) -> set[str]:
    if isinstance(node, cst.With):
        return bound_names(*node.items).union(*map(_surely_bound, _body(node)))
    if isinstance(node, cst.If):
        branches = if_branches(node)
        if branches[-1][0] is not None:
            return set()
        return set.intersection(*(set().union(*map(_surely_bound, body)) for _, body in branches))
    if isinstance(node, (cst.SimpleStatementLine, cst.SimpleStatementSuite)):
        return set().union(*map(_surely_bound, node.body))
    if isinstance(node, (cst.Assign, cst.AnnAssign, cst.WithItem)):
        return bound_names(node)
    return set()


def if_branches(node: cst.If) -> list[tuple[cst.BaseExpression | None, Sequence[cst.CSTNode]]]:
    """(condition, statements) of each branch of an if/elif/else chain, None for else."""
    branches: list[tuple[cst.BaseExpression | None, Sequence[cst.CSTNode]]] = []
    rest: cst.If | cst.Else | None = node
    while isinstance(rest, cst.If):
        branches.append((rest.test, _body(rest)))
        rest = rest.orelse
    if rest is not None:
        branches.append((None, _body(rest)))
    return branches


def _reads(node: cst.CSTNode | None) -> set[str]:
    """Names read in an expression or plain statement, without regard to any order inside it."""
    if node is None:
        return set()
    if isinstance(node, cst.SimpleStatementLine):
        return exposed_reads(node.body)
    if isinstance(node, cst.Assign):
        targets = [target.target for target in node.targets]
        return mentioned(node.value) | set().union(*map(_reads_in_target, targets))
    if isinstance(node, cst.AnnAssign):
        return _reads_in_target(node.target) | _reads(node.value)
    return mentioned(node)


def _reads_in_target(target: cst.CSTNode) -> set[str]:
    return mentioned(target) - target_names(target)
