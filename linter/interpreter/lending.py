"""Producers that are called in the code: what they lend, and until when."""

from __future__ import annotations

from abc import ABC
from collections.abc import Sequence

import libcst as cst
from loaderlint.linter.interpreter.core import Core
from loaderlint.linter.interpreter.events import Site
from loaderlint.linter.interpreter.frames import Argument, Context
from loaderlint.linter.interpreter.heap import Kind, Obj
from loaderlint.linter.interpreter.state import State
from loaderlint.linter.interpreter.values import (
    NOTHING,
    Instance,
    Loan,
    Loc,
    Value,
    fresh_item,
)
from loaderlint.linter.producers import Producer
from loaderlint.linter.reading.streams import PAIR


class Lending(Core, ABC):
    """Makes streams and single loans, as the contracts of their producers say."""

    def produce(
        self,
        producer: Producer,
        arguments: Sequence[Argument],
        node: cst.CSTNode,
        state: State,
        context: Context,
        owner: Instance | None = None,
    ) -> Value:
        """A producer is called, a method of `owner` if there is one: what it lends, nothing where it hands over."""
        flags = {**dict(owner.arguments if owner else ()), **flags_of(arguments)}
        if not self.settings.lends(producer, flags):
            return NOTHING
        lender = owner.made if owner else self.loc(node, context, "lender")
        self.producers[lender.key] = producer
        if producer.callback:
            return self._lend_to_callback(producer.callback, arguments, lender, node, state, context)
        until_close = producer.lease == "until-close"
        if producer.gives == "stream":
            maker = owner.made if owner else None
            obj = Obj(Kind.STREAM, code=PAIR, lender=lender if until_close else None, maker=maker)
            made = self.new(state, node, context, obj)
            self.producers.update((loc.key, producer) for loc in state.refs(made))
            return made
        if not until_close:
            self.advance(state, lender, Site(context.unit, node))
        return frozenset({Loan(lender, Site(context.unit, node))})

    def _lend_to_callback(
        self,
        parameter: str,
        arguments: Sequence[Argument],
        lender: Loc,
        node: cst.CSTNode,
        state: State,
        context: Context,
    ) -> Value:
        """`receive(on_bucket=load)`: the function is called with one list of pairs after the other, each lent to it."""
        named = [item for item in arguments if item.keyword == parameter]
        function = (named or [item for item in arguments if not item.keyword])[:1]
        site = Site(context.unit, node)

        def once(now: State) -> None:
            bucket = self.new(now, node, context, Obj(Kind.LIST, fresh_item(PAIR, lender, site)), "bucket")
            self.call(function[0].value, [Argument(bucket, function[0].node)], node, now, context)
            self.advance(now, lender, site)

        if function:
            self.fixpoint(state, once)
        return NOTHING


def flags_of(arguments: Sequence[Argument]) -> dict[str, object]:
    """The keyword arguments that are literally True or False."""
    named = {item.keyword: literal_argument(arguments, item.keyword) for item in arguments if item.keyword}
    return {keyword: value for keyword, value in named.items() if isinstance(value, bool)}


def literal_argument(arguments: Sequence[Argument], keyword: str) -> object:
    """The literal value of a keyword argument, None if it has none."""
    for item in arguments:
        if item.keyword == keyword:
            if isinstance(item.node, cst.Name):
                return {"True": True, "False": False}.get(item.node.value)
            if isinstance(item.node, cst.Integer):
                return item.node.evaluated_value
    return None
