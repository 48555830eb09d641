"""Rewrites of a loader that mean the same, as edits of its text: lines stay, or move by a known map."""

from __future__ import annotations

import ast
import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)


@dataclass(frozen=True)
class Transformed:
    """The rewritten code, and where each line of the old code is now."""

    code: str
    lines: Mapping[int, int]


def _same_lines(code: str, changed: str) -> Transformed | None:
    """Names were replaced; None if there was nothing to replace."""
    if changed == code:
        return None
    return Transformed(changed, {line: line for line in range(1, code.count("\n") + 2)})


# Names


def rename_variables(code: str) -> Transformed | None:
    """Every variable that a function sets gets another name. Parameters keep theirs: callers use it."""
    tree = ast.parse(code)
    fixed = set(_names_that_stay(tree))
    stored = {
        node.id
        for node in ast.walk(tree)
        if isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load)
    }
    new = {name: f"v{place}_" for place, name in enumerate(sorted(stored - fixed))}
    return _same_lines(code, _replace_names(code, tree, new))


def _names_that_stay(tree: ast.Module) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.arg):
            yield node.arg
        elif isinstance(node, (ast.Global, ast.Nonlocal)):
            yield from node.names
        elif isinstance(node, FUNCTIONS):
            yield node.name
        elif isinstance(node, (ast.MatchAs, ast.MatchStar)) and node.name:
            yield node.name
        elif isinstance(node, (ast.ClassDef, ast.Module)):
            yield from (target.id for target in _targets(node.body))
        elif isinstance(node, ast.JoinedStr) and sys.version_info < (3, 12):
            # The parser gives names inside f-strings no usable place.
            yield from (inner.id for inner in ast.walk(node) if isinstance(inner, ast.Name))


def _targets(body: list[ast.stmt]) -> Iterator[ast.Name]:
    for statement in body:
        if isinstance(statement, ast.Assign):
            yield from (target for target in statement.targets if isinstance(target, ast.Name))


def alias_imports(code: str) -> Transformed | None:
    """`import x` becomes `import x as x_`, `from x import y` becomes `from x import y as y_`."""
    tree = ast.parse(code)
    edits: list[tuple[int, int, str, str]] = []
    new: dict[str, str] = {}
    for node in tree.body:
        if (
            isinstance(node, (ast.Import, ast.ImportFrom))
            and getattr(node, "module", "") != "collections.abc"
        ):
            for alias in node.names:
                if alias.asname is None and "." not in alias.name:
                    new[alias.name] = f"{alias.name}_"
                    text = f"{alias.name} as {alias.name}_"
                    edits.append((alias.lineno, alias.col_offset, alias.name, text))
    return _same_lines(code, _replace_names(code, tree, new, edits))


def _replace_names(
    code: str, tree: ast.Module, new: Mapping[str, str], edits: list[tuple[int, int, str, str]] | None = None
) -> str:
    edits = list(edits or ())
    for node in ast.walk(tree):
        if isinstance(node, ast.Name) and node.id in new:
            edits.append((node.lineno, node.col_offset, node.id, new[node.id]))
    lines = code.splitlines(keepends=True)
    for line, column, old, text in sorted(edits, reverse=True):
        row = lines[line - 1]
        assert row[column:].startswith(old)
        lines[line - 1] = row[:column] + text + row[column + len(old) :]
    return "".join(lines)


# Blocks around the whole body


def wrapped(*before: str, after: tuple[str, ...] = ()) -> Callable[[str], Transformed | None]:
    """A rewrite that puts the body of every outermost function into a block."""

    def rewrite(code: str) -> Transformed | None:
        return _wrap(code, before, after, lambda function: True)

    return rewrite


def into_a_nested_function(code: str) -> Transformed | None:
    """The body of every outermost function becomes a nested function that is called once.

    Not of generators and coroutines, and not where the body rebinds a parameter: that means something else.
    """
    return _wrap(code, ("def run():",), ("return run()",), _can_move)


def _can_move(function: ast.FunctionDef) -> bool:
    parameters = {node.arg for node in ast.walk(function.args) if isinstance(node, ast.arg)}
    return isinstance(function, ast.FunctionDef) and not any(
        isinstance(node, (ast.Yield, ast.YieldFrom, ast.Await))
        or (isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store) and node.id in parameters)
        or (isinstance(node, ast.Nonlocal))
        for node in ast.walk(function)
    )


def _wrap(
    code: str,
    before: tuple[str, ...],
    after: tuple[str, ...],
    wanted: Callable[[ast.FunctionDef], bool],
) -> Transformed | None:
    functions = [function for function in _outermost(ast.parse(code)) if wanted(function)]
    if not functions:
        return None
    starts = {function.body[0].lineno: function for function in functions}
    ends = {function.end_lineno: function for function in functions}
    result, lines, inside = ["import contextlib"], {}, False
    for number, row in enumerate(code.splitlines(), 1):
        if number in starts:
            inside = True
            indent = " " * starts[number].body[0].col_offset
            result += [indent + text for text in before]
        result.append("    " + row if inside and row else row)
        lines[number] = len(result)
        if number in ends:
            inside = False
            result += [indent + text for text in after]
    return Transformed("\n".join(result) + "\n", lines)


def _outermost(tree: ast.Module) -> Iterator[ast.FunctionDef]:
    for node in tree.body:
        for inner in node.body if isinstance(node, ast.ClassDef) else (node,):
            if isinstance(inner, FUNCTIONS) and inner.body[0].lineno > inner.lineno:
                yield inner


# Loops for comprehensions


def unroll_comprehensions(code: str) -> Transformed | None:
    """`x = [element for ... if ...]` becomes a loop; the line that appends stands for the old one."""
    result, lines, changed = [], {}, False
    found = {node.lineno: node for node in ast.walk(ast.parse(code)) if _can_unroll(node)}
    for number, row in enumerate(code.splitlines(), 1):
        node = found.get(number)
        if node is None:
            result.append(row)
            lines[number] = len(result)
            continue
        changed = True
        result += _unrolled(node)
        lines[number] = len(result) - 1
    return Transformed("\n".join(result) + "\n", lines) if changed else None


def _can_unroll(node: ast.AST) -> bool:
    return (
        isinstance(node, ast.Assign)
        and node.lineno == node.end_lineno
        and isinstance(node.value, ast.ListComp)
        and len(node.value.generators) == 1
        and not node.value.generators[0].is_async
    )


def _unrolled(node: ast.Assign) -> list[str]:
    (clause,) = node.value.generators
    tests = " and ".join(f"({ast.unparse(test)})" for test in clause.ifs) or "True"
    rows = [
        "collected_ = []",
        f"for {ast.unparse(clause.target)} in {ast.unparse(clause.iter)}:",
        f"    if {tests}:",
        f"        collected_.append({ast.unparse(node.value.elt)})",
        f"{ast.unparse(node.targets[0])} = collected_",
    ]
    return [" " * node.col_offset + row for row in rows]


# Annotations


def annotate_streams(code: str) -> Transformed | None:
    """An unannotated parameter `weights` is annotated, in quotes."""
    edits = []
    for node in ast.walk(ast.parse(code)):
        if isinstance(node, FUNCTIONS):
            for argument in (*node.args.posonlyargs, *node.args.args):
                if argument.arg == "weights" and argument.annotation is None:
                    text = 'weights: "Iterable[tuple[str, torch.Tensor]]"'
                    edits.append((argument.lineno, argument.col_offset, "weights", text))
    return _same_lines(code, _replace_names(code, ast.parse(""), {}, edits))
