"""Which parameters of a function are weight streams, and what one item of the stream looks like."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping

# One item of a stream, position by position: "tensor", "text" or "other".
Element = tuple[str, ...]
PAIR: Element = ("text", "tensor")

ITERABLES = {
    "Iterable", "Iterator", "Generator", "AsyncIterable", "AsyncIterator", "AsyncGenerator",
}  # fmt: skip
_NAME_HINT = re.compile(r"^(?:\w*_)?(?:weights?|tensors)(?:_(?:in|iter|iterator|stream|generator))?$")
_OF_TENSORS = {
    "copy_", "weight_loader", "load_weights", "load_state_dict", "dtype", "data", "clone", "detach", "narrow", "torch",
    "default_weight_loader", "to", "cpu", "cuda", "cat", "numel", "Tensor",
}  # fmt: skip
_SURE_NAMES = re.compile(r"(?:named_)?weights(?:_(?:in|iter|iterator|stream|generator))?")
_TENSOR_NAME = re.compile(r"(?:\w*_)?(?:weight|tensor|param)")
_MATERIALIZERS = {"list", "dict", "tuple", "sorted", "OrderedDict"}
_MAPPING_METHODS = {"items", "keys", "values", "get", "pop", "update", "setdefault"}


def stream_parameters(function: ast.FunctionDef, aliases: Mapping[str, ast.expr]) -> dict[str, Element]:
    """The parameters of `function` that are weight streams, each with the shape of its items.

    An annotation decides where there is a telling one; `aliases` are the file's own names for types. Otherwise a
    parameter counts that is named like weights and iterated as pairs.
    """
    found: dict[str, Element] = {}
    arguments = function.args
    for argument in (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs):
        element = _annotated(argument.annotation, aliases)
        if element is None and _is_bare(argument.annotation) and _NAME_HINT.match(argument.arg):
            element = PAIR if _is_iterated_as_pairs(function, argument.arg) else None
        if element is not None:
            found[argument.arg] = element
    return found


def is_measured(function: ast.FunctionDef, name: str, text: str) -> bool:
    """Whether a parameter's length or one of its items is asked for: it is a list, whatever is written of it.

    `text` is the function's source: most never ask.
    """
    if not re.search(rf"\b{name}\s*\[|(?:len|reversed)\s*\(", text):
        return False
    return any(
        (isinstance(node, ast.Subscript) and _last_name(node.value) == name)
        or (
            isinstance(node, ast.Call)
            and _last_name(node.func) in ("len", "reversed")
            and any(_last_name(argument) == name for argument in node.args)
        )
        for node in ast.walk(function)
    )


def _annotated(annotation: ast.expr | None, aliases: Mapping[str, ast.expr]) -> Element | None:
    if not _may_have_items(annotation, aliases):
        return None
    annotation = _resolved(annotation, aliases)
    elements = set()
    for node in ast.walk(annotation) if annotation is not None else ():
        if isinstance(node, ast.Subscript) and _meant(node.value, aliases) in ITERABLES:
            item = node.slice.elts[0] if isinstance(node.slice, ast.Tuple) and node.slice.elts else node.slice
            elements.add(_element(_resolved(item, aliases), aliases))
    # What may as well iterate over something else, like an optimizer's parameters, is not made for weight streams.
    return elements.pop() if len(elements) == 1 else None


def _may_have_items(annotation: ast.expr | None, aliases: Mapping[str, ast.expr]) -> bool:
    """A first look: most annotations are plain names, and say nothing about items."""
    if isinstance(annotation, ast.Name):
        return annotation.id in aliases
    if isinstance(annotation, ast.Constant) and isinstance(annotation.value, str):
        return "[" in annotation.value or annotation.value.strip() in aliases
    return annotation is not None and not isinstance(annotation, ast.Attribute)


def _resolved(annotation: ast.expr | None, aliases: Mapping[str, ast.expr]) -> ast.expr | None:
    """The annotation itself, behind quotes and the file's own type aliases."""
    for _ in range(4):
        if isinstance(annotation, ast.Constant) and isinstance(annotation.value, str):
            try:
                annotation = ast.parse(annotation.value.strip(), mode="eval").body
            except (SyntaxError, ValueError):
                return None
        elif isinstance(annotation, ast.Name) and annotation.id in aliases:
            annotation = aliases[annotation.id]
        elif isinstance(annotation, ast.Call) and _last_name(annotation.func) == "NewType":
            annotation = annotation.args[1] if len(annotation.args) == 2 else None
        else:
            break
    return annotation


def alias_element(name: str, aliases: Mapping[str, ast.expr]) -> Element | None:
    """The shape of the items of what a name for a type stands for; None where that is no stream."""
    return _annotated(ast.Name(name), aliases)


def _meant(node: ast.expr, aliases: Mapping[str, ast.expr]) -> str:
    """The last name of a type, whatever the file calls it."""
    return _last_name(_resolved(node, aliases) or node)


def _element(item: ast.expr | None, aliases: Mapping[str, ast.expr]) -> Element | None:
    """The shape of an item: `tuple[str, Tensor] | tuple[str, Tensor, dict]` have tensors at the same places."""
    shapes = (_shape(kind, aliases) for kind in _kinds(item, aliases))
    return min(filter(None, shapes), key=len, default=None)


def _kinds(item: ast.expr | None, aliases: Mapping[str, ast.expr]) -> Iterator[ast.expr]:
    """The types that a union is made of, in order. Names may stand for unions that hold themselves: each counts once."""
    todo, united = [item], set[str]()
    while todo:
        kind = _resolved(todo.pop(), aliases)
        if not isinstance(kind, ast.BinOp):
            if kind is not None:
                yield kind
        elif (text := ast.dump(kind)) not in united:
            united.add(text)
            todo += (kind.right, kind.left)


def _shape(item: ast.expr, aliases: Mapping[str, ast.expr]) -> Element | None:
    if isinstance(item, ast.Subscript) and _meant(item.value, aliases) in ("tuple", "Tuple"):
        parts = item.slice.elts if isinstance(item.slice, ast.Tuple) else [item.slice]
        element = tuple(_part(_resolved(part, aliases) or part) for part in parts)
        return element if "tensor" in element and "text" in element else None
    return None


def _part(annotation: ast.expr) -> str:
    text = ast.unparse(annotation)
    if re.search(r"\bTensor\b", text) and not re.search(r"[Cc]allable\b", text):
        return "tensor"
    return "text" if text in ("str", "'str'") else "other"


def _last_name(node: ast.expr) -> str:
    return node.attr if isinstance(node, ast.Attribute) else node.id if isinstance(node, ast.Name) else ""


def _is_bare(annotation: ast.expr | None) -> bool:
    """Whether the annotation says nothing about the items."""
    return annotation is None or _last_name(annotation) in {*ITERABLES, "Any", "object"}


def _is_iterated_as_pairs(function: ast.FunctionDef, name: str) -> bool:
    pairs = singles = collected = mapping = either = ordered = False
    for node in ast.walk(function):
        mapping = mapping or _is_mapping_use(node, name)
        either = either or _asks_what_it_is(node, name) or _is_bound_again(node, name)
        for target, source in _loops(node):
            if _mentions(source, name):
                several = _is_several(target) or _is_unpacked(function, target)
                ordered = ordered or (_is_sorted(source) and not _names_a_tensor(target))
                pairs, singles = pairs or several, singles or not several
        if "weight" in name and isinstance(node, ast.Call) and _last_name(node.func) in _MATERIALIZERS:
            collected = collected or any(_mentions(argument, name) for argument in node.args[:1])
    # What is used as a mapping is none, unless the code takes both and asks first, or has made it one. What is
    # only collected could be anything, as its loops show: tensors without names, say.
    # Pairs out of `weights` are weights; out of `updated_weights`, or where they are put in order, they could be
    # anything.
    loads = "load" in function.name or _loads_weights(function)
    sure = loads or (_SURE_NAMES.fullmatch(name) is not None and not ordered)
    evidence = (pairs and (sure or _handles_tensors(function))) or (collected and loads and not singles)
    return evidence and (either or not mapping)


def _loads_weights(function: ast.FunctionDef) -> bool:
    """Whether it calls a loader: what it gives to that is a weight stream, or may well be one."""
    calls = (node for node in ast.walk(function) if isinstance(node, ast.Call))
    return any(_last_name(call.func) == "load_weights" for call in calls)


def _is_several(target: ast.expr) -> bool:
    return isinstance(target, (ast.Tuple, ast.List)) and len(target.elts) >= 2


def _names_a_tensor(target: ast.expr) -> bool:
    return _is_several(target) and _TENSOR_NAME.fullmatch(_last_name(target.elts[-1])) is not None


def _is_sorted(source: ast.expr) -> bool:
    return isinstance(source, ast.Call) and _last_name(source.func) == "sorted"


def _is_unpacked(function: ast.FunctionDef, item: ast.expr) -> bool:
    """Whether a loop's item is taken apart later: itself, or in a loop over a list that it is put into."""
    if not isinstance(item, ast.Name):
        return False
    looped = set[str]()
    for node in ast.walk(function):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "append":
            if any(isinstance(argument, ast.Name) and argument.id == item.id for argument in node.args):
                looped.add(_last_name(node.func.value))
        elif (
            isinstance(node, ast.Assign) and _is_several(node.targets[0]) and isinstance(node.value, ast.Name)
        ):
            if node.value.id == item.id:
                return True
    loops = (loop for node in ast.walk(function) for loop in _loops(node))
    return any(_is_several(target) and _last_name(source) in looped for target, source in loops)


def _handles_tensors(function: ast.FunctionDef) -> bool:
    """Whether the function does anything that is done with tensors: pairs of names and numbers are no weights."""
    return any(
        (isinstance(node, ast.Attribute) and node.attr in _OF_TENSORS)
        or (isinstance(node, ast.Name) and node.id in _OF_TENSORS)
        for node in ast.walk(function)
    )


def _is_bound_again(node: ast.AST, name: str) -> bool:
    return isinstance(node, ast.Name) and node.id == name and isinstance(node.ctx, ast.Store)


def _asks_what_it_is(node: ast.AST, name: str) -> bool:
    """`isinstance(weights, dict)`, `hasattr(weights, "items")`."""
    if not isinstance(node, ast.Call) or _last_name(node.func) not in ("isinstance", "hasattr"):
        return False
    return bool(node.args) and isinstance(node.args[0], ast.Name) and node.args[0].id == name


def _loops(node: ast.AST) -> Iterator[tuple[ast.expr, ast.expr]]:
    if isinstance(node, (ast.For, ast.AsyncFor, ast.comprehension)):
        yield node.target, node.iter


def _mentions(source: ast.expr, name: str) -> bool:
    """Whether `source` iterates `name` itself, also inside wrappers like `tqdm(enumerate(name))`."""
    while isinstance(source, ast.Call) and source.args and not isinstance(source.func, ast.Attribute):
        source = source.args[0]
    return isinstance(source, ast.Name) and source.id == name


def _is_mapping_use(node: ast.AST, name: str) -> bool:
    if isinstance(node, ast.Attribute):
        return node.attr in _MAPPING_METHODS and isinstance(node.value, ast.Name) and node.value.id == name
    return isinstance(node, ast.Subscript) and isinstance(node.value, ast.Name) and node.value.id == name
