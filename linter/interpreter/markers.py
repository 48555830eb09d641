"""Ownership markers: attributes of a tensor that say that it is lent. A view is another object, and has none of them."""

from __future__ import annotations

from abc import ABC
from collections.abc import Sequence

import libcst as cst
from loaderlint.linter.interpreter.core import Core
from loaderlint.linter.interpreter.events import Fact, Note, Observation, Site
from loaderlint.linter.interpreter.frames import Argument, Context
from loaderlint.linter.interpreter.state import State
from loaderlint.linter.interpreter.values import Named, Value, loans
from loaderlint.linter.reading.nodes import literal_text, walk

_QUESTIONS = ("getattr", "hasattr")


class Markers(Core, ABC):
    """Follows which tensors are views, and observes questions that a view cannot answer."""

    def view(self, value: Value, node: cst.CSTNode, context: Context) -> Value:
        """What `node` makes of the tensors in `value`: other tensors of the same memory."""
        return frozenset(
            loan if loan.view else loan._replace(view=Site(context.unit, node)) for loan in loans(value)
        )

    def ask_for_marker(
        self, arguments: Sequence[Argument], node: cst.CSTNode, state: State, context: Context
    ) -> None:
        """`getattr(tensor, MARK, False)`: False for every view, if the tensor was marked or not."""
        views = [
            loan for loan in loans(arguments[0].value) if loan.view and not (loan.stale or loan.conditional)
        ]
        mark = self._marker(arguments[1].node, state, context) if views else ""
        if not mark or _asks_elsewhere(node, context):
            return
        at, on_storage = Site(context.unit, node), self.contracts.ownership_markers[mark] == "storage"
        otherwise = "its storage carries the marker" if on_storage else "ask before the view is made"
        notes = (
            Note("borrowed", views[0].borrowed, "borrowed here"),
            Note("viewed", views[0].view, "another tensor of the same memory: attributes do not come along"),
            Note("asked", at, f"asked here, always in vain: {otherwise}"),
        )
        self.observe(
            Observation(Fact.MARKER_LOST, at, context.unit.text(arguments[0].node), notes, detail=mark)
        )

    def mark(self, value: Value, name: cst.CSTNode | str, state: State, context: Context) -> None:
        """A view that is given the marker by hand carries it."""
        views = {loan for loan in loans(value) if loan.view}
        if views and self._marker(name, state, context):
            state.rewrite(lambda atom: atom._replace(view=None) if atom in views else atom)

    def _marker(self, name: cst.CSTNode | str, state: State, context: Context) -> str:
        """The marker that is named; "" for any other attribute."""
        text = name if isinstance(name, str) else self._text(name, state, context)
        return text if text in self.contracts.ownership_markers else ""

    def _text(self, node: cst.CSTNode, state: State, context: Context) -> str:
        """The text of a literal, or of a module's constant; "" for anything else."""
        if not isinstance(node, (cst.Name, cst.Attribute)):
            return literal_text(node)
        value = self.evaluate(node, state, context)
        names = [atom.name for atom in value if isinstance(atom, Named)]
        if names:
            return self.project.text(names[0])
        return context.index.text_of(node.value) if isinstance(node, cst.Name) and not value else ""


def _asks_elsewhere(question: cst.CSTNode, context: Context) -> bool:
    """Whether the function asks something else for the marker, too: the storage, or the tensor before it was viewed."""
    tensor, mark = _asked(question, context) or ("", "")
    others = (_asked(node, context) for node in walk(context.function))
    return any(other is not None and other[0] != tensor and other[1] == mark for other in others)


def _asked(node: cst.CSTNode, context: Context) -> tuple[str, str] | None:
    """What is asked, and for which attribute, as it is written."""
    if not (isinstance(node, cst.Call) and isinstance(node.func, cst.Name) and node.func.value in _QUESTIONS):
        return None
    texts = [context.unit.text(item.value) for item in node.args[:2]]
    return (texts[0], texts[1]) if len(texts) == 2 else None
