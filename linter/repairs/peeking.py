"""A whole stream put into a list, because its names are asked for something before, or while, it is loaded."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import libcst as cst
from loaderlint.linter.findings import Applicability, Edit, Fix
from loaderlint.linter.interpreter.events import Retention
from loaderlint.linter.repairs.callees import Functions, reading_of
from loaderlint.linter.repairs.consumer import Consumer, only_consumer
from loaderlint.linter.repairs.copies import host_copy
from loaderlint.linter.repairs.edit import between, delete_statements, first_line, insert, replace
from loaderlint.linter.repairs.names import changed_objects, exposed_reads, mentioned
from loaderlint.linter.repairs.tree import Refused, Statement, Tree

_LOOKS = "# Looks at the names while the stream passes, so that nothing has to wait."
_WAITS = "# Only what is looked at ahead has to wait for the rest."


@dataclass(frozen=True, slots=True)
class Question:
    """`target = any(condition for name, _ in kept)`."""

    statement: cst.SimpleStatementLine
    target: cst.BaseExpression
    name: str
    condition: cst.BaseExpression


class _Peek(NamedTuple):
    """`line` puts `stream` into the list `kept`; then come the questions, and what reads the list."""

    tree: Tree
    line: cst.SimpleStatementLine
    kept: str
    stream: str
    questions: Sequence[Question]
    consumer: Consumer


def look_at_names(tree: Tree, event: Retention, functions: Functions) -> tuple[Fix, Consumer]:
    """Iterate the stream, and answer what is asked of its names on the way, or as far ahead as it takes.

    Returns the repair, and what then reads the stream. Raises `Refused` where the list is for more than that.
    """
    line, kept, stream = _list_of_stream(tree, event)
    uses = [use for use in tree.names[kept] if tree.start(use) > tree.end(event.kept.node)]
    questions = [found for use in uses if (found := _question(tree, use)) is not None]
    if not questions:
        raise Refused(f"`{kept}` is not asked for its names")
    consumer = only_consumer(tree, kept, uses[len(questions) :], tree.scope(line))
    statements = [line, *(one.statement for one in questions)]
    block = tree.parent(line)
    if any(tree.parent(one) is not block for one in statements) or consumer.guard is not None:
        raise Refused(f"`{kept}` is not asked and read in one block")
    _refuse_changes(tree, kept, stream, questions, consumer)
    reading_of(tree, consumer, functions)
    repair = _ahead if _is_answered_too_late(tree, questions, consumer) else _on_the_way
    return repair(_Peek(tree, line, kept, stream, questions, consumer)), consumer


def _list_of_stream(tree: Tree, event: Retention) -> tuple[cst.SimpleStatementLine, str, str]:
    call = event.kept.node
    assignment = tree.parent(call)
    line = tree.statement(call)
    name = call.func.value if isinstance(call, cst.Call) and isinstance(call.func, cst.Name) else ""
    if name not in ("list", "tuple") or len(call.args) != 1 or not isinstance(call.args[0].value, cst.Name):
        raise Refused(f"`{tree.brief(call)}` is no list of a stream")
    plain = isinstance(assignment, cst.Assign) and len(assignment.targets) == 1 and len(line.body) == 1
    if not plain or not isinstance(assignment.targets[0].target, cst.Name):
        raise Refused(f"`{tree.brief(call)}` is kept in more than a variable")
    return line, assignment.targets[0].target.value, call.args[0].value.value


def _question(tree: Tree, use: cst.Name) -> Question | None:
    loop = tree.parent(use)
    expression = tree.parent(loop)
    if (
        not isinstance(loop, cst.CompFor)
        or loop.iter is not use
        or not isinstance(expression, cst.GeneratorExp)
    ):
        return None
    call = tree.parent(tree.parent(expression))
    line = tree.statement(use)
    assigned = tree.parent(call)
    asks = isinstance(call, cst.Call) and isinstance(call.func, cst.Name) and call.func.value == "any"
    if not asks or not isinstance(assigned, cst.Assign) or len(assigned.targets) != 1 or len(line.body) != 1:
        return None
    names = [part.value for part in loop.target.elements] if isinstance(loop.target, cst.Tuple) else []
    simple = len(names) == 2 and all(isinstance(name, cst.Name) for name in names)
    if not simple or loop.ifs or loop.inner_for_in or names[1].value in mentioned(expression.elt):
        return None
    target = assigned.targets[0].target
    return Question(line, target, names[0].value, expression.elt) if _is_plain(target) else None


def _is_plain(target: cst.BaseExpression) -> bool:
    owner = target.value if isinstance(target, cst.Attribute) else target
    return isinstance(owner, cst.Name)


def _refuse_changes(
    tree: Tree, kept: str, stream: str, questions: Sequence[Question], consumer: Consumer
) -> None:
    """Refuse where a later line than the question changes what it looks at, or the stream is used again."""
    if len({question.name for question in questions}) > 1:
        raise Refused(f"`{kept}` is taken apart under several names")
    asked = mentioned(*(question.condition for question in questions)) - {questions[0].name}
    block = list(tree.parent(questions[0].statement).body)
    later = block[block.index(questions[0].statement) : _place(tree, block, consumer.statement) + 1]
    others = [one for one in later if all(one is not question.statement for question in questions)]
    if asked & changed_objects(*others) or questions[0].name in asked:
        raise Refused(f"what `{kept}` is asked for may have changed until it is read")
    if kept != stream and stream in mentioned(*later):
        raise Refused(f"`{stream}` is used again")


def _place(tree: Tree, block: Sequence[Statement], node: cst.CSTNode) -> int:
    return next(number for number, one in enumerate(block) if tree.inside(node, one))


def _is_answered_too_late(tree: Tree, questions: Sequence[Question], consumer: Consumer) -> bool:
    """Whether an answer is needed before the consumer has read the stream to its end."""
    if consumer.returns or consumer.call is None or isinstance(consumer.statement, cst.SimpleStatementSuite):
        return True
    targets = {tree.text(question.target) for question in questions}
    end = tree.end(consumer.statement)
    for name in {target.partition(".")[0] for target in targets}:
        for use in tree.names.get(name, ()):
            around = tree.parent(use)
            text = tree.text(around) if isinstance(around, cst.Attribute) else name
            asked = any(tree.inside(use, question.statement) for question in questions)
            if text in targets and not asked and tree.start(use) < end:
                return True
    return tree.parent(consumer.statement) is not tree.parent(questions[0].statement)


def _on_the_way(peek: _Peek) -> Fix:
    tree, line, kept, stream, questions, consumer = peek
    indent, unit = tree.indent(line), tree.indent_step
    name, generator = questions[0].name, _unused(tree, f"stream_{kept}")
    own = {one.target.value for one in questions if isinstance(one.target, cst.Name)}
    text = "".join(f"{indent}{tree.text(one.target)} = False\n" for one in questions)
    text += f"\n{indent}def {generator}():\n{indent}{unit}{_LOOKS}\n"
    text += f"{indent}{unit}nonlocal {', '.join(sorted(own))}\n" if own else ""
    text += f"{indent}{unit}for {name}, tensor in {stream}:\n"
    for one in questions:
        text += f"{indent}{unit * 2}if {tree.text(one.condition)}:\n"
        text += f"{indent}{unit * 3}{tree.text(one.target)} = True\n"
    text += f"{indent}{unit * 2}yield {name}, tensor\n\n"
    passing = "passing" if kept == stream else kept
    rest = f"{indent}for _ in {passing}:\n{indent}{unit}pass  # All names have to be looked at.\n"
    first, last = tree.start(consumer.statement)[0], tree.end(consumer.statement)[0]
    edits = [
        *_instead(tree, [line, *(one.statement for one in questions)], text),
        insert((first, 1), f"{indent}{passing} = {generator}()\n"),
        replace(tree, consumer.use, passing),
        insert((last + 1, 1), rest),
    ]
    return Fix(
        Applicability.UNSAFE, f"look at the names while `{stream}` passes, without a list", tuple(edits)
    )


def _ahead(peek: _Peek) -> Fix:
    tree, line, kept, stream, questions, consumer = peek
    if tree.around is None:
        raise Refused("`itertools.chain` would have to be imported")
    chain, imports = tree.around.imported("itertools", "chain")
    block = list(tree.parent(line).body)
    clobbered = {questions[0].name, "tensor"} & exposed_reads(
        block[block.index(questions[-1].statement) + 1 :]
    )
    if clobbered:
        raise Refused(f"`{min(clobbered)}` is read behind the question")
    copy = host_copy(tree)
    indent, unit = tree.indent(line), tree.indent_step
    seen, name = _unused(tree, "seen"), questions[0].name
    text = f"{indent}{stream} = iter({stream})\n{indent}{seen} = []\n"
    text += "".join(f"{indent}{tree.text(one.target)} = False\n" for one in questions)
    text += f"{indent}for {name}, tensor in {stream}:\n{indent}{unit}{_WAITS}\n"
    text += f"{indent}{unit}{seen}.append(({name}, {copy.of('tensor')}))\n"
    for one in questions:
        text += f"{indent}{unit}if {tree.text(one.condition)}:\n"
        text += f"{indent}{unit * 2}{tree.text(one.target)} = True\n"
        text += f"{indent}{unit * 2}break\n" if len(questions) == 1 else ""
    if len(questions) > 1:
        text += f"{indent}{unit}if {' and '.join(tree.text(one.target) for one in questions)}:\n"
        text += f"{indent}{unit * 2}break\n"
    edits = [
        *_instead(tree, [line, *(one.statement for one in questions)], text),
        replace(tree, consumer.use, f"{chain}({seen}, {stream})"),
        *imports,
        *copy.imports,
    ]
    title = (
        f"look ahead in `{stream}` only as far as it takes, and chain the rest; if it takes all, all is held"
    )
    return Fix(Applicability.UNSAFE, title, tuple(edits))


def _instead(tree: Tree, statements: Sequence[cst.SimpleStatementLine], text: str) -> list[Edit]:
    """Put `text` where the last of the statements stands, and remove all of them, but not the comments above them."""
    last = statements[-1]
    comments = "".join(
        f"{tree.line(number)}\n"
        for one in statements[:-1]
        for number in range(first_line(tree, one), tree.start(one)[0])
    )
    first = first_line(tree, last)
    comments += "".join(f"{tree.line(number)}\n" for number in range(first, tree.start(last)[0]))
    return [
        *delete_statements(tree, statements[:-1]),
        between((first, 1), (tree.end(last)[0] + 1, 1), comments + text),
    ]


def _unused(tree: Tree, name: str) -> str:
    while name in tree.names:
        name += "_"
    return name
