"""What the interpreter believes, in words: for users who write contracts, and for people who debug it."""

from __future__ import annotations

from loaderlint.linter.interpreter.events import Site
from loaderlint.linter.interpreter.heap import Kind, Obj
from loaderlint.linter.interpreter.state import State
from loaderlint.linter.interpreter.values import (
    Atom,
    Copy,
    Guard,
    Instance,
    Loan,
    Method,
    Named,
    Owned,
    Ref,
    Text,
    Tuple,
    Value,
)

_MAX_DEPTH = 4
_KINDS = {
    Kind.LIST: "list",
    Kind.SET: "set",
    Kind.STREAM: "weight stream",
    Kind.MAYBE_STREAM: "result of an unknown call on a stream",
    Kind.GENERATOR: "generator",
    Kind.FUNCTION: "function",
}


def describe(value: Value, state: State, depth: int = 0) -> str:
    """One line for a value; what holds no lent memory is "nothing lent"."""
    parts = sorted({_atom(atom, state, depth) for atom in value})
    return " or ".join(parts) if parts else "nothing lent"


def _atom(atom: Atom, state: State, depth: int) -> str:
    if isinstance(atom, Loan):
        return _loan(atom)
    if isinstance(atom, Tuple):
        return f"({', '.join(describe(item, state, depth + 1) for item in atom.items)})"
    if isinstance(atom, Ref):
        known = state.heap.get(atom.loc)
        return _object(known, state, depth) if known is not None else "nothing lent"
    simple = {
        Text: "text",
        Owned: "owned tensor",
        Copy: "copy of a lent tensor",
        Method: "method",
        Guard: "true only for what is not marked as lent",
    }
    if type(atom) in simple:
        return simple[type(atom)]
    return (
        atom.name
        if isinstance(atom, Named)
        else f"object of {atom.cls}"
        if isinstance(atom, Instance)
        else "?"
    )


def _loan(loan: Loan) -> str:
    text = f"borrowed at {_place(loan.borrowed)}"
    if loan.kept is not None and loan.kept.site.node is not loan.borrowed.node:
        text += f", kept at {_place(loan.kept.site)}"
    text = f"stale tensor ({text})" if loan.stale else f"lent tensor ({text})"
    return f"{text}, or a copy of it" if loan.conditional else text


def _object(obj: Obj, state: State, depth: int) -> str:
    if depth >= _MAX_DEPTH:
        return "…"
    if obj.kind is Kind.DICT:
        return f"dict of {describe(obj.contents, state, depth + 1)}"
    if obj.kind is Kind.FUTURE:
        return f"job that was given {describe(obj.contents, state, depth + 1)}"
    if obj.kind is Kind.LAZY:
        inputs = ", ".join(describe(value, state, depth + 1) for value in obj.fields.values())
        return f"{obj.operation} of {inputs}"
    if obj.kind is Kind.OBJECT:
        held = [f".{name}: {describe(value, state, depth + 1)}" for name, value in sorted(obj.fields.items())]
        return f"object ({'; '.join(held)})" if held else "object"
    name = _KINDS[obj.kind]
    return (
        f"{name} of {describe(obj.contents, state, depth + 1)}" if obj.kind in (Kind.LIST, Kind.SET) else name
    )


def _place(site: Site) -> str:
    line, column, _, _ = site.unit.range(site.node)
    return f"{site.unit.path}:{line}:{column}"
