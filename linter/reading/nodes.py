"""Walking LibCST trees: only over what means something, and without recursion.

LibCST's own `children` runs a visitor over whitespace, commas and parentheses too, at twenty times the cost.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache

import libcst as cst

_LAYOUT = (
    cst.BaseParenthesizableWhitespace,
    cst.EmptyLine,
    cst.TrailingWhitespace,
    cst.Newline,
    cst.Comma,
    cst.Semicolon,
    cst.LeftParen,
    cst.RightParen,
    cst.LeftSquareBracket,
    cst.RightSquareBracket,
    cst.LeftCurlyBrace,
    cst.RightCurlyBrace,
    cst.Dot,
    cst.Colon,
    cst.AssignEqual,
)


# What a field is annotated with that holds the text of a name, number or string.
_TEXT = (str, "str")


@cache
def _means_something(kind: type) -> bool:
    return issubclass(kind, cst.CSTNode) and not issubclass(kind, _LAYOUT)


@cache
def _fields(kind: type[cst.CSTNode]) -> tuple[str, ...]:
    """The fields of a node type that can hold more than layout and text, in order of the source."""
    layout = ("whitespace", "lpar", "rpar", "lbra", "rbra", "leading_lines", "lines_", "header", "footer")
    fields = kind.__dataclass_fields__.items()
    return tuple(name for name, field in fields if field.type not in _TEXT and not name.startswith(layout))


def children(node: cst.CSTNode) -> list[cst.CSTNode]:
    """The parts of `node` that mean something: no whitespace, commas or parentheses."""
    found: list[cst.CSTNode] = []
    for name in _fields(type(node)):
        value = getattr(node, name)
        if type(value) in (tuple, list):
            found += [child for child in value if _means_something(type(child))]
        elif _means_something(type(value)):
            found.append(value)
    return found


@cache
def names_in(node: cst.CSTNode) -> frozenset[str]:
    """All plain names in an expression, function or lambda."""
    return frozenset(part.value for part in walk(node) if isinstance(part, cst.Name))


@cache
def parameters_of(function: cst.CSTNode) -> frozenset[str]:
    """The names of a function's parameters."""
    if not isinstance(function, (cst.FunctionDef, cst.Lambda)):
        return frozenset()
    params = function.params
    stars = [item for item in (params.star_arg, params.star_kwarg) if isinstance(item, cst.Param)]
    listed = (*params.posonly_params, *params.params, *params.kwonly_params, *stars)
    return frozenset(item.name.value for item in listed)


def walk(*roots: cst.CSTNode, skip: tuple[type[cst.CSTNode], ...] = ()) -> Iterator[cst.CSTNode]:
    """`roots` and all below them, in no order; nodes of exactly a type in `skip` come, but nothing below them."""
    todo = list(roots)
    while todo:
        node = todo.pop()
        yield node
        if type(node) not in skip:
            todo += children(node)


def literal_text(node: cst.CSTNode) -> str:
    """The text of a plain string literal, "" for anything else."""
    value = node.evaluated_value if isinstance(node, cst.SimpleString) else ""
    return value if isinstance(value, str) else ""


def receiver_node(node: cst.CSTNode) -> cst.CSTNode:
    """What a method is called on, as it is written; of an aliased method (`add = kept.append`), the alias."""
    if not isinstance(node, cst.Call):
        return node
    return node.func.value if isinstance(node.func, cst.Attribute) else node.func
