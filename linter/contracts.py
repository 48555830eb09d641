"""The contracts: what libraries do with lent memory, as data.

Files under rules/contracts/ and the table `[tool.loaderlint.contracts]` of a project's pyproject.toml share one schema;
docs/contracts.md describes it for users.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, cached_property
from importlib.resources import files
from typing import Any

from loaderlint.linter.producers import ContractError, Producer, check_passing_on, read_producer
from packaging.utils import canonicalize_name

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

# Tables that list names under an effect: `[functions] copy = ["torch.cat"]`.
EFFECTS: dict[str, frozenset[str]] = {
    "tensor_attributes": frozenset({"view", "memory"}),
    "tensor_methods": frozenset({"view", "conditional_copy", "copy", "metadata", "mutate"}),
    "tensor_results": frozenset({"several", "other"}),
    "ownership_markers": frozenset({"tensor", "storage"}),
    "functions": frozenset(
        {
            "view", "conditional_copy", "copy", "metadata", "mutate", "text", "capture", "shallow_copy", "await",
            "submit", "spawn", "submit_items", "put", "take", "reduce", "keep", "same", "consume", "tee", "parameter",
            "adopt", "load",
        }
    ),
    "methods": frozenset(
        {
            "submit", "spawn", "submit_items", "await", "synchronize", "read", "produce", "bundle", "keep", "own",
            "drain", "adopt",
        }
    ),
    "attributes": frozenset({"adopt"}),
    "modules": frozenset({"read"}),
    "classes": frozenset({"executor", "list", "set", "dict", "weak", "callbacks"}),
}  # fmt: skip
# Tables that name an operation for each name: `[lazy] "itertools.chain" = "chain"`.
OPERATIONS: dict[str, frozenset[str]] = {
    "lazy": frozenset(
        {
            "same",
            "part",
            "takewhile",
            "enumerate",
            "zip",
            "map",
            "starmap",
            "filter",
            "reversed",
            "chain",
            "flatten",
            "groupby",
            "pairwise",
            "batched",
        }
    ),
    "lazy_methods": frozenset({"same"}),
    "eager": frozenset({"list", "set", "dict"}),
    # Any keyword:
    "copy_if_true": frozenset(),
    "adopt_if_true": frozenset(),
    "background_if_true": frozenset(),
}


@dataclass
class Contracts:
    """All contracts, merged: for most tables, a name's effect or operation."""

    tensor_attributes: dict[str, str] = field(default_factory=dict)
    tensor_methods: dict[str, str] = field(default_factory=dict)
    tensor_results: dict[str, str] = field(default_factory=dict)
    ownership_markers: dict[str, str] = field(default_factory=dict)
    functions: dict[str, str] = field(default_factory=dict)
    methods: dict[str, str] = field(default_factory=dict)
    attributes: dict[str, str] = field(default_factory=dict)
    modules: dict[str, str] = field(default_factory=dict)
    classes: dict[str, str] = field(default_factory=dict)
    lazy: dict[str, str] = field(default_factory=dict)
    lazy_methods: dict[str, str] = field(default_factory=dict)
    eager: dict[str, str] = field(default_factory=dict)
    copy_if_true: dict[str, str] = field(default_factory=dict)
    adopt_if_true: dict[str, str] = field(default_factory=dict)
    background_if_true: dict[str, str] = field(default_factory=dict)
    producers: list[Producer] = field(default_factory=list)
    # By each qualified name that makes their streams; the last one of a name counts.
    producer_by_call: dict[str, Producer] = field(default_factory=dict)
    loader_attributes: frozenset[str] = frozenset()
    loader_parameters: frozenset[str] = frozenset()
    loader_tensors: frozenset[str] = frozenset()
    loader_results: frozenset[str] = frozenset()
    loader_after: frozenset[str] = frozenset()
    loader_small: frozenset[str] = frozenset()

    def add(self, data: Mapping[str, Any]) -> None:
        """Merge tables of the schema. Raises `ContractError` for anything else."""
        for table, entries in data.items():
            if table == "producer":
                listed = _list_of_tables(entries)
                self._add_producers([read_producer(entry, place) for place, entry in enumerate(listed)])
            elif not isinstance(entries, Mapping):
                raise ContractError((table,), f"`{table}` has to be a table")
            elif table == "weight_loader":
                self._add_weight_loader(entries)
            elif table in EFFECTS:
                self._add_effects(table, entries)
            elif table in OPERATIONS:
                self._add_operations(table, entries)
            else:
                known = ", ".join(sorted((*EFFECTS, *OPERATIONS, "producer", "weight_loader")))
                raise ContractError((table,), f"unknown table `{table}`; there are: {known}")

    def _add_effects(self, table: str, entries: Mapping[str, Any]) -> None:
        for effect, names in entries.items():
            if effect not in EFFECTS[table]:
                known = ", ".join(sorted(EFFECTS[table]))
                raise ContractError(
                    (table, effect), f"unknown key `{effect}` in `{table}`; there are: {known}"
                )
            getattr(self, table).update(dict.fromkeys(_names(table, effect, names), effect))

    def _add_weight_loader(self, entries: Mapping[str, Any]) -> None:
        for key, names in entries.items():
            if key not in ("attributes", "parameters", "tensors", "results", "after", "small"):
                known = "attributes, parameters, tensors, results, after, small"
                raise ContractError(("weight_loader", key), f"unknown key `{key}`; there are: {known}")
            known_names = frozenset() if key == "parameters" else getattr(self, f"loader_{key}")
            setattr(self, f"loader_{key}", known_names | frozenset(_names("weight_loader", key, names)))

    def _add_operations(self, table: str, entries: Mapping[str, Any]) -> None:
        allowed = OPERATIONS[table]
        for name, operation in entries.items():
            if not isinstance(operation, str) or (allowed and operation not in allowed):
                known = ", ".join(sorted(allowed)) or "a keyword's name"
                raise ContractError((table, name), f"`{table}.{name}` has to be one of: {known}")
            getattr(self, table)[name] = operation

    def _add_producers(self, producers: Sequence[Producer]) -> None:
        self.producers += producers
        self.producer_by_call.update({call: one for one in producers for call in one.calls})

    def forget(self, package: str) -> None:
        """Drop the producers of a package: whoever has its code reads what it does."""
        self.producers = [one for one in self.producers if canonicalize_name(one.package) != package]
        self.producer_by_call = {call: one for one in self.producers for call in one.calls}

    @cached_property
    def lending_calls(self) -> tuple[str, ...]:
        """The qualified names of what may lend."""
        return tuple(call for call, producer in self.producer_by_call.items() if producer.may_lend)

    @cached_property
    def owners(self) -> frozenset[str]:
        """The classes whose objects matter: executors, those that hold nothing, and those of which a method is named.

        What a named method returns counts as a class of that name: `Loader.open` for `Loader.open.tensors`.
        """
        executors = {name for name, kind in self.classes.items() if kind in ("executor", "weak")}
        found = {name.rpartition(".")[0] for name in (*self.producer_by_call, *self.functions)}
        return frozenset(executors | found | {name.rpartition(".")[0] for name in found})

    @cached_property
    def known_names(self) -> frozenset[str]:
        """The qualified names of all functions and classes that a contract is about."""
        tables = (self.functions, self.classes, self.lazy, self.eager, self.producer_by_call)
        return frozenset().union(*tables, self.owners)

    def named(self, table: str, effect: str) -> frozenset[str]:
        """All names with that effect."""
        return frozenset(name for name, has in getattr(self, table).items() if has == effect)


def _names(table: str, key: str, names: object) -> list[str]:
    if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
        raise ContractError((table, key), f"`{table}.{key}` has to be a list of names")
    return names


def _list_of_tables(entries: object) -> list[Mapping[str, Any]]:
    if not isinstance(entries, list) or not all(isinstance(entry, Mapping) for entry in entries):
        raise ContractError(("producer",), "`producer` has to be a list of tables: [[producer]]")
    return entries


@cache
def shipped_tables() -> tuple[Mapping[str, Any], ...]:
    """The tables of every contract file that loaderlint ships, in the order of their names."""
    folder = files("loaderlint.rules.contracts")
    entries = sorted(
        (entry for entry in folder.iterdir() if entry.name.endswith(".toml")), key=lambda it: it.name
    )
    return tuple(tomllib.loads(entry.read_text(encoding="utf-8")) for entry in entries)


@cache
def load_contracts() -> Contracts:
    """The shipped contracts."""
    return extended_contracts({})


def extended_contracts(extra: Mapping[str, Any], package: str = "") -> Contracts:
    """The shipped contracts, and `extra` tables on top. Raises `ContractError` for a wrong entry of these.

    `package` is the analysed project's own name: of its own producers the code is read instead.
    """
    contracts = Contracts()
    for tables in shipped_tables():
        contracts.add(tables)
    check_passing_on(contracts.producers, contracts.producer_by_call)
    if package:
        contracts.forget(canonicalize_name(package))
    shipped = len(contracts.producers)
    contracts.add(extra)
    check_passing_on(contracts.producers[shipped:], contracts.producer_by_call)
    return contracts
