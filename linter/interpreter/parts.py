"""What the parts of the interpreter ask of each other: each implements some of these methods."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence

import libcst as cst
from loaderlint.linter.interpreter.frames import Argument, Assignment, Consumer, Context, OnItem
from loaderlint.linter.interpreter.state import State
from loaderlint.linter.interpreter.values import Kept, Loc, Value
from loaderlint.linter.reading.index import FileIndex, Function
from loaderlint.linter.reading.makers import Maker


class Parts(ABC):
    """The questions that one part has for another."""

    @abstractmethod
    def evaluate(self, node: cst.CSTNode, state: State, context: Context) -> Value:
        """The value of an expression; `state` is changed by its side effects."""

    @abstractmethod
    def execute(self, body: Sequence[cst.CSTNode], state: State, context: Context) -> None:
        """Run statements on `state`, in place."""

    @abstractmethod
    def iterate(
        self,
        state: State,
        value: Value,
        node: cst.CSTNode,
        context: Context,
        on_item: OnItem,
        pairs: bool = True,
    ) -> None:
        """Iterate `value` to its end: `on_item` for each item, to a fixpoint; `node` is where it advances.

        `pairs` says that the items are used as (name, tensor), which tells a stream from an unknown result.
        """

    @abstractmethod
    def feed(self, state: State, value: Value, to: Consumer) -> None:
        """The same, for a consumer that is at hand."""

    @abstractmethod
    def next_item(self, state: State, value: Value, node: cst.CSTNode, context: Context) -> Value:
        """What `next(value)` gives: the first item of any step, the states after it joined."""

    @abstractmethod
    def iterate_object(self, state: State, loc: Loc, to: Consumer) -> bool:
        """Iterate an object as its class says; False if the class does not say how."""

    @abstractmethod
    def missing(self, loc: Loc, state: State, context: Context) -> None:
        """A key is asked for that may not be in the container at `loc`."""

    @abstractmethod
    def put_into(
        self, arguments: Sequence[Argument], node: cst.CSTNode, state: State, context: Context
    ) -> Value:
        """A function that puts its last argument into the first."""

    @abstractmethod
    def subscript_slot(self, node: cst.Subscript, state: State, context: Context) -> str | None:
        """The slot that a subscript with one known key or index names."""

    @abstractmethod
    def taken_from(self, holder: Value, state: State) -> Value:
        """Any item of a container."""

    @abstractmethod
    def reduced(self, inputs: Sequence[Value], node: cst.CSTNode, state: State, context: Context) -> Value:
        """The result of folding a function over what is iterated."""

    @abstractmethod
    def place(self, node: cst.CSTNode, state: State, context: Context, depth: int = 0) -> Value:
        """The object that `node` names, made up where nothing is known of it."""

    @abstractmethod
    def special(
        self,
        loc: Loc,
        name: str,
        arguments: Sequence[Argument],
        node: cst.CSTNode,
        state: State,
        context: Context,
    ) -> Value | None:
        """The result of a method that the language calls on an object; None if its class has none."""

    @abstractmethod
    def accessor(self, loc: Loc, name: str, state: State) -> Function | None:
        """The property of that name (its setter: `name.setter`) that the class of an object has."""

    @abstractmethod
    def worth_running(self, function: Function, arguments: Sequence[Argument], state: State) -> bool:
        """Whether a function of the project can matter."""

    @abstractmethod
    def call(
        self, callee: Value, arguments: Sequence[Argument], node: cst.CSTNode, state: State, context: Context
    ) -> Value:
        """The result of calling `callee`."""

    @abstractmethod
    def member(self, node: cst.Attribute, state: State, context: Context) -> Value:
        """An attribute or bound method of a value."""

    @abstractmethod
    def attribute_value(self, loc: Loc, name: str, state: State) -> Value:
        """What the class of the object at `loc` sets an attribute to."""

    @abstractmethod
    def made_by(self, made: Maker, loc: Loc, state: State) -> Value:
        """The object of a known class, or the container, that `made` makes at `loc`."""

    @abstractmethod
    def member_object(self, loc: Loc, name: str, state: State) -> Value:
        """The object behind an attribute, made up if need be."""

    @abstractmethod
    def outcome(self, test: cst.BaseExpression, state: State, context: Context) -> bool | None:
        """The outcome of a condition that is known, None for any other."""

    @abstractmethod
    def narrow(self, test: cst.BaseExpression, passed: State, failed: State, context: Context) -> None:
        """Learn from a condition that has been evaluated, in the states of both its outcomes."""

    @abstractmethod
    def put(self, loc: Loc, value: Value, state: State, kept: Kept, keys: Value = frozenset()) -> None:
        """Add one item to a container."""

    @abstractmethod
    def extend(
        self,
        loc: Loc,
        source: Value,
        state: State,
        context: Context,
        node: cst.CSTNode,
        holder: cst.CSTNode,
        tensor: cst.CSTNode,
    ) -> None:
        """Add all items of an iterable to a container."""

    @abstractmethod
    def materialized(
        self, value: Value, node: cst.CSTNode, source: cst.CSTNode, state: State, context: Context
    ) -> Value:
        """The list of all items of a stream, which `node` collects."""

    @abstractmethod
    def looks_at_loans(self, test: cst.BaseExpression, state: State, context: Context) -> bool:
        """Whether a condition depends on a borrowed tensor itself."""

    @abstractmethod
    def await_futures(self, value: Value, state: State) -> Value:
        """Wait for the futures that can be reached."""

    @abstractmethod
    def joins_at_exit(self, value: Value) -> bool:
        """Whether leaving a `with` over `value` waits for what was submitted."""

    @abstractmethod
    def captured(self, value: Value, state: State) -> list[Value]:
        """What the functions in `value` refer to in the scopes around them."""

    @abstractmethod
    def parameter(
        self, arguments: Sequence[Argument], node: cst.CSTNode, state: State, context: Context
    ) -> Value:
        """A parameter or buffer that is made of a tensor."""

    @abstractmethod
    def adopt(
        self, arguments: Sequence[Argument], node: cst.CSTNode, state: State, context: Context
    ) -> Value:
        """A module gets the memory of what is given."""

    @abstractmethod
    def belong_to_module(
        self, holders: Value, held: Value, node: cst.CSTNode, state: State, context: Context
    ) -> None:
        """What a parameter is stored in outlives the call."""

    @abstractmethod
    def written(
        self, tensor: Value, text: cst.CSTNode, source: Value, node: cst.CSTNode, context: Context
    ) -> None:
        """`node` writes `source` into a tensor."""

    @abstractmethod
    def view(self, value: Value, node: cst.CSTNode, context: Context) -> Value:
        """What `node` makes of the tensors in `value`: other tensors of the same memory."""

    @abstractmethod
    def ask_for_marker(
        self, arguments: Sequence[Argument], node: cst.CSTNode, state: State, context: Context
    ) -> None:
        """A tensor is asked whether it has an attribute."""

    @abstractmethod
    def mark(self, value: Value, name: cst.CSTNode | str, state: State, context: Context) -> None:
        """Something is given an attribute."""

    @abstractmethod
    def written_out(self, arguments: Sequence[Argument], node: cst.CSTNode, context: Context) -> None:
        """The result of a function is written into a tensor that it is given."""

    @abstractmethod
    def copy_in_background(
        self,
        name: str,
        source: Value,
        tensor: cst.CSTNode,
        arguments: Sequence[Argument],
        node: cst.CSTNode,
        state: State,
        context: Context,
    ) -> None:
        """A method that may copy later is called."""

    @abstractmethod
    def keep_for_good(
        self, arguments: Sequence[Argument], node: cst.CSTNode, state: State, context: Context
    ) -> Value:
        """A callee that a contract calls a keeper."""

    @abstractmethod
    def run_as_loader(self, loader: Value, node: cst.CSTNode, state: State, context: Context) -> None:
        """What may happen once a parameter has this weight loader."""

    @abstractmethod
    def function_value(self, node: cst.CSTNode, state: State, context: Context) -> Value:
        """A nested function or lambda, with the frame that it captures."""

    @abstractmethod
    def project_function(self, function: Function, state: State) -> Value:
        """A function or method of the project."""

    @abstractmethod
    def comprehend(
        self,
        clause: cst.CompFor,
        source: Value,
        state: State,
        context: Context,
        emit: Callable[[State, Context], None],
    ) -> None:
        """Run the clauses of a comprehension."""

    @abstractmethod
    def global_place(self, index: FileIndex) -> Loc:
        """Where the module's global variables are."""

    @abstractmethod
    def global_object(self, state: State, index: FileIndex) -> Loc:
        """The object whose attributes are the module's global variables."""

    @abstractmethod
    def assign(
        self, target: cst.CSTNode, value: Value, state: State, context: Context, site: Assignment
    ) -> None:
        """Bind or store `value`."""

    @abstractmethod
    def iterates(self, loc: Loc, state: State) -> bool:
        """Whether an object hands out what is lent when it is iterated."""
