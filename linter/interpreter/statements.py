"""Statements: control flow, and where values are put."""

from __future__ import annotations

from abc import ABC
from collections.abc import Callable, Sequence

import libcst as cst
from loaderlint.linter.interpreter.core import Core, method_for
from loaderlint.linter.interpreter.correlation import Asked, asked_again, assigned_names, may_decide
from loaderlint.linter.interpreter.events import Holder
from loaderlint.linter.interpreter.frames import Assignment, Context, Returned
from loaderlint.linter.interpreter.heap import CONTAINER_KINDS
from loaderlint.linter.interpreter.state import State
from loaderlint.linter.interpreter.values import (
    NOTHING,
    Named,
    Value,
    if_kept_by_none,
    loans,
    rewrite,
)

# The variable that a returned value is in while its block is left.
_RETURNED = "%returned"


# What holds simple statements between semicolons.
_LINES = (cst.SimpleStatementLine, cst.SimpleStatementSuite)

# So many conditions at once are followed apart: each one doubles the work.
_MAX_FACTS = 2


class Statements(Core, ABC):
    """Runs statements on a state, in place."""

    def execute(self, body: Sequence[cst.CSTNode], state: State, context: Context) -> None:
        """Run `body` until its end or until no path goes on."""
        self._execute_from(0, body, state, context)

    def _execute_from(self, start: int, body: Sequence[cst.CSTNode], state: State, context: Context) -> None:
        for place in range(start, len(body)):
            statement = body[place]
            if state.dead:
                return
            question = self._question(place, body, state, context)
            if question is not None:
                self._execute_apart(question, place, body, state, context)
                return
            if self.watch is not None:
                self.watch.look(statement, context.unit, state, context.frame)
            if type(statement) in _LINES:
                for part in statement.body:
                    self._step(part, state, context)
            else:
                self._step(statement, state, context)

    def _step(self, statement: cst.CSTNode, state: State, context: Context) -> None:
        """Run one statement, of a line that may hold several."""
        if state.dead:
            return
        if context.failing is not None:
            context.failing.join(state)
        run = method_for(type(self), "_run_", type(statement))
        if run is not None:
            run(self, statement, state, context)

    def _question(
        self, place: int, body: Sequence[cst.CSTNode], state: State, context: Context
    ) -> Asked | None:
        """The condition whose outcomes are followed apart from here on, because lent tensors depend on it twice."""
        # Most statements decide nothing, or nothing about tensors: the rest of the block is looked at last.
        frame = state.frames[context.frame]
        if not may_decide(body[place]) or not any(any(loans(value)) for value in frame.values()):
            return None
        if not any(any(loans(frame.get(name, NOTHING))) for name in assigned_names(body[place])):
            return None
        questions = asked_again(tuple(body)).get(place, ())
        if not questions or sum(1 for key in state.facts if key[0] == context.frame) >= _MAX_FACTS:
            return None
        return next((one for one in questions if (context.frame, one.text) not in state.facts), None)

    def _execute_apart(
        self, question: Asked, place: int, body: Sequence[cst.CSTNode], state: State, context: Context
    ) -> None:
        """Run the rest of a block twice, once for each outcome of a condition."""
        key, other = (context.frame, question.text), state.copy()
        for path, outcome in ((state, True), (other, False)):
            path.facts[key] = (outcome, question.names)
            self._execute_from(place, body, path, context)
            path.facts.pop(key, None)
        state.join(other)

    def _block(self, node: cst.BaseSuite, state: State, context: Context) -> None:
        self.execute(node.body, state, context)

    # Simple statements

    def _run_Expr(self, node: cst.Expr, state: State, context: Context) -> None:
        self.evaluate(node.value, state, context)

    def _run_Assign(self, node: cst.Assign, state: State, context: Context) -> None:
        value = self.evaluate(node.value, state, context)
        for target in node.targets:
            self.assign(target.target, value, state, context, Assignment(node, node.value))

    def _run_AnnAssign(self, node: cst.AnnAssign, state: State, context: Context) -> None:
        if node.value is not None:
            value = self.evaluate(node.value, state, context)
            self.assign(node.target, value, state, context, Assignment(node, node.value))

    def _run_AugAssign(self, node: cst.AugAssign, state: State, context: Context) -> None:
        value = self.evaluate(node.value, state, context)
        target = self.evaluate(node.target, state, context)
        containers = [(loc, obj) for loc, obj in state.objects(target) if obj.kind in CONTAINER_KINDS]
        for loc, _ in containers:
            self.extend(loc, value, state, context, node, node.target, node.value)
        if not containers:
            self.read(state, target | value, node, context)
            self.written(target, node.target, NOTHING, node, context)

    def _run_Return(self, node: cst.Return, state: State, context: Context) -> None:
        value = self.evaluate(node.value, state, context) if node.value is not None else NOTHING
        context.returns.append(Returned(state.copy(), value, node.value or node))
        state.dead = True

    def _run_Raise(self, node: cst.Raise, state: State, context: Context) -> None:
        state.dead = True

    def _run_Break(self, node: cst.Break, state: State, context: Context) -> None:
        context.breaks.append(state.copy())
        state.dead = True

    def _run_Continue(self, node: cst.Continue, state: State, context: Context) -> None:
        context.continues.append(state.copy())
        state.dead = True

    def _run_Assert(self, node: cst.Assert, state: State, context: Context) -> None:
        self.evaluate(node.test, state, context)

    def _run_Del(self, node: cst.Del, state: State, context: Context) -> None:
        targets = (
            [item.value for item in node.target.elements]
            if isinstance(node.target, cst.Tuple)
            else [node.target]
        )
        for target in targets:
            if isinstance(target, cst.Name):
                self.touch_named(state, target)
                state.frames[context.frame].pop(target.value, None)
            elif isinstance(target, cst.Attribute):
                for loc, obj in state.objects(self.evaluate(target.value, state, context)):
                    left = {name: value for name, value in obj.fields.items() if name != target.attr.value}
                    state.update(loc, fields=left)
            elif isinstance(target, cst.Subscript):
                self._delete_item(target, state, context)

    def _delete_item(self, target: cst.Subscript, state: State, context: Context) -> None:
        """`del kept[:]` empties a container, `del kept["name"]` a slot, if it is one known container."""
        refs = state.refs(self.evaluate(target.value, state, context))
        for loc in refs if len(refs) == 1 and refs[0].recent else ():
            if isinstance(target.slice[0].slice, cst.Slice):
                state.update(loc, items=NOTHING, keys=NOTHING, slots={})
            else:
                state.heap[loc] = state.heap[loc].without(self.subscript_slot(target, state, context))

    def _run_Global(self, node: cst.Global, state: State, context: Context) -> None:
        context.globals.update(item.name.value for item in node.names)

    def _run_Nonlocal(self, node: cst.Nonlocal, state: State, context: Context) -> None:
        context.nonlocals.update(item.name.value for item in node.names)

    def _run_Import(self, node: cst.Import, state: State, context: Context) -> None:
        for alias in node.names:
            full = dotted(alias.name)
            name = alias.asname.name.value if alias.asname else full.partition(".")[0]
            state.frames[context.frame][name] = frozenset({Named(full if alias.asname else name)})

    def _run_ImportFrom(self, node: cst.ImportFrom, state: State, context: Context) -> None:
        if isinstance(node.names, cst.ImportStar):
            return
        module = context.index.module.absolute(len(node.relative), dotted(node.module) if node.module else "")
        for alias in node.names:
            name = alias.asname.name.value if alias.asname else alias.name.value
            state.frames[context.frame][name] = frozenset({Named(f"{module}.{alias.name.value}")})

    # Compound statements

    def _run_If(self, node: cst.If, state: State, context: Context) -> None:
        # A long `elif` chain is a chain of nested nodes: walked, not recursed into.
        ends: list[State] = []
        branch: cst.If | cst.Else | None = node
        while isinstance(branch, cst.If):
            self.evaluate(branch.test, state, context)
            outcome = self.outcome(branch.test, state, context)
            if outcome is False:
                branch = branch.orelse
                continue
            taken = state.copy()
            self.narrow(branch.test, taken, state, context)
            self._block(branch.body, taken, context)
            ends.append(taken)
            if outcome is True:
                state.dead = True
            branch = branch.orelse
        if branch is not None:
            self._block(branch.body, state, context)
        for end in ends:
            state.join(end)

    def _run_For(self, node: cst.For, state: State, context: Context) -> None:
        value = self.evaluate(node.iter, state, context)
        outer = context.breaks
        breaks = context.breaks = []

        def on_item(now: State, item: Value) -> None:
            outer_breaks, outer_continues = context.breaks, context.continues
            context.breaks, context.continues = breaks, []
            self.assign(node.target, item, now, context, Assignment(node.target, node.target))
            self._block(node.body, now, context)
            for left in context.continues:
                now.join(left)
            context.breaks, context.continues = outer_breaks, outer_continues

        if _does_nothing(node.body):
            self.reopen(state, value)
        pairs = isinstance(node.target, (cst.Tuple, cst.List)) and len(node.target.elements) >= 2
        self.iterate(state, value, node, context, on_item, pairs)
        context.breaks = outer
        if node.orelse is not None:
            self._block(node.orelse.body, state, context)
        for left in breaks:
            state.join(left)

    def _run_While(self, node: cst.While, state: State, context: Context) -> None:
        outer_breaks, outer_continues = context.breaks, context.continues
        breaks = context.breaks = []

        def once(now: State) -> None:
            context.continues = []
            self.evaluate(node.test, now, context)
            self._block(node.body, now, context)
            for left in context.continues:
                now.join(left)

        self.fixpoint(state, once)
        context.breaks, context.continues = outer_breaks, outer_continues
        left = self.evaluate(node.test, state, context)
        refs = state.refs(left)
        if len(refs) == 1 and refs[0].recent and state.heap[refs[0]].kind in CONTAINER_KINDS:
            # `while queue:` ends when the queue is empty.
            state.update(refs[0], items=NOTHING, keys=NOTHING, slots={})
        if isinstance(node.test, cst.Name) and node.test.value == "True":
            state.dead = True
        elif node.orelse is not None:
            self._block(node.orelse.body, state, context)
        for left in breaks:
            state.join(left)

    def _run_Try(self, node: cst.Try | cst.TryStar, state: State, context: Context) -> None:
        before = _ways_out(context)
        outer = context.failing
        failed = context.failing = state.copy()
        self._block(node.body, state, context)
        context.failing = outer
        failed.join(state)
        ends = []
        for handler in node.handlers:
            end = failed.copy()
            self._block(handler.body, end, context)
            ends.append(end)
        if node.orelse is not None:
            self._block(node.orelse.body, state, context)
        for end in ends:
            state.join(end)
        if node.finalbody is not None:
            self._block(node.finalbody.body, state, context)
            self._on_the_way_out(
                before, lambda left: self._block(node.finalbody.body, left, context), context
            )

    _run_TryStar = _run_Try

    def _run_With(self, node: cst.With, state: State, context: Context) -> None:
        before = _ways_out(context)
        entered: Value = NOTHING
        for item in node.items:
            value = self.evaluate(item.item, state, context)
            entered |= value
            if item.asname is not None:
                value = self.entered(value, item, state, context)
                self.assign(item.asname.name, value, state, context, Assignment(item, item.item))
        self._block(node.body, state, context)

        def leave(now: State) -> None:
            self._call_back(entered, node, now, context)
            self.left(entered, node, now, context)
            if self.joins_at_exit(entered):
                now.finish("")
            self.close(now, entered, node, context)

        leave(state)
        self._on_the_way_out(before, leave, context)

    def _on_the_way_out(
        self, before: tuple[int, int, int], leave: Callable[[State], None], context: Context
    ) -> None:
        """Do `leave` wherever a block is left since `before`; what is returned goes through it, too."""
        returns, breaks, continues = before
        left = [*context.breaks[breaks:], *context.continues[continues:]]
        for place, way in list(enumerate(context.returns))[returns:]:
            kept = self.kept_at(way.node, context, Holder.VARIABLE, way.node, way.node)
            way.state.frames[context.frame][_RETURNED] = rewrite(way.value, if_kept_by_none(kept))
            open_streams = self.open_streams(way.state, way.value)
            leave(way.state)
            value = way.state.frames[context.frame].pop(_RETURNED)
            self.leave_closed(way.state, open_streams, way.node, context)
            context.returns[place] = Returned(way.state, value, way.node)
        for state in left:
            leave(state)

    def _call_back(self, stacks: Value, node: cst.CSTNode, state: State, context: Context) -> None:
        """An `ExitStack` is left: it calls what it was given."""
        for loc, obj in state.objects(stacks):
            if obj.operation == "callbacks":
                for atom in obj.contents:
                    self.call(frozenset({atom}), (), node, state, context)
                state.update(loc, items=NOTHING)

    # Definitions

    def _run_FunctionDef(self, node: cst.FunctionDef, state: State, context: Context) -> None:
        state.frames[context.frame][node.name.value] = self.function_value(node, state, context)


def _ways_out(context: Context) -> tuple[int, int, int]:
    """How many ways out of the function, of the loop, and to its next pass there are so far."""
    return len(context.returns), len(context.breaks), len(context.continues)


def _does_nothing(body: cst.BaseSuite) -> bool:
    """Whether a loop only exhausts what it iterates: `for _ in stream: pass`."""
    lines = body.body if isinstance(body, cst.IndentedBlock) else [body]
    return all(
        isinstance(line, (cst.SimpleStatementLine, cst.SimpleStatementSuite))
        and all(isinstance(part, (cst.Pass, cst.Continue)) for part in line.body)
        for line in lines
    )


def dotted(node: cst.BaseExpression) -> str:
    """The text of a dotted name."""
    parts: list[str] = []
    while isinstance(node, cst.Attribute):
        parts.append(node.attr.value)
        node = node.value
    return ".".join([node.value if isinstance(node, cst.Name) else "", *reversed(parts)])
