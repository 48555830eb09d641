"""Runs a loader on a guarded stream that reuses one buffer; tells where what it reads stale was kept.

The guard decides what is a stale read. To tell where that tensor was kept, the lent tensors are of a class that
remembers the lines that handed it on while it was valid, and goes on with other data after a stale read.
"""

from __future__ import annotations

import ast
import random
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from types import CodeType, FrameType
from typing import Any

import torch

from loaderlint.runtime_guard import guard
from loaderlint.runtime_guard.reads import is_stale_read, observe
from loaderlint.runtime_guard.report import take_stale_reads

PROGRAM = "loader.py"
_MARK = "__handed_on__"
_GENERATOR = 0x20


@dataclass(frozen=True)
class Read:
    """One stale read: the lines that handed the tensor on inside its lease, and those that led to the read."""

    kept: frozenset[int]
    read: frozenset[int]


@dataclass
class _Lease:
    ended: bool = False
    reads: set[Read] = field(default_factory=set)


class _Lent(torch.Tensor):
    """A lent tensor, or a view of one, with the lines that it came by."""

    lease: _Lease
    lines: frozenset[int]

    @classmethod
    def __torch_function__(
        cls, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        kwargs = kwargs or {}
        with torch._C.DisableTorchFunctionSubclass():
            lent = list(_lent_in((args, kwargs)))
            try:
                result = func(*args, **kwargs)
            except RuntimeError as error:
                if not is_stale_read(error):
                    raise
                _record(error, lent)
                return func(*_with_other_data(args), **_with_other_data(kwargs))
            return _views_of(lent, result)


def _record(error: RuntimeError, lent: list[_Lent]) -> None:
    observe(error)
    stale = [tensor for tensor in lent if tensor.lease.ended]
    assert stale, "the guard refuses a tensor whose lease has not ended"
    here = frozenset(_program_lines(sys._getframe(2)))
    for tensor in stale:
        tensor.lease.reads.add(Read(tensor.lines, here))


def _lent_in(value: object) -> Iterator[_Lent]:
    if isinstance(value, _Lent):
        yield value
    elif isinstance(value, (list, tuple)):
        for part in value:
            yield from _lent_in(part)
    elif isinstance(value, dict):
        yield from _lent_in(tuple(value.values()))


def _with_other_data(value: Any) -> Any:
    if isinstance(value, _Lent):
        return torch.zeros(value.shape)
    if isinstance(value, (list, tuple)):
        return type(value)(_with_other_data(part) for part in value)
    return {key: _with_other_data(part) for key, part in value.items()} if isinstance(value, dict) else value


def _views_of(lent: list[_Lent], result: Any) -> Any:
    """The result of an operation, in which views of a lent tensor are lent as that is."""
    if isinstance(result, (list, tuple)) and result and isinstance(result[0], torch.Tensor):
        return type(result)(_views_of(lent, part) for part in result)
    if not isinstance(result, torch.Tensor):
        return result
    for tensor in lent:
        if tensor.untyped_storage()._cdata == result.untyped_storage()._cdata:
            return _as_lent(result, tensor.lease, tensor.lines)
    return result


def _as_lent(tensor: torch.Tensor, lease: _Lease, lines: frozenset[int]) -> _Lent:
    with torch._C.DisableTorchFunctionSubclass():
        lent = tensor.as_subclass(_Lent)
    lent.lease, lent.lines = lease, lines
    return lent


def _handed_on(value: Any, line: int, unpacked: bool) -> Any:
    """`value`, in which every tensor whose lease runs has come by `line`; the items of a list only if `unpacked`."""
    if type(value) is tuple or (unpacked and type(value) is list):
        return type(value)(_handed_on(part, line, unpacked) for part in value)
    if isinstance(value, _Lent) and not value.lease.ended:
        return _as_lent(value, value.lease, value.lines | {line})
    return value


class _Marker(ast.NodeTransformer):
    """Lets every value that is assigned, passed, put into a display, returned or yielded tell its line."""

    def visit_Call(self, node: ast.Call) -> ast.AST:
        self.generic_visit(node)
        node.args = [self._marked(argument) for argument in node.args]
        for keyword in node.keywords:
            keyword.value = self._marked(keyword.value)
        return node

    def visit_Assign(self, node: ast.Assign) -> ast.AST:
        self.generic_visit(node)
        node.value = self._marked(node.value)
        return node

    visit_NamedExpr = visit_Return = visit_Yield = visit_Assign

    def visit_List(self, node: ast.List) -> ast.AST:
        self.generic_visit(node)
        if isinstance(node.ctx, ast.Load):
            node.elts = [self._marked(element) for element in node.elts]
        return node

    visit_Tuple = visit_List

    def visit_Starred(self, node: ast.Starred) -> ast.AST:
        self.generic_visit(node)
        if isinstance(node.ctx, ast.Load):
            node.value = self._marked(node.value, unpacked=True)
        return node

    def visit_BinOp(self, node: ast.BinOp) -> ast.AST:
        self.generic_visit(node)
        node.left = self._marked(node.left, unpacked=True)
        return node

    def visit_Dict(self, node: ast.Dict) -> ast.AST:
        self.generic_visit(node)
        node.values = [self._marked(value) for value in node.values]
        return node

    def visit_ListComp(self, node: ast.ListComp) -> ast.AST:
        self.generic_visit(node)
        node.elt = self._marked(node.elt)
        return node

    visit_GeneratorExp = visit_ListComp

    def visit_arguments(self, node: ast.arguments) -> ast.AST:
        self.generic_visit(node)
        node.defaults = [self._marked(default) for default in node.defaults]
        return node

    def _marked(self, value: ast.expr, unpacked: bool = False) -> ast.expr:
        if isinstance(value, (ast.Starred, ast.Constant)) or value is None:
            return value
        details = [ast.Constant(value.lineno), ast.Constant(unpacked)]
        call = ast.Call(ast.Name(_MARK, ast.Load()), [value, *details], [])
        return ast.fix_missing_locations(ast.copy_location(call, value))


def _program_lines(frame: FrameType | None) -> Iterator[int]:
    while frame is not None:
        if frame.f_code.co_filename == PROGRAM:
            yield frame.f_lineno
        frame = frame.f_back


def _asking_lines() -> Iterator[int]:
    """The lines that ask for the stream's next item: a generator's, then that of whom it works for."""
    frame: FrameType | None = sys._getframe(2)
    while frame is not None:
        if frame.f_code.co_filename == PROGRAM:
            yield frame.f_lineno
            if not frame.f_code.co_flags & _GENERATOR:
                return
        frame = frame.f_back


def _reusing(names: list[str]) -> Iterator[tuple[str, torch.Tensor]]:
    buffer = torch.empty(4, 4)
    for number, name in enumerate(names):
        yield name, buffer.fill_(number)


def _watched(names: list[str], reads: set[Read]) -> Iterator[tuple[str, torch.Tensor]]:
    for name, tensor in guard(_reusing(names)):
        lease = _Lease(reads=reads)
        lent = _as_lent(tensor, lease, frozenset(_asking_lines()))
        del tensor
        yield name, lent
        del lent
        lease.ended = True


def _names(chance: random.Random) -> list[str]:
    parts = (("a", "b"), (".q", ".k"), (".expert", ".mlp"), (".weight", ".bias"))
    count = chance.randint(1, 6)
    return [
        f"{chance.choice(parts[0])}{place}" + "".join(map(chance.choice, parts[1:])) for place in range(count)
    ]


def compiled(code: str) -> CodeType:
    """The program with its marks."""
    return compile(_Marker().visit(ast.parse(code, PROGRAM)), PROGRAM, "exec")


def stale_reads(program: CodeType, seed: int) -> set[Read]:
    """The stale reads of one run, on names and with chances that `seed` decides."""
    chance = random.Random(seed)
    random.seed(seed)
    space: dict[str, Any] = {_MARK: _handed_on, "__name__": "loader"}
    exec(program, space)
    reads: set[Read] = set()
    take_stale_reads()
    if space["load"](_watched(_names(chance), reads), []) is not None:
        raise TypeError("load() returns something: it is no loader")
    assert bool(take_stale_reads()) == bool(reads)
    return reads
