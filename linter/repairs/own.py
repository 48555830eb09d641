"""Give a kept tensor its own memory where it is put into its holder."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import libcst as cst

from loaderlint.linter.contracts import load_contracts
from loaderlint.linter.findings import Applicability, Edit, Fix
from loaderlint.linter.interpreter.events import Holder, Retention
from loaderlint.linter.repairs.edit import call_method, insert
from loaderlint.linter.repairs.loops import tensor_variable
from loaderlint.linter.repairs.mixing import meets_other_tensors
from loaderlint.linter.repairs.tree import Refused, Tree, walk

HOST_COPY = '.detach().to("cpu", copy=True)'
CLONE = ".clone()"

_COLLECTIONS = (Holder.LIST, Holder.MATERIALIZED)


def own(tree: Tree, events: Sequence[Retention]) -> Fix:
    """Own every tensor that is put into one holder. Raises `Refused` where one of them cannot be told."""
    on_device = meets_other_tensors(tree, events[0])
    method = CLONE if on_device else HOST_COPY
    edits = [edit for event in events for edit in _owned(tree, event, method)]
    whole = any(_may_hold_everything(tree, event) for event in events)
    applicability = Applicability.UNSAFE if whole else Applicability.SAFE
    return Fix(applicability, _title(tree, events[0], on_device, whole), tuple(dict.fromkeys(edits)))


def _title(tree: Tree, event: Retention, on_device: str, whole: bool) -> str:
    tensor = _first_line(tree, tensor_places(tree, event)[0])
    title = f"clone `{tensor}`" if on_device else f"own `{tensor}` on the host"
    if event.holder_kind is Holder.SUBMITTED:
        title += " before it is submitted"
    elif event.holder_kind is Holder.MATERIALIZED:
        title += " in the comprehension"
    else:
        title += f" before `{event.holder}` keeps it"
    if on_device:
        title += f": {on_device}"
    if whole:
        title += f"; this may hold the whole checkpoint in {'device' if on_device else 'host'} memory"
    return title


def own_on_host(tree: Tree, event: Retention) -> list[Edit]:
    """The edits that put a host copy into the holder. Raises `Refused`."""
    return _owned(tree, event, HOST_COPY)


def _owned(tree: Tree, event: Retention, method: str) -> list[Edit]:
    places = tensor_places(tree, event)
    if event.conditional:
        return [edit for place in places for edit in _sure_copy(tree, place, method)]
    return [edit for place in places for edit in call_method(tree, place, method)]


def _sure_copy(tree: Tree, tensor: cst.BaseExpression, method: str) -> list[Edit]:
    """Turn a copy that may be none (`w.to(device)`) into one that always is."""
    call = tensor if isinstance(tensor, cst.Call) else _method_call_on(tree, tensor)
    name = call.func.attr.value if call is not None and isinstance(call.func, cst.Attribute) else ""
    keyword = load_contracts().copy_if_true.get(name)
    if keyword is None or not call.args:
        return call_method(tree, tensor, CLONE if call is not None else method)
    if any(arg.keyword is not None and arg.keyword.value == keyword for arg in call.args):
        raise Refused(f"`{tree.text(call)}` already says whether it copies")
    return [insert(tree.end(call.args[-1].value), f", {keyword}=True")]


def _method_call_on(tree: Tree, tensor: cst.BaseExpression) -> cst.Call | None:
    attribute = tree.parent(tensor)
    call = tree.parent(attribute)
    is_receiver = isinstance(attribute, cst.Attribute) and attribute.value is tensor
    return call if is_receiver and isinstance(call, cst.Call) and call.func is attribute else None


def tensor_places(tree: Tree, event: Retention) -> list[cst.BaseExpression]:
    """The expressions in the retaining statement that are the kept tensor. Raises `Refused` without any."""
    wanted = _squeezed(event.tensor)
    roots = _stored_values(event.kept.node)
    found = [
        _with_subscripts(tree, node)
        for node in walk(*roots, skip=(cst.Lambda,))
        if isinstance(node, cst.BaseExpression) and _squeezed(tree.text(node)) == wanted
    ]
    places = [node for node in found if not _is_metadata(tree, node)]
    outermost = [node for node in places if not any(other in set(tree.ancestors(node)) for other in places)]
    if not outermost:
        raise Refused(f"`{event.tensor}` does not stand in `{_first_line(tree, event.kept.node)}` itself")
    return [place for node in outermost for place in _tensors_of(tree, node, tensor_variable(tree, event))]


def _tensors_of(tree: Tree, value: cst.BaseExpression, variable: str) -> list[cst.BaseExpression]:
    """The tensors of a display like `(name, w)`: the parts made of `variable`, else the second of a pair."""
    if not isinstance(value, (cst.Tuple, cst.List, cst.Set, cst.Dict)):
        return [value]
    parts = [part.value for part in value.elements]
    made = [part for part in parts if _uses_data(tree, part, variable)]
    if not made and len(parts) == 2:
        made = parts[1:]
    if not made or any(isinstance(part, cst.BaseComp) for part in made):
        raise Refused(f"it is not clear which part of `{_first_line(tree, value)}` is the tensor")
    return [tensor for part in made for tensor in _tensors_of(tree, part, variable)]


def _uses_data(tree: Tree, part: cst.CSTNode, variable: str) -> bool:
    names = (node for node in walk(part) if isinstance(node, cst.Name) and node.value == variable)
    return any(not _is_metadata(tree, name) for name in names if name in tree.names.get(variable, ()))


def _squeezed(text: str) -> str:
    return "".join(text.split()).strip("()")


def _first_line(tree: Tree, node: cst.CSTNode) -> str:
    return tree.text(node).partition("\n")[0]


def _stored_values(kept: cst.CSTNode) -> Iterable[cst.CSTNode]:
    """The parts of a retaining expression or statement that hold what is put into the holder."""
    if isinstance(kept, cst.SimpleStatementLine) and len(kept.body) == 1:
        kept = kept.body[0]
    if isinstance(kept, cst.Expr):
        kept = kept.value
    if isinstance(kept, cst.Call):
        return [argument.value for argument in kept.args]
    if isinstance(kept, (cst.Assign, cst.AnnAssign, cst.AugAssign, cst.NamedExpr, cst.DictComp)):
        return [kept.value] if kept.value is not None else []
    if isinstance(kept, (cst.ListComp, cst.SetComp)):
        return [kept.elt]
    if isinstance(kept, (cst.Tuple, cst.List, cst.Set, cst.Dict)):
        return [element.value for element in kept.elements if not isinstance(element, cst.StarredElement)]
    raise Refused("the tensor is not kept by an assignment or a call, so there is no place to own it")


def _with_subscripts(tree: Tree, node: cst.BaseExpression) -> cst.BaseExpression:
    """`w[0]` for the `w` in it: a copy of the part is enough."""
    parent = tree.parent(node)
    while isinstance(parent, cst.Subscript) and parent.value is node:
        node, parent = parent, tree.parent(parent)
    return node


def _is_metadata(tree: Tree, tensor: cst.CSTNode) -> bool:
    """Whether only a property of the tensor is asked for, like `w.shape`."""
    attribute = tree.parent(tensor)
    if not isinstance(attribute, cst.Attribute):
        return False
    contracts, name = load_contracts(), attribute.attr.value
    if isinstance(tree.parent(attribute), cst.Call):
        return contracts.tensor_methods.get(name) == "metadata"
    return name not in contracts.tensor_attributes


def _may_hold_everything(tree: Tree, event: Retention) -> bool:
    """Whether the holder gets every tensor that comes along, and gives none of them up again."""
    if event.holder_kind in _COLLECTIONS:
        return True
    if event.holder_kind is not Holder.DICT:
        return False
    if any(_is_removal(tree, use) for use in tree.names.get(event.holder, ())):
        return False
    for around in tree.ancestors(event.kept.node):
        if isinstance(around, (cst.If, cst.FunctionDef, cst.Lambda)):
            return False
        if isinstance(around, (cst.For, cst.While)):
            return True
    return False


def _is_removal(tree: Tree, use: cst.Name) -> bool:
    parent = tree.parent(use)
    if isinstance(parent, cst.Attribute):
        return parent.attr.value in ("pop", "popitem", "clear")
    return isinstance(tree.parent(parent), cst.Del)
