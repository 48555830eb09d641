"""Whether code provably does nothing but compute on names: then nobody can tell when it runs."""

from __future__ import annotations

from collections.abc import Sequence

import libcst as cst
from loaderlint.linter.reading.nodes import walk
from loaderlint.linter.repairs.names import target_names

_PURE_BUILTINS = ("any", "all", "len", "int", "str", "tuple")
_STRING_METHODS = tuple(name for name in dir(str) if not name.startswith("_"))
_PURE_NODES = (
    cst.If,
    cst.Else,
    cst.For,
    cst.IndentedBlock,
    cst.SimpleStatementLine,
    cst.SimpleStatementSuite,
    cst.Assign,
    cst.AssignTarget,
    cst.Continue,
    cst.Break,
    cst.Pass,
    cst.Expr,
    cst.Call,
    cst.Arg,
    cst.Attribute,
    cst.Name,
    cst.BaseString,
    cst.BaseFormattedStringContent,
    cst.BaseNumber,
    cst.Comparison,
    cst.ComparisonTarget,
    cst.BaseCompOp,
    cst.BooleanOperation,
    cst.BaseBooleanOp,
    cst.UnaryOperation,
    cst.Not,
    cst.Minus,
    cst.BinaryOperation,
    cst.Add,
    cst.IfExp,
    cst.Tuple,
    cst.List,
    cst.Set,
    cst.Element,
    cst.Subscript,
    cst.SubscriptElement,
    cst.Index,
    cst.Slice,
    cst.GeneratorExp,
    cst.ListComp,
    cst.CompFor,
    cst.CompIf,
)


def is_pure(loop: cst.For, appends: Sequence[cst.Expr]) -> bool:
    """Whether `loop` only sorts: with names, constants, methods of strings, and the given appends."""
    own = {append.value for append in appends} | {append.value.func for append in appends}
    return all(node in own or _is_pure_node(node, own) for node in walk(loop.body))


def _is_pure_node(node: cst.CSTNode, own: set[cst.CSTNode]) -> bool:
    if isinstance(node, cst.Call):
        return _is_pure_call(node)
    if isinstance(node, cst.Attribute):
        # Anything else could be a property, or be changed by whoever runs meanwhile.
        return node.attr.value in _STRING_METHODS
    if isinstance(node, cst.AssignTarget):
        return bool(target_names(node.target))
    if isinstance(node, cst.Expr):
        return node.value in own or isinstance(node.value, cst.BaseString)
    return isinstance(node, _PURE_NODES)


def is_pure_expression(*expressions: cst.BaseExpression) -> bool:
    """Whether the expressions only compute on names, constants and strings."""
    return all(_is_pure_node(node, set()) for node in walk(*expressions))


def _is_pure_call(call: cst.Call) -> bool:
    if isinstance(call.func, cst.Name):
        return call.func.value in _PURE_BUILTINS
    return isinstance(call.func, cst.Attribute) and call.func.attr.value in _STRING_METHODS
