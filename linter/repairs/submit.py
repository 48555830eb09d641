"""A tensor that is handed to another thread: call the function in line instead."""

from __future__ import annotations

from collections.abc import Sequence

import libcst as cst
from loaderlint.linter.contracts import load_contracts
from loaderlint.linter.findings import Applicability, Edit, Fix
from loaderlint.linter.interpreter.events import Retention
from loaderlint.linter.repairs.edit import between, delete_line, replace
from loaderlint.linter.repairs.tree import Refused, Tree
from loaderlint.linter.repairs.unwrapping import needless_with, unwrap

# What returns when the futures are done: with nothing in them, at once.
_WAITS = ("wait", "as_completed")


def call_in_line(tree: Tree, events: Sequence[Retention]) -> Fix:
    """Replace each `executor.submit(f, a, w)` by `f(a, w)`. Raises `Refused` where what the calls return is used."""
    calls = [event.kept.node for event in events]
    if not all(isinstance(call, cst.Call) and _submits(call) for call in calls):
        raise Refused("only `submit(function, ...)` can become a call in line")
    removed = _without_list(tree, calls)
    executor = needless_with(tree, _executor(calls), [call.func.value for call in calls])
    edits = [*removed, *(_in_line(tree, call) for call in calls)]
    if executor is not None:
        edits += unwrap(tree, executor, tuple(edits))
    functions = dict.fromkeys(f"`{tree.brief(call.args[0].value)}`" for call in calls)
    title = f"call {' and '.join(functions)} in line instead of submitting it"
    return Fix(Applicability.UNSAFE, title, tuple(sorted(edits, key=lambda edit: (edit.line, edit.column))))


def futures_list(tree: Tree, call: cst.CSTNode) -> str:
    """The list of `futures.append(executor.submit(...))`; "" where the future is put elsewhere."""
    argument = tree.parent(call)
    append = tree.parent(argument) if isinstance(argument, cst.Arg) else None
    function = append.func if isinstance(append, cst.Call) else None
    if isinstance(function, cst.Attribute) and isinstance(function.value, cst.Name):
        return function.value.value if function.attr.value == "append" else ""
    return ""


def _submits(call: cst.Call) -> bool:
    if not isinstance(call.func, cst.Attribute) or not call.args:
        return False
    first = call.args[0]
    plain = isinstance(first.value, (cst.Name, cst.Attribute)) and not first.star and first.keyword is None
    # Other methods that submit take their arguments packed in a tuple.
    return plain and call.func.attr.value == "submit" and load_contracts().methods.get("submit") == "submit"


def _executor(calls: Sequence[cst.Call]) -> str:
    """The variable that all calls submit to; "" where there is no such one."""
    names = {call.func.value.value if isinstance(call.func.value, cst.Name) else "" for call in calls}
    return names.pop() if len(names) == 1 else ""


def _in_line(tree: Tree, call: cst.Call) -> Edit:
    statement = _unused_future(tree, call)
    if "#" in tree.text(statement):
        raise Refused("a comment in the submission would be lost")
    function = tree.text(call.args[0].value)
    arguments = [_argument(tree, argument) for argument in call.args[1:]]
    return replace(tree, statement, f"{function}({', '.join(arguments)})")


def _unused_future(tree: Tree, call: cst.Call) -> cst.Expr:
    """The statement that submits, if nobody wants the call's result: at most, it is waited for."""
    parent = tree.parent(call)
    if isinstance(parent, cst.Expr):
        return parent
    name = futures_list(tree, call)
    statement = tree.parent(tree.parent(parent)) if name else None
    if not isinstance(statement, cst.Expr):
        raise Refused("the future of the submission is used")
    beginnings, others = _beginnings(tree, name)
    if len(beginnings) != 1 or not all(
        _is_append(tree, use) or _wait(tree, use) is not None for use in others
    ):
        raise Refused("the future of the submission is used")
    return statement


def _beginnings(tree: Tree, name: str) -> tuple[list[cst.Name], list[cst.Name]]:
    """The uses of a variable that set it, and the others."""
    setting = (cst.AssignTarget, cst.AnnAssign)
    uses = tree.names[name]
    beginnings = [use for use in uses if isinstance(tree.parent(use), setting)]
    return beginnings, [use for use in uses if use not in beginnings]


def _is_append(tree: Tree, use: cst.Name) -> bool:
    attribute = tree.parent(use)
    if not isinstance(attribute, cst.Attribute) or attribute.attr.value != "append":
        return False
    return isinstance(tree.parent(tree.parent(attribute)), cst.Expr)


def _wait(tree: Tree, use: cst.Name) -> cst.CSTNode | None:
    """The statement that only waits for the futures: `wait(futures)`, or a loop over them that does no more."""
    node: cst.CSTNode = use
    if isinstance(tree.parent(node), cst.Arg):
        node = tree.parent(tree.parent(node))
        if (
            not isinstance(node, cst.Call)
            or node.args[0].value is not use
            or not _waits(tree.text(node.func))
        ):
            return None
    parent = tree.parent(node)
    if isinstance(parent, cst.Expr) and node is not use:
        return tree.parent(parent)
    if isinstance(parent, cst.For) and parent.iter is node and parent.orelse is None:
        return parent if _only_asks_for_results(parent) else None
    return None


def _waits(function: str) -> bool:
    module, _, name = function.rpartition(".")
    return name in _WAITS and (not module or module.endswith("futures"))


def _only_asks_for_results(loop: cst.For) -> bool:
    block = loop.body.body
    statement = block[0].body[0] if isinstance(block[0], cst.SimpleStatementLine) else block[0]
    call = statement.value if isinstance(statement, cst.Expr) else None
    if len(block) != 1 or not isinstance(call, cst.Call) or not isinstance(call.func, cst.Attribute):
        return False
    return call.func.attr.value == "result" and call.func.value.deep_equals(loop.target)


def _without_list(tree: Tree, calls: Sequence[cst.Call]) -> list[Edit]:
    """Remove the list of futures, and the waiting for them, where nothing is put into it any more."""
    name = futures_list(tree, calls[0])
    if not name:
        return []
    (beginning,), others = _beginnings(tree, name)
    inside = [use for use in others if _is_append(tree, use)]
    line = tree.statement(beginning)
    waits = [_wait(tree, use) for use in others if use not in inside]
    gone = [line, *waits]
    whole = all(isinstance(one, (cst.SimpleStatementLine, cst.For)) for one in gone)
    if len(inside) > len(calls) or not whole or len(getattr(line, "body", ())) != 1:
        return []
    if any(len(tree.parent(one).body) == 1 for one in gone):
        return []
    return [delete_line(tree, line), *(_without_comments(tree, one) for one in waits)]


def _without_comments(tree: Tree, statement: cst.CSTNode) -> Edit:
    """Remove a statement with the comments right above it, which are about it."""
    edit, first = delete_line(tree, statement), tree.start(statement)[0]
    while tree.line(first - 1).strip().startswith("#"):
        first -= 1
    if tree.parent(statement).body[-1] is statement and not tree.line(first - 1).strip():
        first -= 1
    return between((first, 1), (edit.end_line, edit.end_column), "")


def _argument(tree: Tree, argument: cst.Arg) -> str:
    keyword = f"{argument.keyword.value}=" if argument.keyword is not None else ""
    return argument.star + keyword + tree.text(argument.value)
