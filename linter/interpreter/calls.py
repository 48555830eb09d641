"""Calls: who is called, and running the functions that are known."""

from __future__ import annotations

from abc import ABC
from collections.abc import Sequence

import libcst as cst
from loaderlint.linter.interpreter.containers import CONTAINER_METHODS, LIST_METHODS
from loaderlint.linter.interpreter.core import Core
from loaderlint.linter.interpreter.events import Holder
from loaderlint.linter.interpreter.frames import Argument, Context
from loaderlint.linter.interpreter.heap import CONTAINER_KINDS, STREAM_KINDS, Kind, Obj
from loaderlint.linter.interpreter.lending import literal_argument
from loaderlint.linter.interpreter.state import State
from loaderlint.linter.interpreter.values import (
    NOTHING,
    TEXT,
    Copy,
    Guard,
    Instance,
    Loan,
    Loc,
    Method,
    Named,
    Ref,
    Text,
    Tuple,
    Value,
    is_text,
    tuple_of,
)
from loaderlint.linter.reading.index import Class, Function
from loaderlint.linter.reading.makers import stored_parameters
from loaderlint.linter.reading.nodes import receiver_node
from loaderlint.linter.reading.signatures import positional_name, reads_all, returns_stream_or_names
from loaderlint.linter.reading.streams import PAIR


# What a function that is given a stream may put its tensors into, or hand them to.
_FILLED = CONTAINER_KINDS | {Kind.FUNCTION}


class Calls(Core, ABC):
    """Evaluates calls."""

    def _eval_Call(self, node: cst.Call, state: State, context: Context) -> Value:
        method = isinstance(node.func, cst.Attribute)
        callee = (self.member if method else self.evaluate)(node.func, state, context)
        values = self.evaluate_all([item.value for item in node.args], state, context)
        self.note_loading(callee, values, node, state, context)
        if state.aside and not any(isinstance(atom, Named) for atom in callee):
            self.look_together(state, values, node, context)
        given = zip(node.args, values, strict=True)
        arguments = [self._argument(item, value, state, context) for item, value in given]
        inherited = self._inherited(node.func, arguments, state, context) if method else None
        if inherited is not None:
            function, receiver = inherited
            bound = [Argument(receiver, node.func), *arguments]
            return self.call(self.project_function(function, state), bound, node, state, context)
        if method and not callee:
            return self._unknown_method(node.func.attr.value, arguments, node, state, context)
        if method and self.copies_made:
            self.copied_again(callee, node, context)
        result = self.call(callee, arguments, node, state, context)
        if any(isinstance(atom, Guard) for atom in result):
            self._verdicts[node] = result
        return result

    def _inherited(
        self, called: cst.Attribute, arguments: Sequence[Argument], state: State, context: Context
    ) -> tuple[Function, Value] | None:
        """The method that `super().name` is, if it can matter, and the object that it is called on."""
        base = called.value
        is_super = (
            isinstance(base, cst.Call) and isinstance(base.func, cst.Name) and base.func.value == "super"
        )
        if not is_super or context.owner is None:
            return None
        receiver = self.evaluate(cst.Name("self"), state, context)
        classes = (obj.code for _, obj in state.objects(receiver) if isinstance(obj.code, Class))
        function = self.project.inherited_method(
            next(classes, context.owner), context.owner, called.attr.value
        )
        if function is None or not self.worth_running(function, arguments, state):
            return None
        return function, receiver

    def _argument(self, item: cst.Arg, value: Value, state: State, context: Context) -> Argument:
        if item.star and self.is_stream(state, value):
            value = self.materialized(value, item.value, item.value, state, context)
        return Argument(value, item.value, item.keyword.value if item.keyword else "", item.star)

    def call(
        self, callee: Value, arguments: Sequence[Argument], node: cst.CSTNode, state: State, context: Context
    ) -> Value:
        """Call every alternative of `callee`; what nothing is known of consumes its arguments."""
        if not callee:
            return self._unknown(arguments, node, state, context)
        results: set[object] = set()
        ends: list[State] = []
        for atom in sorted(callee, key=_order) if len(callee) > 1 else callee:
            end = state.copy() if len(callee) > 1 else state
            results |= self._call_atom(atom, arguments, node, end, context)
            ends.append(end)
        if len(callee) > 1:
            state.become(ends[0])
            for end in ends[1:]:
                state.join(end)
        return frozenset(results)  # type: ignore[arg-type]

    def _call_atom(
        self, atom: object, arguments: Sequence[Argument], node: cst.CSTNode, state: State, context: Context
    ) -> Value:
        if isinstance(atom, Named):
            result = self.library_call(atom.name, arguments, node, state, context)
            if result is None:
                result = self._call_project(atom.name, arguments, node, state, context)
            if result is None and atom.name.partition(".")[0] in self.contracts.modules:
                # A library that reads tensors at once, as the contracts say: nothing is assumed.
                for item in arguments:
                    self.read(state, item.value, node, context)
                self.written_out(arguments, node, context)
                self._wait_for_copies(atom.name.rpartition(".")[2], state)
                return NOTHING
            if result is None:
                self._wait_for_copies(atom.name.rpartition(".")[2], state)
            return self._unknown(arguments, node, state, context) if result is None else result
        if isinstance(atom, Method):
            return self._method(atom, arguments, node, state, context)
        if isinstance(atom, Ref) and atom.loc in state.heap and state.heap[atom.loc].kind is Kind.FUNCTION:
            return self._run_function(atom.loc, arguments, node, state, context)
        if isinstance(atom, Ref) and atom.loc in state.heap:
            result = self.special(atom.loc, "__call__", arguments, node, state, context)
            if result is not None:
                return result
        if isinstance(atom, Tuple):
            # A `partial`, called: it reads what it captured.
            self.read(state, frozenset({atom}), node, context)
        return self._unknown(arguments, node, state, context)

    def _call_project(
        self, name: str, arguments: Sequence[Argument], node: cst.CSTNode, state: State, context: Context
    ) -> Value | None:
        """Call a function, or make an object of a class, that another place of the project defines."""
        found = self.project.find(name)
        lent = any(state.holds_loans(item.value) for item in arguments)
        own = found is not None and found.index is context.index
        if isinstance(found, Function):
            makes = found.makes_functions or found in self.project.exports.makers
            if not (own or lent or makes or self.may_load_instead(found, state)):
                return None
            if found.index.path in self.project.named and self._judged_alone(
                found, arguments, state, context
            ):
                return self._unknown(arguments, node, state, context)
            given = [Argument(NOTHING, node), *arguments] if found.is_for_class else arguments  # type: ignore[arg-type]
            return self.call(self.project_function(found, state), given, node, state, context)
        return None if found is None else self._make(found, arguments, node, state, context)

    def _make(
        self, cls: Class, arguments: Sequence[Argument], node: cst.CSTNode, state: State, context: Context
    ) -> Value | None:
        """An object of a class of the project; None where nobody can say what it does with its arguments."""
        initializer = self.project.method(cls, "__init__")
        names = [] if initializer is not None else self.project.fields(cls)
        if initializer is None and not names and any(state.holds_loans(item.value) for item in arguments):
            return None
        made = self.new(state, node, context, Obj(Kind.OBJECT, code=cls))
        if initializer is not None:
            bound = [Argument(made, node), *arguments]  # type: ignore[arg-type]
            if any(self._may_matter(item.value, state) for item in arguments):
                self.call(self.project_function(initializer, state), bound, node, state, context)
            else:
                self._store_parameters(made, initializer, bound, state)
            return made
        positional = [item for item in arguments if not item.keyword]
        given = [
            *zip(names, positional, strict=False),
            *((item.keyword, item) for item in arguments if item.keyword),
        ]
        (loc,) = state.refs(made)
        for name, item in given:
            kept = self.kept_at(node, context, Holder.OBJECT, node, item.node)
            state.update(loc, fields={**state.heap[loc].fields, name: self.keep(item.value, kept)})
        return made

    @staticmethod
    def _may_matter(value: Value, state: State) -> bool:
        """Whether an argument is, or leads to, what is lent, or is a container or a function."""
        kinds = CONTAINER_KINDS | {Kind.FUNCTION}
        return any(obj.kind in kinds for _, obj in state.objects(value)) or state.holds_loans(
            value, through=True
        )

    @staticmethod
    def _store_parameters(
        made: Value, initializer: Function, bound: Sequence[Argument], state: State
    ) -> None:
        """What an initializer that is not worth running stores as it is: an object gets a second name."""
        (loc,) = state.refs(made)
        listed = initializer.node.args
        names = [parameter.arg for parameter in (*listed.posonlyargs, *listed.args)]
        given = dict(zip(names, (item.value for item in bound if not item.keyword), strict=False))
        given.update({item.keyword: item.value for item in bound if item.keyword})
        stored = (
            (name, given.get(parameter)) for name, parameter in stored_parameters(initializer.node).items()
        )
        fields = {name: value for name, value in stored if value}
        if fields:
            state.update(loc, fields={**state.heap[loc].fields, **fields})

    def _method(
        self, method: Method, arguments: Sequence[Argument], node: cst.CSTNode, state: State, context: Context
    ) -> Value:
        results: set[object] = set()
        for atom in method.receiver:
            if isinstance(atom, Loan):
                results |= self.tensor_method(atom, method.name, arguments, node, state, context)
            elif isinstance(atom, Copy):
                results |= self.copy_method(atom, method.name, arguments, node, state, context)
            elif isinstance(atom, Text):
                results |= TEXT
            elif isinstance(atom, Instance):
                known = self.instance_call(atom, method.name, arguments, node, state, context)
                if known is None:
                    known = self._unknown_method(method.name, arguments, node, state, context)
                results |= known
            elif isinstance(atom, Ref) and atom.loc in state.heap:
                results |= self._object_method(atom.loc, method.name, arguments, node, state, context)
        return frozenset(results)  # type: ignore[arg-type]

    def _object_method(
        self,
        loc: Loc,
        name: str,
        arguments: Sequence[Argument],
        node: cst.CSTNode,
        state: State,
        context: Context,
    ) -> Value:
        obj = state.heap[loc]
        if obj.kind in CONTAINER_KINDS:
            return self.container_method(loc, name, arguments, node, state, context)
        if obj.kind is Kind.FUTURE and self.contracts.methods.get(name) == "await":
            state.pending -= {loc}
            return NOTHING
        if obj.kind in STREAM_KINDS:
            if name == "__next__":
                return self.next_item(state, frozenset({Ref(loc)}), node, context)
            if name == "close":
                self.close(state, frozenset({Ref(loc)}), node, context)
            return NOTHING
        receiver = Argument(frozenset({Ref(loc)}), node)  # type: ignore[arg-type]
        if isinstance(obj.code, Class):
            if obj.code is self.owner and any(state.holds_loans(item.value) for item in arguments):
                self.hooks.add(name)
            function = self.project.method(obj.code, name)
            if (
                function is not None
                and not obj.escapes
                and self._judged_alone(function, arguments, state, context)
            ):
                return self._unknown(arguments, node, state, context)
            if function is not None and self.worth_running(function, [receiver, *arguments], state):
                bound = [*([] if function.is_static else [receiver]), *arguments]
                return self.call(self.project_function(function, state), bound, node, state, context)
            if function is not None and self.contracts.methods.get(name) != "produce":
                return NOTHING
        return self._unknown_method(name, arguments, node, state, context)

    def worth_running(self, function: Function, arguments: Sequence[Argument], state: State) -> bool:
        """Whether a function of the project can matter: it is given what is lent, makes a stream of its own, or loads
        instead of one.
        """
        if function in self.project.exports.makers or self.may_load_instead(function, state):
            return True
        return any(state.holds_loans(item.value, through=True) for item in arguments)

    def _judged_alone(
        self, function: Function, arguments: Sequence[Argument], state: State, context: Context
    ) -> bool:
        """Whether what another file defines is given streams only, or lists that it reads like one, and so judged
        where it is defined.
        """
        if not function.streams or function.index is context.index or function.is_generator:
            return False
        lent = [place for place, item in enumerate(arguments) if state.holds_loans(item.value)]
        if not lent or not all(self._stands_for_stream(function, arguments, place, state) for place in lent):
            return False
        # What the caller has itself may be filled there, or called with each tensor.
        others = [item.value for item in arguments if not state.holds_loans(item.value)]
        own = any(
            any(isinstance(atom, Method) for atom in value)
            or any(obj.kind in _FILLED for _, obj in state.objects(value))
            for value in others
        )
        return not own and returns_stream_or_names(function)

    def _stands_for_stream(
        self, function: Function, arguments: Sequence[Argument], place: int, state: State
    ) -> bool:
        """Whether an argument is a stream, or a list of stale tensors that the callee reads like one."""
        value, name = arguments[place].value, arguments[place].keyword or positional_name(function, place)
        if self.is_stream(state, value):
            return True
        kept = [state.heap[atom.loc] for atom in value if isinstance(atom, Ref) and atom.loc in state.heap]
        are_lists = len(kept) == len(value) and all(obj.kind is Kind.LIST for obj in kept)
        if not are_lists or name not in function.streams or any(item.star for item in arguments):
            return False
        # Of those that are not stale yet it matters whether the callee keeps them.
        lent = (atom for atom in state.reachable([value]) if isinstance(atom, Loan))
        return all(loan.stale for loan in lent) and reads_all(function, name)

    # What nothing is known of

    def _unknown_method(
        self, name: str, arguments: Sequence[Argument], node: cst.CSTNode, state: State, context: Context
    ) -> Value:
        effect = self.contracts.methods.get(name)
        lent = any(state.holds_loans(item.value) for item in arguments)
        if effect == "submit" and lent:
            return self.submit(arguments, node, state, context)
        if effect == "spawn":
            return self.spawn(arguments, node, state, context)
        if effect == "submit_items" and len(arguments) > 1 and self.is_stream(state, arguments[1].value):
            return self.submit_items(arguments, node, state, context)
        if effect == "adopt" and lent:
            return self.adopt(arguments, node, state, context)
        if effect == "keep" and lent:
            return self.keep_for_good(arguments, node, state, context)
        if effect == "bundle":
            return tuple_of(*(item.value for item in arguments))
        if effect == "produce":
            return self.new(state, node, context, Obj(Kind.STREAM, code=PAIR))
        self._wait_for_copies(name, state)
        if effect == "await":
            state.finish("")
        if effect == "read":
            for item in arguments:
                self.read(state, item.value, node, context)
                self.copy_in_background(name, item.value, item.node, arguments, node, state, context)
                self.copied_to_be_copied(item, node, context)
            return NOTHING
        adopted = self.contracts.adopt_if_true.get(name)
        if lent and adopted is not None and literal_argument(arguments, adopted) is True:
            return self.adopt(arguments, node, state, context)
        if name in CONTAINER_METHODS and lent:
            mapping = name == "setdefault" and is_text(arguments[0].value)
            for loc, obj in state.objects(self.place(receiver_node(node), state, context)):
                likely = obj.kind is Kind.OBJECT and (name in LIST_METHODS or mapping)
                if likely or obj.kind in CONTAINER_KINDS:
                    return self.container_method(loc, name, arguments, node, state, context)
        if name in self.contracts.lazy_methods and lent:
            fields = {"0": frozenset().union(*(item.value for item in arguments))}
            operation = self.contracts.lazy_methods[name]
            return self.new(state, node, context, Obj(Kind.LAZY, operation=operation, fields=fields))
        return self._unknown(arguments, node, state, context)

    def _unknown(
        self, arguments: Sequence[Argument], node: cst.CSTNode, state: State, context: Context
    ) -> Value:
        """An unknown callee consumes what it is given at once; given a stream, it may hand one back."""
        streams: Value = NOTHING
        driver = self.driver
        for item in arguments:
            if state.holds_loans(item.value):
                callee = self._callee_text(node, context)
                note, assumption = f"read here, by `{callee}`", f"`{callee}` reads what it is given"
                self.driver = callee.rpartition(".")[2]
                self.consume(state, item.value, node, context, note, (assumption,))
                self.driver = driver
                if self.is_stream(state, item.value):
                    streams |= item.value
        if streams:
            return self.new(state, node, context, Obj(Kind.MAYBE_STREAM, fields={"0": streams}))
        return NOTHING

    def _wait_for_copies(self, name: str, state: State) -> None:
        """A function or method is called: if its name says so, what was copied in the background is done."""
        if state.pending and self.contracts.methods.get(name) == "synchronize":
            state.finish("copy")

    def _callee_text(self, node: cst.CSTNode, context: Context) -> str:
        """The callee as it is written, for the report; a `map` calls without a call expression."""
        if not isinstance(node, cst.Call):
            return "the function"
        if node not in self._texts:
            self._texts[node] = context.unit.text(node.func)
        return self._texts[node]


def _order(atom: object) -> tuple[str, str]:
    """An order of callees that does not depend on hashing, as far as it can matter."""
    detail = {Named: "name", Method: "name", Instance: "cls", Ref: "loc"}.get(type(atom), "")
    return type(atom).__name__, str(getattr(atom, detail, ""))
