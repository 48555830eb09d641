"""What makes the value of an attribute or of a global variable, as far as the statement that sets it tells."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator, Mapping
from functools import cache
from typing import NamedTuple

from loaderlint.linter.reading.blocks import all_statements

# Keywords under which the helpers of dataclass-like libraries take what makes a field's value.
_FACTORIES = ("default_factory", "factory")
# Annotations that say something else than the class: what they are around counts.
_AROUND = {"Optional", "ClassVar", "Final", "Annotated", "InitVar"}
_DISPLAYS = {
    ast.List: "builtins.list",
    ast.ListComp: "builtins.list",
    ast.Dict: "builtins.dict",
    ast.DictComp: "builtins.dict",
    ast.Set: "builtins.set",
    ast.SetComp: "builtins.set",
}
Resolve = Callable[[ast.expr], str]


class Maker(NamedTuple):
    """A class or function by its qualified name, and the keyword arguments that are literally True or False."""

    name: str
    flags: tuple[tuple[str, object], ...] = ()


def maker(value: ast.expr | None, resolve: Resolve) -> Maker | None:
    """What makes the value of an expression; None where it is no call or display. `resolve` qualifies names."""
    if isinstance(value, (ast.IfExp, ast.BoolOp)):
        choices = [value.body, value.orelse] if isinstance(value, ast.IfExp) else value.values
        return next((found for choice in choices if (found := maker(choice, resolve))), None)
    if isinstance(value, ast.Call):
        return _called(value, resolve)
    name = _DISPLAYS.get(type(value))
    return None if name is None else Maker(name)


def _called(call: ast.Call, resolve: Resolve) -> Maker | None:
    for keyword in call.keywords:
        if keyword.arg in _FACTORIES:
            factory = keyword.value
            return (
                maker(factory.body, resolve) if isinstance(factory, ast.Lambda) else _named(factory, resolve)
            )
    flags = tuple(
        sorted(
            (keyword.arg, keyword.value.value)
            for keyword in call.keywords
            if keyword.arg
            and isinstance(keyword.value, ast.Constant)
            and isinstance(keyword.value.value, bool)
        )
    )
    return _named(call.func, resolve, flags)


def _named(node: ast.expr, resolve: Resolve, flags: tuple[tuple[str, object], ...] = ()) -> Maker | None:
    name = resolve(node)
    return Maker(name, flags) if name else None


def annotated(annotation: ast.expr | None, resolve: Resolve) -> Maker | None:
    """The class that an annotation names; None for several, or none."""
    if isinstance(annotation, ast.Constant) and isinstance(annotation.value, str):
        try:
            annotation = ast.parse(annotation.value.strip(), mode="eval").body
        except (SyntaxError, ValueError):
            return None
    if isinstance(annotation, ast.BinOp):
        sides = [side for side in (annotation.left, annotation.right) if not _is_none(side)]
        return annotated(sides[0], resolve) if len(sides) == 1 else None
    if isinstance(annotation, ast.Subscript):
        outer = resolve(annotation.value).rpartition(".")[2]
        if outer in _AROUND:
            inner = annotation.slice
            return annotated(inner.elts[0] if isinstance(inner, ast.Tuple) else inner, resolve)
        annotation = annotation.value
    return _named(annotation, resolve) if isinstance(annotation, (ast.Name, ast.Attribute)) else None


def _is_none(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and node.value is None


def attributes_of(cls: ast.ClassDef, resolve: Resolve) -> dict[str, Maker]:
    """What makes each attribute that a class, or one of its methods, sets: a statement's value before annotations."""
    made: dict[str, Maker] = {}
    declared: dict[str, Maker] = {}
    for scope, parameters in _scopes(cls):
        for node in scope:
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            for target in targets:
                name = _attribute(target, in_method=parameters is not None)
                if name:
                    _note(made, name, maker(node.value, resolve))
                    _note(declared, name, _declared(node, parameters or {}, resolve))
    return {**declared, **made}


def _note(found: dict[str, Maker], name: str, made: Maker | None) -> None:
    if made is not None:
        found.setdefault(name, made)


def _declared(
    node: ast.Assign | ast.AnnAssign, parameters: dict[str, ast.expr | None], resolve: Resolve
) -> Maker | None:
    """What annotations say of a stored value: its own one, or that of the parameter which is stored."""
    if isinstance(node, ast.AnnAssign):
        return annotated(node.annotation, resolve)
    return annotated(parameters.get(node.value.id), resolve) if isinstance(node.value, ast.Name) else None


def _scopes(
    cls: ast.ClassDef,
) -> Iterator[tuple[list[ast.Assign | ast.AnnAssign], dict[str, ast.expr | None] | None]]:
    """The assignments of the class body, then those of each method with its parameters' annotations."""
    yield [node for node in cls.body if isinstance(node, (ast.Assign, ast.AnnAssign))], None
    for method in cls.body:
        if isinstance(method, (ast.FunctionDef, ast.AsyncFunctionDef)):
            arguments = method.args
            listed = (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs)
            found = [node for node in all_statements(method) if isinstance(node, (ast.Assign, ast.AnnAssign))]
            yield found, {item.arg: item.annotation for item in listed}


@cache
def stored_parameters(initializer: ast.FunctionDef) -> Mapping[str, str]:
    """The attributes that an initializer sets to a parameter as it is, each with that parameter."""
    return {
        target.attr: node.value.id
        for node in all_statements(initializer)
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Name)
        for target in node.targets
        if isinstance(target, ast.Attribute) and isinstance(target.value, ast.Name)
    }


def _attribute(target: ast.expr, in_method: bool) -> str:
    """The attribute's name: a plain name in a class body, `self.name` in a method."""
    if not in_method:
        return target.id if isinstance(target, ast.Name) else ""
    return target.attr if isinstance(target, ast.Attribute) and isinstance(target.value, ast.Name) else ""
