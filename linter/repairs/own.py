"""Give a kept tensor its own memory where it is put into its holder."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import libcst as cst
from loaderlint.linter.contracts import load_contracts
from loaderlint.linter.findings import Applicability, Edit, Fix
from loaderlint.linter.interpreter.events import Holder, Retention
from loaderlint.linter.repairs.callees import Functions
from loaderlint.linter.repairs.copies import CLONE, Copy, host_copy
from loaderlint.linter.repairs.draining import gives_up
from loaderlint.linter.repairs.edit import insert, replace
from loaderlint.linter.repairs.lent import Place, lent_places, unpacking_target
from loaderlint.linter.repairs.mixing import meets_other_tensors
from loaderlint.linter.repairs.texts import short
from loaderlint.linter.repairs.tree import Tree

_COLLECTIONS = (Holder.LIST, Holder.MATERIALIZED)


def own(tree: Tree, events: Sequence[Retention], functions: Functions) -> Fix:
    """Own every tensor that is put into one holder. Raises `Refused` where one of them cannot be told."""
    on_device = meets_other_tensors(tree, events[0])
    places = [lent_places(tree, event, functions) for event in events]
    copy = CLONE if on_device else host_copy(tree)
    edits = _edits(tree, [place for those in places for place in those], copy)
    whole = any(_may_hold_everything(tree, event) for event in events)
    # Work that is queued holds its copies until a worker takes it: how many, nobody knows.
    queued = any(event.holder_kind is Holder.SUBMITTED for event in events)
    applicability = Applicability.UNSAFE if whole or queued else Applicability.SAFE
    return Fix(applicability, _title(tree, events[0], places[0], on_device, whole), tuple(edits))


def own_on_host(tree: Tree, events: Sequence[Retention], functions: Functions) -> list[Edit]:
    """The edits that put host copies into the holder. Raises `Refused`."""
    return _edits(
        tree, [place for one in events for place in lent_places(tree, one, functions)], host_copy(tree)
    )


def _title(tree: Tree, event: Retention, places: Sequence[Place], on_device: str, whole: bool) -> str:
    tensors = " and ".join(dict.fromkeys(f"`{tree.brief(place.node)}`" for place in places))
    target = unpacking_target(event)
    holder = short(event.holder) if target is None else tree.brief(target)
    stays = all(_may_be_a_copy(place.node) for place in places)
    title = f"clone {tensors}" if on_device else f"own {tensors} on the host"
    if stays:
        title = f"make {tensors} a copy in any case,"
    if event.holder_kind is Holder.SUBMITTED:
        title += " before it is submitted"
    elif event.holder_kind is Holder.CAPTURED:
        title += " before it is captured"
    elif event.holder_kind is Holder.MATERIALIZED:
        title += " in the comprehension"
    elif not any(place.later for place in places):
        title += f" before `{holder}` keeps it"
    if on_device:
        title += f": {on_device}"
    if whole:
        kind = "" if stays else "device " if on_device else "host "
        title += f"; this may hold the whole checkpoint in {kind}memory"
    return title


def _edits(tree: Tree, places: Sequence[Place], copy: Copy) -> list[Edit]:
    """The edits in the order of their places, each once."""
    unique = {place.node: place for place in places}
    return [*copy.imports, *(edit for place in unique.values() for edit in _owned(tree, place, copy))]


def _owned(tree: Tree, place: Place, copy: Copy) -> Iterator[Edit]:
    text = tree.text(place.node)
    if place.parts:
        parts = (
            copy.of(f"{text}[{at}]") if tensor else f"{text}[{at}]" for at, tensor in enumerate(place.parts)
        )
        yield replace(tree, place.node, f"({', '.join(parts)})")
    elif place.later:
        line = tree.statement(place.node)
        yield insert((tree.end(line)[0] + 1, 1), f"{tree.indent(line)}{text} = {copy.of(text)}\n")
    else:
        yield from _sure_copy(tree, place.node, copy)


def _sure_copy(tree: Tree, tensor: cst.BaseExpression, copy: Copy) -> list[Edit]:
    """Own a tensor; a copy that may be none (`w.to(device)`) is turned into one that always is."""
    if not _may_be_a_copy(tensor):
        return copy.edits(tree, tensor)
    keyword = load_contracts().copy_if_true.get(tensor.func.attr.value)
    if keyword is None or not tensor.args:
        return CLONE.edits(tree, tensor)
    given = [one for one in tensor.args if one.keyword is not None and one.keyword.value == keyword]
    if given:
        return [replace(tree, given[0].value, "True")]
    return [insert(tree.end(tensor.args[-1].value), f", {keyword}=True")]


def _may_be_a_copy(tensor: cst.BaseExpression) -> bool:
    """Whether a method is called that copies only where something has to change."""
    if not isinstance(tensor, cst.Call) or not isinstance(tensor.func, cst.Attribute):
        return False
    return load_contracts().tensor_methods.get(tensor.func.attr.value) == "conditional_copy"


def _may_hold_everything(tree: Tree, event: Retention) -> bool:
    """Whether the holder gets every tensor that comes along, and gives none of them up again."""
    node, scope = event.kept.node, tree.scope(event.kept.node)
    if event.holder_kind not in (*_COLLECTIONS, Holder.DICT):
        return False
    around = [one for one in tree.ancestors(node) if one is not scope and tree.inside(one, scope)]
    loops = [one for one in around if isinstance(one, (cst.For, cst.While))]
    if any(gives_up(tree, event.holder, loop) for loop in loops or [tree.unit.function]):
        return False
    if event.holder_kind is not Holder.DICT:
        return True
    inner = around[: around.index(loops[0])] if loops else []
    return bool(loops) and not any(isinstance(one, cst.If) for one in inner)
