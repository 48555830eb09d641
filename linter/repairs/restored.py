"""Saved names that are registered again: whatever the module still has under such a name goes first."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst
from loaderlint.linter.findings import Applicability, Edit, Fix
from loaderlint.linter.interpreter.events import Observation
from loaderlint.linter.reading.nodes import walk
from loaderlint.linter.repairs.edit import insert
from loaderlint.linter.repairs.tree import Refused, Tree

_REGISTER = ("register_parameter", "register_buffer")
_ASKS = ("hasattr", "delattr")


def delete_first(tree: Tree, event: Observation) -> Fix:
    """Delete the attribute before each registration of its name on the module. Raises `Refused`."""
    edits = tuple(
        sorted(_deletions(tree, event.subject), key=lambda edit: (edit.line, edit.column)),
    )
    if not edits:
        raise Refused(f"`{tree.brief(event.at.node)}` has no line of its own")
    title = f"delete what `{event.subject}` still has under a name before it is registered"
    return Fix(Applicability.UNSAFE, title, edits)


def _deletions(tree: Tree, module: str) -> Iterator[Edit]:
    calls = [node for node in walk(tree.unit.function) if isinstance(node, cst.Call)]
    handled = {
        (_loop(tree, call), tree.text(call.args[1].value))
        for call in calls
        if isinstance(call.func, cst.Name) and call.func.value in _ASKS and len(call.args) > 1
    }
    for call in calls:
        if not isinstance(call.func, cst.Attribute) or call.func.attr.value not in _REGISTER or not call.args:
            continue
        name = tree.text(call.args[0].value)
        if tree.text(call.func.value) != module or (_loop(tree, call), name) in handled:
            continue
        line = tree.parent(tree.parent(call))
        alone = isinstance(line, cst.SimpleStatementLine) and len(line.body) == 1
        if not alone or not all(part.isidentifier() for part in (name, *module.split("."))):
            raise Refused(f"`{tree.brief(call)}` has no line of its own")
        indent, unit = tree.indent(line), tree.indent_step
        text = f"{indent}if hasattr({module}, {name}):\n{indent}{unit}delattr({module}, {name})\n"
        yield insert((tree.start(line)[0], 1), text)


def _loop(tree: Tree, node: cst.CSTNode) -> cst.CSTNode:
    """The innermost loop, or the function, that `node` stands in: a name means the same throughout one step of it."""
    return next(one for one in tree.ancestors(node) if isinstance(one, (cst.For, cst.While, cst.FunctionDef)))
