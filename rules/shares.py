"""How much of a stream a place keeps, as the conditions around it tell."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import libcst as cst
from loaderlint.linter.interpreter.events import HeldCopy
from loaderlint.linter.reading.nodes import walk
from loaderlint.linter.repairs.draining import gives_up
from loaderlint.linter.repairs.tree import Tree

Loop = cst.For | cst.While


def loops_around(tree: Tree, node: cst.CSTNode) -> list[Loop]:
    """The loops that `node` is in, from the inside out."""
    return [around for around in tree.ancestors(node) if isinstance(around, (cst.For, cst.While))]


def is_emptied(tree: Tree, event: HeldCopy) -> bool:
    """Whether the holder gives up what it has while it is filled."""
    loops: Sequence[cst.CSTNode] = loops_around(tree, event.at.node)
    return any(gives_up(tree, event.detail, code) for code in loops or [tree.unit.function])


def conditions(tree: Tree, node: cst.CSTNode, loop: Loop) -> Iterator[cst.BaseExpression]:
    """The conditions inside the loop that have to be true where `node` is."""
    inner = node
    for around in tree.ancestors(node):
        if around is loop:
            return
        if isinstance(around, cst.If) and inner is around.body:
            yield around.test
        inner = around


def all_but_skipped(tree: Tree, event: HeldCopy) -> bool:
    """Whether each tensor is copied and kept but for some that are passed over, and used for nothing else."""
    if event.made.unit is not event.at.unit:
        return False
    loops = loops_around(tree, event.at.node)
    branches = (cst.If, cst.IfExp, cst.ExceptHandler, cst.BooleanOperation)
    for node in (event.at.node, event.made.node):
        inside = [around for around in tree.ancestors(node) if loops and tree.inside(around, loops[-1].body)]
        if not inside or any(
            isinstance(around, (*branches, cst.Else, cst.While, cst.For)) for around in inside
        ):
            return False
    skips = [node for node in walk(loops[-1].body) if isinstance(node, cst.Continue)]
    return bool(skips) and all(_only_skips(tree, skip) for skip in skips)


def _only_skips(tree: Tree, skip: cst.Continue) -> bool:
    """Whether the branch does nothing but go on to the next item."""
    suite = tree.parent(tree.statement(skip))
    alone = isinstance(suite, cst.IndentedBlock) and len(suite.body) == 1
    return alone or isinstance(tree.statement(skip), cst.SimpleStatementSuite)
