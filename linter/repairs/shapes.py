"""What an expression evidently is, as far as the file shows it: one tensor, a tuple, several tensors."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from typing import Union

import libcst as cst
from loaderlint.linter.contracts import load_contracts
from loaderlint.linter.reading.streams import stream_parameters
from loaderlint.linter.repairs.bindings import Binding, Bindings
from loaderlint.linter.repairs.callees import Functions
from loaderlint.linter.repairs.tree import Tree

Shape = Union[str, "Many", tuple["Shape", ...], None]
"""TENSOR, OWNED, PLAIN or UNKNOWN; a tuple part by part; `Many`; None where nothing was seen yet."""

TENSOR = "tensor"
OWNED = "a tensor with its own memory"
PLAIN = "no tensor"
UNKNOWN = "unknown"

_ELEMENTS = {"tensor": TENSOR, "text": PLAIN}
_TENSOR_TYPES = ("Tensor", "torch.Tensor")
_CONSTANTS = ("None", "True", "False")
_METADATA = ("dtype", "shape", "device", "ndim")
_OTHERS_HAVE = {name for kind in (str, list, dict, set, int, float) for name in dir(kind)}
_PLAIN_NODES = (cst.BaseString, cst.BaseNumber, cst.Comparison, cst.UnaryOperation)


@dataclass(frozen=True, slots=True)
class Many:
    """An iterable whose items are all like `item`."""

    item: Shape


class Shapes:
    """The shapes of one function's expressions. `callers` is the function that hands it what it keeps."""

    def __init__(self, tree: Tree, functions: Functions, callers: Tree | None = None) -> None:
        self.tree = tree
        self.bindings = Bindings(tree)
        self._functions = functions
        self._callers = Shapes(callers, functions) if callers is not None else None
        self._known: dict[tuple[cst.CSTNode, str], Shape] = {}

    def of(self, node: cst.CSTNode) -> Shape:
        """The shape of an expression; UNKNOWN where the code does not show it."""
        if isinstance(node, cst.Name):
            return PLAIN if node.value in _CONSTANTS else self._of_name(node)
        if isinstance(node, _PLAIN_NODES):
            return PLAIN
        if isinstance(node, cst.Tuple):
            starred = any(isinstance(part, cst.StarredElement) for part in node.elements)
            return UNKNOWN if starred else tuple(self.of(part.value) for part in node.elements)
        if isinstance(node, cst.List):
            return Many(joined(self.of(part.value) for part in node.elements))
        if isinstance(node, (cst.ListComp, cst.GeneratorExp)):
            return Many(self.of(node.elt))
        if isinstance(node, cst.IfExp):
            return joined((self.of(node.body), self.of(node.orelse)))
        if isinstance(node, cst.NamedExpr):
            return self.of(node.value)
        if isinstance(node, cst.Subscript):
            return self._of_subscript(node)
        if isinstance(node, cst.Attribute):
            return self._of_attribute(node)
        if isinstance(node, cst.BinaryOperation):
            sides = [node.right, *([] if isinstance(node.left, cst.BinaryOperation) else [node.left])]
            return OWNED if any(self.of(side) in (TENSOR, OWNED) for side in sides) else UNKNOWN
        return self._of_call(node) if isinstance(node, cst.Call) else UNKNOWN

    def _of_name(self, name: cst.Name) -> Shape:
        home = self.bindings.home(name)
        if (home, name.value) not in self._known:
            self._known[home, name.value] = None  # Asked for again meanwhile, it says nothing new.
            found = self.bindings.of(name)
            shapes = [self._of_binding(binding) for binding in found] or [UNKNOWN]
            # `weight = permute(weight)`: what was lent as one tensor is one still.
            given = (one.looped or one.parameter is not None for one in found)
            lent = any(is_given and shape == TENSOR for is_given, shape in zip(given, shapes))
            shapes = [shape for shape in shapes if not (lent and shape == UNKNOWN)]
            self._known[home, name.value] = joined([*shapes, *self._appended(name)])
        return self._known[home, name.value]

    def _appended(self, name: cst.Name) -> Iterator[Shape]:
        """What is appended to a list."""
        for use in self.bindings.same(name):
            method = self.tree.parent(use)
            call = self.tree.parent(method)
            if isinstance(method, cst.Attribute) and method.attr.value == "append":
                if isinstance(call, cst.Call) and call.func is method and len(call.args) == 1:
                    yield Many(self.of(call.args[0].value))

    def _of_binding(self, binding: Binding) -> Shape:
        if binding.parameter is not None:
            return self._of_parameter(binding.parameter)
        if binding.value is None:
            return UNKNOWN
        shape = self.of(binding.value)
        if binding.looped:
            shape = item_of(shape)
            pair = binding.pair and len(binding.path) == 1
            if shape in (UNKNOWN, None) and pair and not _is_mapping_view(binding.value):
                shape = (PLAIN, TENSOR)
        for place in binding.path:
            shape = UNKNOWN if place is None else _part(shape, place)
        return shape

    def _of_parameter(self, parameter: cst.Param) -> Shape:
        name = parameter.name.value
        if parameter.annotation is not None:
            annotation = self.tree.text(parameter.annotation.annotation).strip("\"'")
            if annotation in _TENSOR_TYPES:
                return TENSOR
        scope = self.tree.scope(parameter)
        function = self._functions.get(self.tree.unit.qualname) if scope is self.tree.unit.function else None
        if isinstance(function, ast.FunctionDef):
            element = stream_parameters(function, {}).get(name)
            if element is not None:
                return Many(tuple(_ELEMENTS.get(part, UNKNOWN) for part in element))
        given = self._given(scope, parameter)
        return TENSOR if given == UNKNOWN and self._used_as_tensor(parameter) else given

    def _used_as_tensor(self, parameter: cst.Param) -> bool:
        """Whether the function asks a parameter for what only tensors have."""
        asked = (self.tree.parent(use) for use in self.bindings.same(parameter.name))
        return any(isinstance(one, cst.Attribute) and one.attr.value in _only_tensors_have() for one in asked)

    def _given(self, scope: cst.CSTNode, parameter: cst.Param) -> Shape:
        """What all calls in the file hand to a parameter; UNKNOWN if one of them is not in view."""
        if not isinstance(scope, cst.FunctionDef) or parameter not in scope.params.params:
            return UNKNOWN
        place, called = scope.params.params.index(parameter), scope.name.value
        owner = self.tree.unit.qualname.rpartition(".")[0] if scope is self.tree.unit.function else ""
        if owner and owner not in self._functions and not scope.decorators:
            place -= 1  # A method's first parameter is bound already.
        if called == "__init__":
            called = owner.rpartition(".")[2]
        views = [view for view in (self, self._callers) if view is not None]
        calls = [(view, call) for view in views for call in view.bindings.calls(called)]
        if len(calls) != _calls_in_file(self._functions, called):
            return UNKNOWN
        return joined([view._of_argument(call, parameter.name.value, place) for view, call in calls])

    def _of_argument(self, call: cst.Call, name: str, place: int) -> Shape:
        for argument in call.args:
            if argument.keyword is not None and argument.keyword.value == name:
                return self.of(argument.value)
        before = call.args[: place + 1]
        plain = len(before) == place + 1 and all(not one.star and one.keyword is None for one in before)
        return self.of(before[-1].value) if plain and place >= 0 else UNKNOWN

    def _of_subscript(self, node: cst.Subscript) -> Shape:
        base = self.of(node.value)
        index = node.slice[0].slice if len(node.slice) == 1 else None
        if isinstance(base, (Many, tuple)):
            if isinstance(base, Many) and isinstance(index, cst.Slice):
                return base
            number = index.value if isinstance(index, cst.Index) else None
            if isinstance(base, tuple) and not isinstance(number, cst.Integer):
                return UNKNOWN
            return _part(base, number.evaluated_value if isinstance(number, cst.Integer) else 0)
        return base

    def _of_attribute(self, node: cst.Attribute) -> Shape:
        base = self.of(node.value)
        if base not in (TENSOR, OWNED):
            return PLAIN if base == PLAIN else UNKNOWN
        return base if load_contracts().tensor_attributes.get(node.attr.value) == "view" else PLAIN

    def _of_call(self, call: cst.Call) -> Shape:
        if isinstance(call.func, cst.Attribute):
            receiver = self.of(call.func.value)
            if receiver in (TENSOR, OWNED):
                return _of_method(call, receiver)
            if receiver == PLAIN:
                return PLAIN
        given = [self.of(argument.value) for argument in call.args if argument.keyword is None]
        name = last_name(call.func)
        if name == "next" and given:
            return joined([item_of(given[0]), *given[1:]])
        contracts = load_contracts()
        operations = {key.rpartition(".")[2]: value for key, value in contracts.lazy.items()}
        operations |= {key.rpartition(".")[2]: value for key, value in contracts.eager.items()}
        return _iterated(operations.get(name, ""), given) if given else UNKNOWN


@cache
def _only_tensors_have() -> frozenset[str]:
    """What tensors are asked that say nothing of their data, and other values are not asked."""
    methods = load_contracts().tensor_methods.items()
    return frozenset({*_METADATA, *(name for name, effect in methods if effect == "metadata")} - _OTHERS_HAVE)


def item_of(shape: Shape) -> Shape:
    """What iterating a value gives."""
    if isinstance(shape, Many):
        return shape.item
    if isinstance(shape, tuple):
        return joined(shape)
    return shape


def joined(shapes: Iterable[Shape]) -> Shape:
    """What is true of each of `shapes`."""
    found = [shape for shape in dict.fromkeys(shapes) if shape is not None]
    if not found:
        return None
    if set(found) == {TENSOR, OWNED}:
        return TENSOR
    if all(isinstance(shape, Many) for shape in found):
        return Many(joined(shape.item for shape in found))
    if all(isinstance(shape, tuple) and len(shape) == len(found[0]) for shape in found):
        return tuple(map(joined, zip(*found)))
    return found[0] if len(found) == 1 else UNKNOWN


def last_name(node: cst.CSTNode) -> str:
    """`c` of `a.b.c`."""
    if isinstance(node, cst.Attribute):
        return node.attr.value
    return node.value if isinstance(node, cst.Name) else ""


def _part(shape: Shape, place: int) -> Shape:
    if isinstance(shape, tuple):
        return shape[place] if -len(shape) <= place < len(shape) else UNKNOWN
    return item_of(shape)


def _is_mapping_view(iterable: cst.BaseExpression) -> bool:
    return isinstance(iterable, cst.Call) and last_name(iterable.func) in ("items", "groupby")


def _of_method(call: cst.Call, receiver: str) -> Shape:
    contracts, name = load_contracts(), last_name(call.func)
    result, effect = contracts.tensor_results.get(name), contracts.tensor_methods.get(name)
    if result is not None:
        return Many(receiver) if result == "several" else UNKNOWN
    if effect == "metadata":
        return PLAIN
    keyword = contracts.copy_if_true.get(name)
    copies = any(
        one.keyword is not None
        and one.keyword.value == keyword
        and isinstance(one.value, cst.Name)
        and one.value.value == "True"
        for one in call.args
    )
    return receiver if effect in ("view", "conditional_copy", "mutate") and not copies else OWNED


def _iterated(operation: str, given: list[Shape]) -> Shape:
    if operation in ("same", "list", "reversed"):
        return Many(item_of(given[0])) if given[0] != UNKNOWN else UNKNOWN
    if operation == "enumerate":
        return Many((PLAIN, item_of(given[0])))
    if operation == "zip":
        return Many(tuple(map(item_of, given)))
    if operation == "chain":
        return Many(joined(map(item_of, given)))
    return given[1] if operation == "filter" and len(given) > 1 else UNKNOWN


def _calls_in_file(functions: Functions, name: str) -> int:
    """How many calls of a function or method called `name` the file's functions contain."""
    calls = (call for function in functions.values() for call in _calls(function))
    return len({(call.lineno, call.col_offset) for call in calls if _called(call) == name})


@cache
def _calls(function: ast.FunctionDef) -> tuple[ast.Call, ...]:
    return tuple(node for node in ast.walk(function) if isinstance(node, ast.Call))


def _called(call: ast.Call) -> str:
    return getattr(call.func, "attr", getattr(call.func, "id", ""))
