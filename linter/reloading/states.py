"""What is known on a path: truth values of names, and the parameter whose loader refused last."""

from __future__ import annotations

import ast
from collections.abc import Set
from dataclasses import dataclass, replace

from loaderlint.linter.reloading.nodes import Definition, bindings, body_nodes, bound_names, last_name


@dataclass(frozen=True, slots=True)
class State:
    """One path's knowledge.

    `taken` are the names that an accepting call was given, `refused` those that only refusing calls were given, the
    last of which is `by`.
    """

    truths: frozenset[tuple[str, bool]] = frozenset()
    taken: frozenset[str] = frozenset()
    refused: frozenset[str] = frozenset()
    by: ast.Call | None = None

    def truth(self, name: str) -> bool | None:
        """Whether the name is known to be true or false."""
        return next((value for known, value in self.truths if known == name), None)

    def knowing(self, name: str, value: bool) -> State:
        """The same path with one more truth value."""
        return replace(self.without_truth({name}), truths=self.without_truth({name}).truths | {(name, value)})

    def without_truth(self, names: Set[str]) -> State:
        """The same path, with nothing known of the truth of these names."""
        if not any(name in names for name, _ in self.truths):
            return self
        return replace(self, truths=frozenset(item for item in self.truths if item[0] not in names))

    def without(self, names: Set[str]) -> State:
        """The same path after these names were bound to something else."""
        if names.isdisjoint(self.taken) and names.isdisjoint(self.refused):
            return self.without_truth(names)
        refused = self.refused - names
        by = self.by if refused else None
        return replace(self.without_truth(names), taken=self.taken - names, refused=refused, by=by)


States = frozenset[State]


@dataclass(frozen=True, slots=True)
class Asks:
    """Recognises calls that ask a weight loader for its answer, by the keywords that ask.

    `matter` are the names of one function that answers, and questions, are about; paths do not tell others apart.
    """

    keywords: frozenset[str]
    matter: frozenset[str] = frozenset()

    def about(self, function: Definition, *names: str) -> Asks:
        """The same, for the paths of one function; `names` matter too."""
        found = set(names)
        for node in body_nodes(function):
            if isinstance(node, ast.Call) and self.find(node) is node:
                found |= given_names(node)
            for target, value in bindings(node):
                flag = isinstance(value, ast.Constant) and isinstance(value.value, bool)
                if flag or self.find(value) is not None:
                    found |= bound_names(target)
        return replace(self, matter=frozenset(found))

    def find(self, node: ast.expr | None) -> ast.Call | None:
        """The asking call that `node` is, also inside `bool(...)` and `await`."""
        while True:
            if isinstance(node, ast.Await):
                node = node.value
            elif isinstance(node, ast.Call) and last_name(node.func) == "bool" and len(node.args) == 1:
                node = node.args[0]
            else:
                return node if isinstance(node, ast.Call) and self._asks(node) else None

    def _asks(self, call: ast.Call) -> bool:
        return any(
            item.arg in self.keywords and not (isinstance(item.value, ast.Constant) and not item.value.value)
            for item in call.keywords
        )

    def answered(self, call: ast.Call, answer: bool, state: State) -> State:
        """The path on which `call` gave this answer: what it was given is loaded, or it is not."""
        given = given_names(call)
        taken = state.taken | given if answer else state.taken
        refused = (state.refused if answer else state.refused | given) - taken
        by = (state.by if answer else call) if refused else None
        return replace(state, taken=taken, refused=refused, by=by)


def given_names(call: ast.Call) -> frozenset[str]:
    """The variables that a call is given as they are."""
    given = [*call.args, *(item.value for item in call.keywords)]
    return frozenset(item.id for item in given if isinstance(item, ast.Name))
