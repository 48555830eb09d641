"""Functions that are known: nested ones, those of the project, and weight loaders that a parameter is given."""

from __future__ import annotations

from abc import ABC
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import cache

import libcst as cst
from loaderlint.linter.interpreter.conditions import all_or_none
from loaderlint.linter.interpreter.core import MAX_CALLS, MAX_DEPTH
from loaderlint.linter.interpreter.events import Site
from loaderlint.linter.interpreter.frames import Argument, Context
from loaderlint.linter.interpreter.heap import Kind, Obj
from loaderlint.linter.interpreter.repeating import Repetitions
from loaderlint.linter.interpreter.state import State
from loaderlint.linter.interpreter.values import (
    NOTHING,
    TEXT,
    Atom,
    Flag,
    Guard,
    Loan,
    Loc,
    Method,
    Named,
    Ref,
    Tuple,
    Value,
    loans,
    made_conditional,
)
from loaderlint.linter.reading.index import Class, Function
from loaderlint.linter.reading.nodes import walk


class Functions(Repetitions, ABC):
    """Runs the bodies of functions, where they are called, with what they capture."""

    def run_as_loader(self, loader: Value, node: cst.CSTNode, state: State, context: Context) -> None:
        """A parameter gets `loader`: from here on it is called with one tensor after the other, each lent to it."""
        imported = [self.project.find(atom.name) for atom in loader if isinstance(atom, Named)]
        named = [self.project_function(found, state) for found in imported if isinstance(found, Function)]
        functions = frozenset(atom for atom in loader if self._is_callable(atom, state)).union(*named)
        stream, site = Loc(self.number(("lent to", node))), Site(context.unit, node)
        lent = Argument(frozenset({Loan(stream, site)}), node)  # type: ignore[arg-type]

        def once(now: State) -> None:
            self.call(functions, [Argument(NOTHING, node), lent], node, now, context)  # type: ignore[arg-type]
            self.advance(now, stream, site)

        if functions:
            self.fixpoint(state, once)

    def _is_callable(self, atom: Atom, state: State) -> bool:
        if isinstance(atom, Ref):
            return atom.loc in state.heap and state.heap[atom.loc].kind is Kind.FUNCTION
        owners = state.objects(atom.receiver) if isinstance(atom, Method) else []
        classes = [obj.code for _, obj in owners if isinstance(obj.code, Class)]
        methods = [self.project.method(cls, atom.name) for cls in classes]
        # One that has a weight loader's parameters is analysed on its own.
        return any(method is not None and not method.lent for method in methods)

    def function_value(self, node: cst.CSTNode, state: State, context: Context) -> Value:
        """A nested function or lambda; its default values are evaluated now."""
        fields = {
            parameter.name.value: self.evaluate(parameter.default, state, context)
            for parameter in _parameters(node)
            if parameter.default is not None
        }
        return self.new(state, node, context, Obj(Kind.FUNCTION, fields=fields, code=(node, context)))

    def project_function(self, function: Function, state: State) -> Value:
        """A function or method of the project; it captures nothing."""
        loc = Loc(self.number(("function", function)))
        if loc not in state.heap:
            unit = function.index.slice(function)
            prefix = function.qualname.rpartition(".")[0]
            outside = Context(
                self.number("no frame"), function.index, function.owner, unit, unit.module, prefix
            )
            self.parents.setdefault(outside.frame, None)
            state.heap[loc] = Obj(Kind.FUNCTION, code=(unit.function, outside))
        return frozenset({Ref(loc)})

    def _run_function(
        self, loc: Loc, arguments: Sequence[Argument], node: cst.CSTNode, state: State, context: Context
    ) -> Value:
        obj = state.heap[loc]
        code, made_in = obj.code  # type: ignore[misc]
        if context.runs(code):
            # A recursion adds nothing to what its first round does.
            return NOTHING
        arguments = [replace(item, value=_literal_flags(item)) for item in arguments]
        call = self.repeatable(loc, made_in, arguments, state)
        known = self.known(call)
        if known is not None:
            return known
        self._calls += 1
        if context.depth() >= MAX_DEPTH or self._calls > MAX_CALLS:
            return self._unknown(arguments, node, state, context)
        result = self._run_body(code, made_in, obj.fields, arguments, node, state, context)
        self.remember(call, result, state)
        return result

    def _run_body(
        self,
        code: cst.CSTNode,
        made_in: Context,
        defaults: dict[str, Value],
        arguments: Sequence[Argument],
        node: cst.CSTNode,
        state: State,
        context: Context,
    ) -> Value:
        frame = self.number(("call", node, code, context.frame))
        self.parents[frame] = made_in.frame
        self.begun(frame, state)
        state.frames[frame] = self._bound(code, defaults, arguments, node, state, context)
        inner = Context(
            frame, made_in.index, made_in.owner, made_in.unit, code, _qualname(code, made_in), context, node
        )
        inner.lent = frozenset(_guard(loan) for loan in self._seen_loans(state, frame) if not loan.stale)
        self.executed.add((inner.index, inner.qualname))
        if isinstance(code, cst.Lambda):
            return self.evaluate(code.body, state, inner)
        if _is_generator(code):
            return self.new(state, node, context, Obj(Kind.GENERATOR, code=(code, inner)), "generator")
        self.execute(code.body.body, state, inner)
        results = self._returned(state, inner)
        names = state.frames.pop(frame, None)
        if names is not None and _makes_closures(code) and self._is_captured(frame, results, state):
            state.frames[frame] = names
        return results

    def _is_captured(self, frame: int, results: Value, state: State) -> bool:
        """Whether a function or generator that can still be reached refers to a frame that has returned."""
        reached = (state.heap[loc] for loc in state.live([results]) if loc in state.heap)
        made = (obj.code for obj in reached if obj.kind in (Kind.FUNCTION, Kind.GENERATOR))
        return any(made_in.frame == frame for _, made_in in made)  # type: ignore[misc]

    def _returned(self, state: State, inner: Context) -> Value:
        """What a function returned, and what its result says about an ownership marker of its arguments."""
        results = frozenset().union(*(way.value for way in inner.returns))
        choices = [way.value for way in inner.returns if not _is_literal(way.node)]
        if all_or_none(choices) and self._copies_by_looking(inner):
            results = made_conditional(results) | frozenset(
                atom for atom in results if not isinstance(atom, Loan)
            )
        guards = self._guards(inner)
        for way in inner.returns:
            state.join(way.state)
        return results | guards

    def _copies_by_looking(self, inner: Context) -> bool:
        """Whether the function decides by the tensor itself whether it is copied."""
        lent = next((way.state for way in inner.returns if any(loans(way.value))), None)
        return lent is not None and any(
            self.looks_at_loans(test, lent, inner) for test in _tests(inner.function)
        )

    def _guards(self, inner: Context) -> Value:
        """The items that carry no marker on every way that does not return a literal false."""
        ways = [way for way in inner.returns if not _is_false(way.node)]
        # What the function sets around itself says nothing of what was there before.
        if not ways or inner.nonlocals or any(any(loans(way.value)) for way in ways):
            return NOTHING
        unmarked = inner.lent
        for way in ways:
            passed = way.state.copy()
            self.narrow(way.node, passed, way.state.copy(), inner)
            unmarked -= {_guard(loan) for loan in self._seen_loans(passed, inner.frame)}
        return unmarked

    def _seen_loans(self, state: State, frame: int | None) -> Iterator[Loan]:
        """What the variables that a function sees hold as lent: its own, and those of the functions around it."""
        while frame is not None:
            for value in state.frames.get(frame, {}).values():
                yield from loans(value)
            frame = self.parents[frame]

    def _bound(
        self,
        code: cst.CSTNode,
        defaults: dict[str, Value],
        arguments: Sequence[Argument],
        node: cst.CSTNode,
        state: State,
        context: Context,
    ) -> dict[str, Value]:
        """The parameters' values. Starred arguments fill what is left; `*args` and `**kwargs` become containers."""
        bound = dict(defaults)
        names = [parameter.name.value for parameter in _parameters(code)]
        in_order = len(names) - len(code.params.kwonly_params)
        positional = [item.value for item in arguments if not item.keyword and not item.star]
        bound.update(zip(names[:in_order], positional, strict=False))
        bound.update({item.keyword: item.value for item in arguments if item.keyword})
        spread = [self._spread(item.value, state) for item in arguments if item.star]
        rest = frozenset().union(*spread)
        for name in names[len(positional) :] if rest else ():
            bound.setdefault(name, rest)
        extra = frozenset().union(*positional[in_order:], rest)
        named = frozenset().union(
            *(item.value for item in arguments if item.keyword not in names and item.keyword)
        )
        params = code.params
        if isinstance(params.star_arg, cst.Param):
            bound[params.star_arg.name.value] = self.new(
                state, params.star_arg, context, Obj(Kind.LIST, extra)
            )
        if params.star_kwarg is not None:
            kwargs = Obj(Kind.DICT, named | rest, TEXT)
            bound[params.star_kwarg.name.value] = self.new(state, params.star_kwarg, context, kwargs)
        return bound

    def _spread(self, value: Value, state: State) -> Value:
        found: set[object] = set()
        for atom in value:
            if isinstance(atom, Tuple):
                found.update(*atom.items)
            elif isinstance(atom, Ref) and atom.loc in state.heap:
                found |= state.heap[atom.loc].contents
        return frozenset(found)  # type: ignore[arg-type]


def _guard(loan: Loan) -> Guard:
    return Guard(loan.stream, loan.borrowed)


def _literal_flags(item: Argument) -> Value:
    """An argument's value; a truth value counts only where it is written out, not where it is one of several."""
    if is_name(item.node, "True") or is_name(item.node, "False"):
        return item.value
    return frozenset(atom for atom in item.value if not isinstance(atom, Flag))


def _is_literal(node: cst.CSTNode) -> bool:
    return (
        isinstance(node, (cst.Return, cst.BaseNumber, cst.BaseString))
        or _is_false(node)
        or is_name(node, "True")
    )


def _is_false(node: cst.CSTNode) -> bool:
    return isinstance(node, cst.Return) or is_name(node, "False") or is_name(node, "None")


def is_name(node: cst.CSTNode, name: str) -> bool:
    """Whether `node` is that plain name."""
    return isinstance(node, cst.Name) and node.value == name


def _qualname(code: cst.CSTNode, made_in: Context) -> str:
    name = code.name.value if isinstance(code, cst.FunctionDef) else "<lambda>"
    return f"{made_in.qualname}.{name}" if made_in.qualname else name


def _parameters(node: cst.CSTNode) -> list[cst.Param]:
    """The parameters that arguments are matched with, in order, keyword-only ones last."""
    params = node.params
    return [*params.posonly_params, *params.params, *params.kwonly_params]


# By exact type: LibCST's classes are abstract base classes, for which isinstance is slow.
_CLOSURES = {cst.FunctionDef, cst.Lambda, cst.GeneratorExp}


@cache
def _is_generator(function: cst.FunctionDef) -> bool:
    """Whether the function's own body yields."""
    return any(type(node) is cst.Yield for node in own_nodes(function))


@cache
def _makes_closures(function: cst.FunctionDef) -> bool:
    """Whether something may still refer to the function's frame when it has returned."""
    return any(type(node) in _CLOSURES for node in own_nodes(function))


def own_nodes(function: cst.FunctionDef) -> Iterator[cst.CSTNode]:
    """The nodes of a function's body, those of functions inside it left out."""
    return walk(*function.body.body, skip=(cst.FunctionDef, cst.Lambda, cst.ClassDef))


@cache
def _tests(function: cst.CSTNode) -> tuple[cst.BaseExpression, ...]:
    """The conditions of the function's own `if` statements."""
    return tuple(node.test for node in own_nodes(function) if type(node) is cst.If)
