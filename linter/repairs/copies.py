"""How a tensor is given its own memory: on its device, on the host, or as the project itself does it."""

from __future__ import annotations

from dataclasses import dataclass

import libcst as cst
from loaderlint.linter.findings import Edit
from loaderlint.linter.repairs.edit import call_method, insert
from loaderlint.linter.repairs.tree import Tree


@dataclass(frozen=True, slots=True)
class Copy:
    """What stands before and after the tensor, and the edits that import what is needed for it."""

    before: str
    after: str
    imports: tuple[Edit, ...] = ()

    def of(self, text: str) -> str:
        """The copy of a tensor that is written as `text`, a name or the like."""
        return f"{self.before}{text}{self.after}"

    def edits(self, tree: Tree, node: cst.BaseExpression) -> list[Edit]:
        """Make the copy of what `node` is."""
        if self.before:
            return [insert(tree.start(node), self.before), insert(tree.end(node), self.after)]
        return call_method(tree, node, self.after)


CLONE = Copy("", ".clone()")


def host_copy(tree: Tree) -> Copy:
    """A copy in host memory: the project's own helper, if it has one."""
    if tree.around is None or not tree.around.own_helper:
        return Copy("", '.detach().to("cpu", copy=True)')
    name, imports = tree.around.helper()
    return Copy(f"{name}(", ")", tuple(imports))
