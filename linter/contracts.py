"""The contracts: what libraries do with lent memory, read from the data files beside the rules.

Schema of a contract file (every table is optional):
  [tensor_attributes] view            attributes of a tensor that share its memory
  [tensor_methods] view, conditional_copy, copy, metadata, copy_if_true
  [tensor_results] several, other     methods whose view is not one tensor: a tuple of them, or no tensor at all
  [functions] view, conditional_copy, metadata, text, capture, shallow_copy, await, submit, submit_items, put
                                      by qualified name
  [methods] submit, await, read, produce, bundle             on receivers of unknown type
  [lazy], [eager], [lazy_methods]     how an iterable is iterated: name -> operation
  [consume] functions                 iterate their argument and keep nothing
  [modules] read                      their other functions read tensors at once and keep none
  [executors] classes                 leaving a `with` over one waits for all that it was given
  [tee] functions                     make several iterators of one, by a hidden buffer
  [containers] list, set, dict        constructors
  [weight_loader] attribute, parameters, tensor     functions that are lent one tensor until they return
  [[producer]] call, lease, lends, owned_if_true
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache, cached_property
from importlib.resources import files

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib


@dataclass(frozen=True, slots=True)
class Producer:
    """A call that makes a stream. `lends` says, for people, which of its versions or settings lend."""

    call: str
    lease: str
    lends: str = ""
    owned_if_true: str = ""


@dataclass
class Contracts:
    """All contract files, merged. The values of the mappings are effects or operations, as in the schema."""

    tensor_attributes: dict[str, str] = field(default_factory=dict)
    tensor_methods: dict[str, str] = field(default_factory=dict)
    tensor_results: dict[str, str] = field(default_factory=dict)
    copy_if_true: dict[str, str] = field(default_factory=dict)
    functions: dict[str, str] = field(default_factory=dict)
    methods: dict[str, str] = field(default_factory=dict)
    lazy: dict[str, str] = field(default_factory=dict)
    eager: dict[str, str] = field(default_factory=dict)
    lazy_methods: dict[str, str] = field(default_factory=dict)
    consume: dict[str, str] = field(default_factory=dict)
    tee: dict[str, str] = field(default_factory=dict)
    modules: dict[str, str] = field(default_factory=dict)
    weight_loader: dict[str, frozenset[str]] = field(default_factory=dict)
    executors: dict[str, str] = field(default_factory=dict)
    containers: dict[str, str] = field(default_factory=dict)
    producers: dict[str, Producer] = field(default_factory=dict)
    lenders: list[str] = field(default_factory=list)

    def add(self, data: Mapping[str, Mapping[str, object]]) -> None:
        """Merge one file's tables."""
        methods = dict(data.get("tensor_methods", {}))
        self.copy_if_true.update(methods.pop("copy_if_true", {}))  # type: ignore[call-overload]
        for table, effects in (
            (self.tensor_attributes, data.get("tensor_attributes", {})),
            (self.tensor_methods, methods),
            (self.tensor_results, data.get("tensor_results", {})),
            (self.functions, data.get("functions", {})),
            (self.methods, data.get("methods", {})),
            (self.consume, data.get("consume", {})),
            (self.tee, data.get("tee", {})),
            (self.modules, data.get("modules", {})),
            (self.executors, data.get("executors", {})),
            (self.containers, data.get("containers", {})),
        ):
            for effect, names in effects.items():
                table.update(dict.fromkeys(names, effect))  # type: ignore[call-overload]
        for part, names in data.get("weight_loader", {}).items():
            self.weight_loader[part] = self.weight_loader.get(part, frozenset()) | set(names)  # type: ignore[call-overload]
        for table, operations in (
            (self.lazy, data.get("lazy", {})),
            (self.eager, data.get("eager", {})),
            (self.lazy_methods, data.get("lazy_methods", {})),
        ):
            table.update(operations)  # type: ignore[arg-type]
        for entry in data.get("producer", ()):
            self._add_producer(Producer(**{"call": "", **entry}))  # type: ignore[dict-item]

    def _add_producer(self, producer: Producer) -> None:
        if producer.call:
            self.producers[producer.call] = producer
        if producer.lends and producer.lends not in self.lenders:
            self.lenders.append(producer.lends)

    @cached_property
    def classes(self) -> frozenset[str]:
        """The classes whose objects matter: executors, and those of which a method is named."""
        owners = {call.rpartition(".")[0] for call in (*self.producers, *self.functions)}
        return frozenset(owners | set(self.executors))


@cache
def load_contracts() -> Contracts:
    """The shipped contracts."""
    contracts = Contracts()
    folder = files("loaderlint.rules.contracts")
    for entry in sorted(folder.iterdir(), key=lambda item: item.name):
        if entry.name.endswith(".toml"):
            contracts.add(tomllib.loads(entry.read_text(encoding="utf-8")))
    return contracts
