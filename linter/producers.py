"""Producers: what makes weight streams, for how long their tensors are lent, and in which releases."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from packaging.version import InvalidVersion, Version

# How long a tensor is valid. The last two are for good: nothing is lent.
LEASES = ("until-advance", "until-close", "until-return", "owned", "owned-slab")
OWNED = LEASES[3:]
GIVES = ("stream", "tensor")


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

    `calls` are the qualified names of what makes one, or, as `gives` says, hands out a single tensor. A `callback` is
    the parameter that takes a function, which is called with a list of pairs; these are lent until it returns.
    `lending_versions` of `package` lend by default, all later ones only if `lends_if_false` is False (or
    `lends_if_true` True) in the call or its object's earlier calls; what they hand out then is `otherwise`. Without
    versions, the call always lends, or, if there is a `lends_if_true`, only by that. `passes_on` is the call of
    another producer whose stream this one hands on uncopied: it lends only where that one does.
    """

    lease: str = "until-advance"
    calls: tuple[str, ...] = ()
    gives: str = "stream"
    callback: str = ""
    package: str = ""
    lending_versions: tuple[str, ...] = ()
    lends_below: str = ""
    lends_if_false: str = ""
    lends_if_true: str = ""
    otherwise: str = "owned"
    passes_on: str = ""
    label: str = ""

    @property
    def may_lend(self) -> bool:
        """Whether any release under any flag lends."""
        return self.lease not in OWNED

    def lends(self, flags: Mapping[str, object], default: bool) -> bool:
        """Whether a call with these literal flags lends; `default` says whether an admitted release does."""
        if not self.may_lend:
            return False
        if self.lends_if_true:
            return flags.get(self.lends_if_true) is True or (bool(self.lending_versions) and default)
        if self.lends_if_false in flags:
            return flags[self.lends_if_false] is False
        return default


def read_producer(entry: Mapping[str, Any], place: int) -> Producer:
    """The producer of a table, the `place`-th of its kind. Raises `ContractError`."""
    for key, value in entry.items():
        problem = _problem(key, value)
        if problem:
            raise ContractError(("producer", key), problem, place)
    _check_together(entry, place)
    return Producer(
        **{key: tuple(value) if isinstance(value, list) else value for key, value in entry.items()}
    )


def check_passing_on(producers: Sequence[Producer], known: Mapping[str, Producer]) -> None:
    """Raises `ContractError` where a producer passes on the stream of none of the `known` ones, by their calls."""
    for place, producer in enumerate(producers):
        source = producer.passes_on
        if source and (source not in known or known[source].passes_on):
            message = f"`passes_on` has to be a call of another producer, which `{source}` is not"
            raise ContractError(("producer", "passes_on"), message, place)


def _check_together(entry: Mapping[str, Any], place: int) -> None:
    """Keys that need or exclude each other. Raises `ContractError`."""
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
    if "callback" in entry and entry.get("lease") != "until-return":
        message = '`callback` goes with `lease = "until-return"`: its tensors are lent until it returns'
        raise ContractError(("producer", "callback"), message, place)


def _problem(key: str, value: object) -> str:
    """What is wrong with one entry of a producer; "" for nothing."""
    known = Producer.__dataclass_fields__
    if key not in known:
        return f"unknown key `{key}` of a producer; there are: {', '.join(known)}"
    if key in ("calls", "lending_versions"):
        if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
            return f"`{key}` has to be a list of texts"
    elif not isinstance(value, str):
        return f"`{key}` has to be a text"
    allowed = {"lease": LEASES, "gives": GIVES, "otherwise": OWNED}.get(key)
    if allowed is not None and value not in allowed:
        return f"`{key}` has to be one of: {', '.join(allowed)}"
    versions = {"lending_versions": value, "lends_below": [value]}.get(key, ())
    wrong = next((one for one in versions if not _is_version(one)), None)  # type: ignore[attr-defined]
    return "" if wrong is None else f"`{wrong}` in `{key}` is no version"


def _is_version(text: str) -> bool:
    try:
        Version(text)
    except InvalidVersion:
        return False
    return True
