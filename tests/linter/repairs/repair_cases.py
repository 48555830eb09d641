"""What the tests of repairs share: retentions named by their text, and a stream that really lends."""

from __future__ import annotations

import ast
import gc
import textwrap
from collections.abc import Iterator
from dataclasses import dataclass

import libcst as cst
import torch

from loaderlint.linter.edits import apply
from loaderlint.linter.findings import Fix, NoFix
from loaderlint.linter.interpreter.events import Holder, Retention, Site
from loaderlint.linter.reading.slices import FunctionSlice
from loaderlint.linter.reading.source import source_from_bytes
from loaderlint.linter.repairs import plan
from loaderlint.linter.repairs.tree import walk


@dataclass(frozen=True)
class Kept:
    """A retention as a test writes it: the text of the retaining code, of its holder and of the tensor."""

    kind: Holder
    code: str
    holder: str
    tensor: str = "w"
    stream: str = "weights"
    conditional: bool = False


def in_list(name: str, code: str = "", tensor: str = "w") -> Kept:
    return Kept(Holder.LIST, code or f"{name}.append((name, {tensor}))", name, tensor)


@dataclass(frozen=True)
class Repaired:
    """The file before and after, and the repair of each retention in the order in which they were given."""

    before: str
    after: str
    repairs: tuple[Fix | NoFix, ...]

    @property
    def fix(self) -> Fix:
        (only,) = set(self.repairs)
        assert isinstance(only, Fix), only
        return only

    @property
    def reason(self) -> str:
        (only,) = set(self.repairs)
        assert isinstance(only, NoFix), only
        return only.reason


def repair(code: str, *kept: Kept, function: str = "Model.load") -> Repaired:
    """Plan the repairs of one function of a file and apply all of them."""
    code = textwrap.dedent(code).lstrip("\n")
    source = source_from_bytes("model.py", code.encode())
    module = ast.parse(code)
    functions = _functions(module)
    node = functions[function]
    first = min([node.lineno, *(decorator.lineno for decorator in node.decorator_list)])
    unit = FunctionSlice("model.py", function, first, "".join(source.lines[first - 1 : node.end_lineno]))
    events = [event for one in kept for event in _events(unit, one)]
    repairs = plan(events, functions)
    assert set(repairs) == set(events)
    fixes = {fix for fix in repairs.values() if isinstance(fix, Fix)}
    after = apply(source, [edit for fix in fixes for edit in fix.edits])
    compile(after, "model.py", "exec")
    return Repaired(code, after, tuple(repairs[event] for event in events))


def _functions(tree: ast.AST, prefix: str = "") -> dict[str, ast.FunctionDef]:
    found = {}
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            found[prefix + node.name] = node
        name = f"{prefix}{node.name}." if hasattr(node, "name") else prefix
        found.update(_functions(node, name) if isinstance(node, ast.stmt) else {})
    return found


def _events(unit: FunctionSlice, kept: Kept) -> list[Retention]:
    """An event for every expression or small statement that reads like `kept.code`."""
    kinds = (cst.BaseExpression, cst.BaseSmallStatement)
    found = [
        node
        for node in walk(unit.module)
        if isinstance(node, kinds)
        and not isinstance(node, cst.Expr)
        and _text(unit, node) == "".join(kept.code.split())
    ]
    assert found, f"{kept.code} is not in the function"
    loop = Site(unit, next((node for node in walk(unit.module) if isinstance(node, cst.For)), found[0]))
    names = (kept.kind, kept.holder, kept.tensor, kept.stream)
    return [Retention(*names, loop, Site(unit, node), loop, loop, "", kept.conditional, ()) for node in found]


def _text(unit: FunctionSlice, node: cst.CSTNode) -> str:
    try:
        return "".join(unit.text(node).split())
    except RecursionError:
        return ""  # A test of deep nesting: LibCST cannot write the node.


def checkpoint(*names: str) -> dict[str, torch.Tensor]:
    """One small tensor a name, all different."""
    return {name: torch.arange(6.0).reshape(2, 3) + 10 * number for number, name in enumerate(names)}


class Lender:
    """A stream that lends: one buffer, written again at every step. Counts the copies that others hold."""

    def __init__(self, weights: dict[str, torch.Tensor]) -> None:
        self.weights = weights
        self.peak = 0

    def __iter__(self) -> Iterator[tuple[str, torch.Tensor]]:
        gc.freeze()  # What is there already need not be gone through at each step.
        buffer = torch.full((2, 3), torch.nan)
        for name, tensor in self.weights.items():
            buffer.copy_(tensor)
            yield name, buffer[:]
            self.peak = max(self.peak, self._copies() - 1)  # Without the buffer.
        buffer.fill_(torch.nan)
        gc.unfreeze()

    @staticmethod
    def _copies() -> int:
        """How many new tensors have memory of their own; views share one."""
        tensors = (one for one in gc.get_objects() if type(one) is torch.Tensor)
        return len({one.untyped_storage().data_ptr() for one in tensors})


def load(
    code: str, weights: dict[str, torch.Tensor], lender: Lender | None = None
) -> dict[str, torch.Tensor]:
    """Run `Model().load(stream)` of a file on a lending stream; what the model has in its parameters then."""
    scope: dict[str, object] = {"torch": torch}
    exec(compile(code, "model.py", "exec"), scope)
    model = scope["Model"]()
    model.params = {}
    model.load(iter(lender or Lender(weights)))
    return model.params


def equal(left: dict[str, torch.Tensor], right: dict[str, torch.Tensor]) -> bool:
    return left.keys() == right.keys() and all(torch.equal(left[name], right[name]) for name in left)
