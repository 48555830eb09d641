"""A tensor that is handed to another thread: call the function in line instead."""

from __future__ import annotations

import libcst as cst
from loaderlint.linter.contracts import load_contracts
from loaderlint.linter.findings import Applicability, Fix
from loaderlint.linter.interpreter.events import Retention
from loaderlint.linter.repairs.edit import replace
from loaderlint.linter.repairs.tree import Refused, Tree

_WIDTH = 88


def call_in_line(tree: Tree, event: Retention) -> Fix:
    """Replace `executor.submit(f, a, w)` by `f(a, w)`. Raises `Refused` where the future is used."""
    call = event.kept.node
    if not isinstance(call, cst.Call) or not _submits(call):
        raise Refused("only `submit(function, ...)` can become a call in line")
    statement = _unused_future(tree, call)
    text = tree.text(statement)
    if "#" in text:
        raise Refused("a comment in the submission would be lost")
    function = tree.text(call.args[0].value)
    arguments = [_argument(tree, argument) for argument in call.args[1:]]
    edit = replace(tree, statement, _call_text(tree, statement, function, arguments))
    title = f"call `{tree.brief(call.args[0].value)}` in line instead of submitting it"
    return Fix(Applicability.UNSAFE, title, (edit,))


def _submits(call: cst.Call) -> bool:
    if not isinstance(call.func, cst.Attribute) or not call.args:
        return False
    first = call.args[0]
    plain = isinstance(first.value, (cst.Name, cst.Attribute)) and not first.star and first.keyword is None
    # Other methods that submit take their arguments packed in a tuple.
    return plain and call.func.attr.value == "submit" and load_contracts().methods.get("submit") == "submit"


def _unused_future(tree: Tree, call: cst.Call) -> cst.Expr:
    """The statement that submits, if nothing reads the future: it is dropped, or only collected in a list."""
    parent = tree.parent(call)
    if isinstance(parent, cst.Expr):
        return parent
    collecting = tree.parent(parent) if isinstance(parent, cst.Arg) else None
    statement = tree.parent(collecting) if isinstance(collecting, cst.Call) else None
    if not isinstance(statement, cst.Expr) or not _only_appended(tree, collecting):
        raise Refused("the future of the submission is used")
    return statement


def _only_appended(tree: Tree, append: cst.Call) -> bool:
    """Whether `futures.append(...)` fills a list that nothing reads."""
    function = append.func
    if not (isinstance(function, cst.Attribute) and isinstance(function.value, cst.Name)):
        return False
    beginning, *others = tree.names[function.value.value]
    set_here = isinstance(tree.parent(beginning), (cst.AssignTarget, cst.AnnAssign))
    return set_here and all(_is_append(tree, use) for use in others)


def _is_append(tree: Tree, use: cst.Name) -> bool:
    attribute = tree.parent(use)
    if not isinstance(attribute, cst.Attribute) or attribute.attr.value != "append":
        return False
    return isinstance(tree.parent(tree.parent(attribute)), cst.Expr)


def _argument(tree: Tree, argument: cst.Arg) -> str:
    keyword = f"{argument.keyword.value}=" if argument.keyword is not None else ""
    return argument.star + keyword + tree.text(argument.value)


def _call_text(tree: Tree, statement: cst.Expr, function: str, arguments: list[str]) -> str:
    one_line = f"{function}({', '.join(arguments)})"
    indent = tree.indent(statement)
    if len(indent) + len(one_line) <= _WIDTH or "\n" in one_line:
        return one_line
    step = tree.unit.module.default_indent
    return f"{function}(\n" + "".join(f"{indent}{step}{one},\n" for one in arguments) + f"{indent})"
