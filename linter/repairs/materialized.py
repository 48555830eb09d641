"""A whole stream put into a collection: iterate the stream itself instead."""

from __future__ import annotations

import libcst as cst
from loaderlint.linter.findings import Applicability, Edit, Fix
from loaderlint.linter.interpreter.events import Retention
from loaderlint.linter.reading.nodes import walk
from loaderlint.linter.repairs.attributes import refuse_if_set_meanwhile
from loaderlint.linter.repairs.callees import Functions, reading_of
from loaderlint.linter.repairs.consumer import Consumer, consumer_of, only_consumer
from loaderlint.linter.repairs.copies import host_copy
from loaderlint.linter.repairs.edit import between, delete_line, replace
from loaderlint.linter.repairs.names import bound_names, changed_objects, mentioned, target_names
from loaderlint.linter.repairs.purity import is_pure_expression
from loaderlint.linter.repairs.tree import Refused, Tree

_COLLECTIONS = ("list", "tuple")
_ASSIGNMENTS = (cst.Assign, cst.AnnAssign)


def consumer_of_collection(tree: Tree, event: Retention) -> Consumer:
    """The one place that reads the collection. Raises `Refused` if there are others, or it needs a list."""
    node = event.kept.node
    assignment, scope = tree.parent(node), tree.scope(node)
    if not isinstance(assignment, _ASSIGNMENTS):
        return consumer_of(tree, node, scope)
    name = _single_target(tree, assignment)
    uses = [use for use in tree.names[name] if tree.start(use) > tree.end(node)]
    consumer = only_consumer(tree, name, uses, scope)
    if consumer.guard is not None:
        raise Refused(f"`{name}` is tested in line {tree.start(consumer.guard)[0]}")
    _refuse_other_paths(tree, assignment, consumer)
    return consumer


def iterate_lazily(tree: Tree, event: Retention, consumer: Consumer, functions: Functions) -> Fix:
    """Drop a `list(...)`, or make a list comprehension a generator expression. Raises `Refused`."""
    node = event.kept.node
    source = _source(tree, node)
    assignment = tree.parent(node)
    rebound = {_single_target(tree, assignment)} if isinstance(assignment, _ASSIGNMENTS) else set()
    own = target_names(node.for_in.target) if isinstance(node, cst.ListComp) else set()
    iterated = node.for_in.iter if isinstance(node, cst.ListComp) else source
    stream = mentioned(iterated) - rebound
    unseen = _unchanged_meanwhile(tree, node, consumer, mentioned(node) - own - rebound, stream)
    safe = (
        unseen
        and reading_of(tree, consumer, functions).once
        and (source is not node or isinstance(node, cst.ListComp) and _is_plain(node))
    )
    applicability = Applicability.SAFE if safe else Applicability.UNSAFE
    return Fix(applicability, *_lazy(tree, node, source, assignment, consumer))


def _source(tree: Tree, node: cst.CSTNode) -> cst.BaseExpression:
    """What is iterated instead of `node`: the argument of `list(...)`, or `node` itself as a generator."""
    if isinstance(node, cst.ListComp):
        if node.for_in.asynchronous:
            raise Refused("an asynchronous comprehension is not rewritten")
        return node
    name = node.func.value if isinstance(node, cst.Call) and isinstance(node.func, cst.Name) else ""
    if name in _COLLECTIONS and len(node.args) == 1 and not node.args[0].star:
        return node.args[0].value
    if name == "sorted":
        raise Refused("`sorted(...)` needs the whole stream, and its order may matter")
    if isinstance(node, (cst.Tuple, cst.List)) and tree.around is not None:
        return node
    raise Refused(f"`{name or type(node).__name__}` builds a collection that is looked up, not only iterated")


def _single_target(tree: Tree, assignment: cst.Assign | cst.AnnAssign) -> str:
    targets = (
        [assignment.target]
        if isinstance(assignment, cst.AnnAssign)
        else [t.target for t in assignment.targets]
    )
    if len(targets) != 1 or not isinstance(targets[0], cst.Name):
        raise Refused(f"`{tree.brief(assignment)}` keeps the collection in more than a plain variable")
    if any(isinstance(around, (cst.For, cst.While)) for around in tree.ancestors(assignment)):
        raise Refused("the collection is made inside a loop")
    return targets[0].value


def _refuse_other_paths(tree: Tree, assignment: cst.CSTNode, consumer: Consumer) -> None:
    """The stream must be open where it is consumed, so both stand in one block, or the consumer deeper."""
    block = tree.parent(tree.statement(assignment))
    if not tree.inside(consumer.statement, block):
        raise Refused(
            f"line {tree.start(consumer.statement)[0]} reads the collection outside the block that makes it"
        )


def _unchanged_meanwhile(
    tree: Tree, node: cst.CSTNode, consumer: Consumer, needed: set[str], stream: set[str]
) -> bool:
    """Whether what is now computed later cannot have changed by then. Raises `Refused` where it has.

    Nobody else may use the stream, and names that are `needed` may be looked at, but not changed.
    """
    for name in stream:
        for use in tree.names.get(name, ()):
            if tree.start(use) > tree.end(node):
                raise Refused(f"`{name}` is used again in line {tree.start(use)[0]}")
    last, variables = tree.end(consumer.statement), bound_names(tree.scope(node).body)
    lines = (one for one in walk(tree.scope(node)) if isinstance(one, cst.SimpleStatementLine))
    refuse_if_set_meanwhile(tree, [node], (one for one in lines if tree.end(node) < tree.start(one) < last))
    uses = [
        use for name in needed for use in tree.names.get(name, ()) if tree.end(node) < tree.start(use) < last
    ]
    for use in uses:
        statement = tree.statement(use)
        plain = isinstance(statement, cst.SimpleStatementLine)
        changed = changed_objects(statement) & variables if plain else set()
        if use.value in bound_names(statement) | changed:
            raise Refused(f"`{use.value}` is changed in line {tree.start(use)[0]}, before the stream is read")
    return not uses


def _is_plain(node: cst.ListComp) -> bool:
    """Whether nothing can tell that elements and conditions are now computed one by one."""
    conditions = [condition.test for condition in node.for_in.ifs]
    return node.for_in.inner_for_in is None and is_pure_expression(node.elt, *conditions)


def _lazy(
    tree: Tree,
    node: cst.BaseExpression,
    source: cst.BaseExpression,
    assignment: cst.CSTNode,
    consumer: Consumer,
) -> tuple[str, tuple[Edit, ...]]:
    if isinstance(node, cst.ListComp):
        return "make the list comprehension a generator expression", tuple(_generator_expression(tree, node))
    if isinstance(node, (cst.Tuple, cst.List)):
        return _chained(tree, node)
    title = f"iterate `{tree.brief(source)}` without `{tree.brief(node.func)}(...)`"
    line = tree.statement(node)
    alone = isinstance(line, cst.SimpleStatementLine) and len(line.body) == 1
    if isinstance(assignment, cst.Assign) and tree.text(assignment.targets[0].target) == tree.text(source):
        if not alone or len(tree.parent(line).body) == 1:
            raise Refused(f"`{tree.brief(assignment)}` cannot simply be removed")
        return title, (delete_line(tree, line),)
    if isinstance(assignment, _ASSIGNMENTS) and isinstance(source, cst.Name):
        if alone and len(tree.parent(line).body) > 1:
            return title, (delete_line(tree, line), replace(tree, consumer.use, source.value))
    text = tree.text(source)
    if isinstance(source, cst.GeneratorExp) and not source.lpar:
        text = f"({text})"
    return title, (replace(tree, node, text),)


def _chained(tree: Tree, node: cst.Tuple | cst.List) -> tuple[str, tuple[Edit, ...]]:
    """`(*seen, *weights)` becomes `itertools.chain(seen, weights)`."""
    chain, imports = tree.around.imported("itertools", "chain")
    parts = [
        tree.text(part.value) if isinstance(part, cst.StarredElement) else f"[{tree.text(part.value)}]"
        for part in node.elements
    ]
    return f"chain the parts of `{tree.brief(node)}`", (
        replace(tree, node, f"{chain}({', '.join(parts)})"),
        *imports,
    )


def _generator_expression(tree: Tree, node: cst.ListComp) -> list[Edit]:
    line, column, last_line, last_column = tree.unit.range(node)
    argument = tree.parent(node)
    call = tree.parent(argument) if isinstance(argument, cst.Arg) else None
    sole = isinstance(call, cst.Call) and len(call.args) == 1 and not isinstance(argument.comma, cst.Comma)
    left, right = ("", "") if sole and not node.lpar and argument.keyword is None else ("(", ")")
    return [
        between((line, column), (line, column + 1), left),
        between((last_line, last_column - 1), (last_line, last_column), right),
    ]


def own_whole_stream(tree: Tree, event: Retention) -> Fix:
    """The last resort for a collection that is really needed: every tensor in it owned. Raises `Refused`."""
    call = event.kept.node
    function = call.func if isinstance(call, cst.Call) else None
    kind = function.value if isinstance(function, cst.Name) else ""
    kind = function.attr.value if isinstance(function, cst.Attribute) else kind
    if (
        kind not in ("list", "tuple", "dict", "extend", "update")
        or len(call.args) != 1
        or not isinstance(call.args[0].value, cst.Name)
    ):
        raise Refused(f"`{tree.brief(call)}` has no place where its tensors could be owned")
    parts = _parts(tree, call)
    if len(parts) > 2 and kind in ("dict", "update"):
        raise Refused(f"the items of `{tree.brief(call)}` are more than a name and a tensor")
    stream, copy = tree.text(call.args[0].value), host_copy(tree)
    name, tensor, *more = parts
    each = f"for {', '.join(parts)} in {stream}"
    item = f"({', '.join([name, copy.of(tensor), *more])})"
    text = {
        "list": f"[{item} {each}]",
        "tuple": f"tuple({item} {each})",
        "dict": f"{{{name}: {copy.of(tensor)} {each}}}",
    }.get(kind, f"{tree.text(call.func)}({item} {each})")
    title = f"own every tensor of `{stream}`: this holds the whole checkpoint in host memory"
    return Fix(Applicability.UNSAFE, title, (*copy.imports, replace(tree, call, text)))


def _parts(tree: Tree, call: cst.Call) -> list[str]:
    """What the parts of a collection's items are called, the second of them the tensor. Raises `Refused`."""
    layer = tree.parent(call)
    targets = layer.targets if isinstance(layer, cst.Assign) else ()
    names = {target.target.value for target in targets if isinstance(target.target, cst.Name)}
    parts = ["name", "tensor"]
    unpacked = set()
    for loop in (node for node in walk(tree.scope(call)) if isinstance(node, (cst.For, cst.CompFor))):
        reads = loop.iter is call or isinstance(loop.iter, cst.Name) and loop.iter.value in names
        if reads and isinstance(loop.target, cst.Tuple):
            found = [tree.text(element.value) for element in loop.target.elements]
            unpacked.add(len(found))
            parts += [f"part{number}" for number in range(len(parts), len(found))]
            for place, text in enumerate(found):
                if place > 1 and text.isidentifier() and text != "_":
                    parts[place] = text
    if len(unpacked) > 1 or any(count < 2 for count in unpacked):
        raise Refused(f"the items of `{tree.brief(call)}` are not all a name and a tensor")
    return parts
