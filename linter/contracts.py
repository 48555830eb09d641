"""The contracts: what libraries do with lent memory, as data.

Files under rules/contracts/ and the table `[tool.loaderlint.contracts]` of a project's pyproject.toml share one schema;
docs/contracts.md describes it for users.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache, cached_property
from importlib.resources import files
from typing import Any

from packaging.version import InvalidVersion, Version

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

# Tables that list names under an effect: `[functions] copy = ["torch.cat"]`.
EFFECTS: dict[str, frozenset[str]] = {
    "tensor_attributes": frozenset({"view", "memory"}),
    "tensor_methods": frozenset({"view", "conditional_copy", "copy", "metadata"}),
    "tensor_results": frozenset({"several", "other"}),
    "functions": frozenset(
        {
            "view", "conditional_copy", "copy", "metadata", "text", "capture", "shallow_copy", "await", "submit",
            "submit_items", "put", "take", "reduce", "keep", "same", "consume", "tee",
        }
    ),
    "methods": frozenset({"submit", "await", "read", "produce", "bundle", "keep"}),
    "modules": frozenset({"read"}),
    "classes": frozenset({"executor", "list", "set", "dict", "weak", "callbacks"}),
}  # fmt: skip
# Tables that name an operation for each name: `[lazy] "itertools.chain" = "chain"`.
OPERATIONS: dict[str, frozenset[str]] = {
    "lazy": frozenset(
        {
            "same", "enumerate", "zip", "map", "starmap", "filter", "reversed", "chain", "flatten", "groupby",
            "pairwise", "batched",
        }
    ),
    "lazy_methods": frozenset({"same"}),
    "eager": frozenset({"list", "set", "dict"}),
    "copy_if_true": frozenset(),  # any keyword
}
LEASES = frozenset({"until-advance", "until-close", "until-return"})


class ContractError(Exception):
    """An entry that the schema does not know. `keys` lead to it, `message` says what is wrong.

    `entry` says which one, from 0, where there are several under these keys: `[[producer]]`.
    """

    def __init__(self, keys: tuple[str, ...], message: str, entry: int = 0) -> None:
        super().__init__(message)
        self.keys, self.message, self.entry = keys, message, entry


@dataclass(frozen=True, slots=True)
class Producer:
    """A library that makes weight streams.

    `calls` are the qualified names of what makes one. `lending_versions` of `package` lend by default, all later ones
    only if `lends_if_false` is False (or `lends_if_true` True) in the call or its object's earlier calls. Without
    versions, the call always lends.
    """

    lease: str = "until-advance"
    calls: tuple[str, ...] = ()
    package: str = ""
    lending_versions: tuple[str, ...] = ()
    lends_below: str = ""
    lends_if_false: str = ""
    lends_if_true: str = ""
    label: str = ""

    def lends(self, flags: Mapping[str, object], lends_by_default: bool) -> bool:
        """Whether a call with these literal flags lends."""
        if self.lends_if_true:
            return flags.get(self.lends_if_true) is True
        if self.lends_if_false in flags:
            return flags[self.lends_if_false] is False
        return lends_by_default


@dataclass
class Contracts:
    """All contracts, merged: for most tables, a name's effect or operation."""

    tensor_attributes: dict[str, str] = field(default_factory=dict)
    tensor_methods: dict[str, str] = field(default_factory=dict)
    tensor_results: dict[str, str] = field(default_factory=dict)
    functions: dict[str, str] = field(default_factory=dict)
    methods: dict[str, str] = field(default_factory=dict)
    modules: dict[str, str] = field(default_factory=dict)
    classes: dict[str, str] = field(default_factory=dict)
    lazy: dict[str, str] = field(default_factory=dict)
    lazy_methods: dict[str, str] = field(default_factory=dict)
    eager: dict[str, str] = field(default_factory=dict)
    copy_if_true: dict[str, str] = field(default_factory=dict)
    producers: list[Producer] = field(default_factory=list)
    loader_attributes: frozenset[str] = frozenset()
    loader_parameters: frozenset[str] = frozenset()
    loader_tensors: frozenset[str] = frozenset()

    def add(self, data: Mapping[str, Any]) -> None:
        """Merge tables of the schema. Raises `ContractError` for anything else."""
        for table, entries in data.items():
            if table == "producer":
                listed = _list_of_tables(entries)
                self.producers += [_producer(entry, place) for place, entry in enumerate(listed)]
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
            if key not in ("attributes", "parameters", "tensors"):
                known = "attributes, parameters, tensors"
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

    @cached_property
    def producer_by_call(self) -> dict[str, Producer]:
        """The producers by each qualified name that makes their streams."""
        return {call: producer for producer in self.producers for call in producer.calls}

    @cached_property
    def owners(self) -> frozenset[str]:
        """The classes whose objects matter: executors, those that hold nothing, and those of which a method is named."""
        executors = {name for name, kind in self.classes.items() if kind in ("executor", "weak")}
        return frozenset(
            executors | {name.rpartition(".")[0] for name in (*self.producer_by_call, *self.functions)}
        )

    def named(self, table: str, effect: str) -> frozenset[str]:
        """All names with that effect."""
        return frozenset(name for name, has in getattr(self, table).items() if has == effect)


def _names(table: str, key: str, names: object) -> list[str]:
    if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
        raise ContractError((table, key), f"`{table}.{key}` has to be a list of names")
    return names


def _producer(entry: Mapping[str, Any], place: int) -> Producer:
    """The producer of a table, the `place`-th of its kind. Raises `ContractError`."""
    for key, value in entry.items():
        problem = _producer_problem(key, value)
        if problem:
            raise ContractError(("producer", key), problem, place)
    if not entry.get("calls") and not entry.get("label"):
        raise ContractError(("producer",), "a producer needs `calls`: what makes its streams", place)
    if "lends_if_false" in entry and "lends_if_true" in entry:
        message = "only one of `lends_if_false` and `lends_if_true` can decide"
        raise ContractError(("producer", "lends_if_true"), message, place)
    needed = {"package", "lending_versions", "lends_below"}
    given = needed & entry.keys()
    if given - {"package"} and given != needed:
        message = f"`{min(given - {'package'})}` goes with `{'` and `'.join(sorted(needed - given))}`"
        raise ContractError(("producer", min(given - {"package"})), message, place)
    return Producer(
        **{key: tuple(value) if isinstance(value, list) else value for key, value in entry.items()}
    )


def _producer_problem(key: str, value: object) -> str:
    """What is wrong with one entry of a producer; "" for nothing."""
    known = Producer.__dataclass_fields__
    if key not in known:
        return f"unknown key `{key}` of a producer; there are: {', '.join(known)}"
    if key in ("calls", "lending_versions"):
        if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
            return f"`{key}` has to be a list of texts"
    elif not isinstance(value, str):
        return f"`{key}` has to be a text"
    if key == "lease" and value not in LEASES:
        return f"`lease` has to be one of: {', '.join(sorted(LEASES))}"
    versions = {"lending_versions": value, "lends_below": [value]}.get(key, ())
    wrong = next((one for one in versions if not _is_version(one)), None)  # type: ignore[attr-defined]
    return "" if wrong is None else f"`{wrong}` in `{key}` is no version"


def _is_version(text: str) -> bool:
    try:
        Version(text)
    except InvalidVersion:
        return False
    return True


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


def extended_contracts(extra: Mapping[str, Any]) -> Contracts:
    """The shipped contracts, and `extra` tables on top. Raises `ContractError` for a wrong entry of these."""
    contracts = Contracts()
    for tables in (*shipped_tables(), extra):
        contracts.add(tables)
    return contracts
