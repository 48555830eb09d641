"""What a project says about itself: `[tool.loaderlint]` in its pyproject.toml, and the versions that it admits."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum
from pathlib import Path
from typing import Any

from loaderlint.linter.contracts import (
    Contracts,
    extended_contracts,
    load_contracts,
)
from loaderlint.linter.producers import ContractError, Producer
from loaderlint.linter.selection import KEYS, Layer, SelectionError, layer
from loaderlint.linter.toml_lines import line_of
from loaderlint.linter.wrapping import DEFAULT_WIDTH
from packaging.requirements import InvalidRequirement, Requirement
from packaging.utils import canonicalize_name
from packaging.version import Version

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

_KEYS = ("assume", "contracts", "own-helper", *KEYS)
_HELPER = re.compile(r"[A-Za-z_]\w*(\.[A-Za-z_]\w*)*:[A-Za-z_]\w*")


class Assume(str, Enum):
    """What a function's stream parameter does, whose producer nobody can see."""

    LENT = "lent"
    OWNED = "owned"


class SettingsError(Exception):
    """A wrong setting: which file, which line (from 1; 0 for none), what is wrong."""

    def __init__(self, path: str, line: int, message: str) -> None:
        super().__init__(f"{path}:{line}: {message}" if line else f"{path}: {message}")
        self.path, self.line, self.message = path, line, message


@dataclass(frozen=True)
class OwnContracts:
    """The contracts that a project states itself, with the file that they stand in, and the packages it requires."""

    path: str
    text: str
    table: Mapping[str, Any]
    requires: frozenset[str]


@dataclass(frozen=True)
class Settings:
    """The settings of one run.

    `pins` says which versions of a producer's package the project admits, for people; `layers` which rules are on;
    `own` what the project itself adds to the contracts. `own_helper` is the function ("pkg.module:function") by which
    repairs are to own a tensor on the host; "" for the plain expression. `width` is how long lines of code may be.
    """

    contracts: Contracts = field(default_factory=load_contracts)
    assume: Assume = Assume.LENT
    owning: tuple[Producer, ...] = ()
    pins: Mapping[str, str] = field(default_factory=dict)
    layers: tuple[Layer, ...] = ()
    own: OwnContracts | None = None
    own_helper: str = ""
    width: int = DEFAULT_WIDTH

    def lends(self, producer: Producer, flags: Mapping[str, object]) -> bool:
        """Whether a call of `producer` with these literal flags lends, in the worst release that is admitted."""
        source = self.contracts.producer_by_call.get(producer.passes_on)
        default = producer not in self.owning and (source is None or self.lends(source, {}))
        return producer.lends(flags, default)

    def lenders(self) -> list[str]:
        """For people: under which producers and settings a stream lends."""
        # Libraries by name, then what has no package. Who hands on the stream of another one adds nothing.
        named = [one for one in self.contracts.producers if one.may_lend and not one.passes_on]
        producers = sorted(named, key=lambda producer: (not producer.package, producer.package))
        texts = (self._lender(one) for one in producers if one.gives == "stream")
        return list(dict.fromkeys(text for text in texts if text))

    def lender(self, producer: Producer) -> str:
        """The same for one producer, or the one whose stream it hands on."""
        known = self.contracts.producers
        first = next(
            (one for one in known if producer.passes_on and producer.passes_on in one.calls), producer
        )
        return self._lender(first) or next(iter(first.calls), "its producer")

    def _lender(self, producer: Producer) -> str:
        name = producer.label or producer.package
        if not name:
            return ""
        flag = f" with {producer.lends_if_true}=True" if producer.lends_if_true else ""
        flag = f" with {producer.lends_if_false}=False" if producer.lends_if_false else flag
        if producer in self.owning:
            return name + flag if flag else ""
        if not producer.lends_below:
            return f"{name} unless {producer.lends_if_false}=True" if producer.lends_if_false else name + flag
        pin = self.pins.get(producer.package)
        admits = f" ({pin})" if pin else ""
        return f"{name} < {producer.lends_below}{admits}" + (f" or{flag}" if flag else "")


def load_settings(folder: Path, assume: Assume | None = None, options: Layer = Layer()) -> Settings:
    """The settings of the project that `folder` is in: the nearest pyproject.toml upwards.

    `assume` overrides what it says, `options` go on top of the rules that it selects. Raises `SettingsError`.
    """
    places = (at / "pyproject.toml" for at in (folder, *folder.parents))
    path = next((place for place in places if _is_file(place)), None)
    if path is None:
        return Settings(assume=assume or Assume.LENT, layers=(options,))
    text, data = _read(path)
    table = _table(_table(data, "tool"), "loaderlint")
    if table is None:
        line = line_of(text, ("tool", "loaderlint"))
        raise SettingsError(str(path), line, "[tool.loaderlint] has to be a table")
    for key in table:
        if key not in _KEYS:
            message = f"unknown key `{key}` in [tool.loaderlint]; there are: {', '.join(_KEYS)}"
            raise SettingsError(str(path), line_of(text, ("tool", "loaderlint", key)), message)
    name = (_table(data, "project") or {}).get("name")
    contracts = _contracts(table.get("contracts"), name if isinstance(name, str) else "", path, text)
    owning, pins = _pinned(contracts, data, path.name)
    stated = _assume(table, path, text)
    layers = (_layer(table, path, text), options)
    own = OwnContracts(str(path), text, table.get("contracts", {}), frozenset(_requirements(data)))
    helper = _own_helper(table, path, text)
    return Settings(contracts, assume or stated, owning, pins, layers, own, helper, _width(data))


def _is_file(path: Path) -> bool:
    return os.path.isfile(path)  # False, too, for what may not be looked at; `Path.is_file` raises there.


def _table(data: Mapping[str, Any] | None, key: str) -> Mapping[str, Any] | None:
    """The table under `key`, empty if there is none; None for something else than a table."""
    found = {} if data is None else data.get(key, {})
    return found if isinstance(found, Mapping) else None


def _read(path: Path) -> tuple[str, dict[str, Any]]:
    try:
        text = path.read_text(encoding="utf-8")
        return text, tomllib.loads(text)
    except OSError as error:
        raise SettingsError(str(path), 0, f"cannot read: {error.strerror}") from None
    except UnicodeDecodeError:
        raise SettingsError(str(path), 0, "not TOML: the text is not UTF-8") from None
    except tomllib.TOMLDecodeError as error:
        line = re.search(r"at line (\d+)", str(error))
        raise SettingsError(str(path), int(line[1]) if line else 0, f"not TOML: {error}") from None


def _contracts(table: object, package: str, path: Path, text: str) -> Contracts:
    table = {} if table is None else table
    try:
        if not isinstance(table, Mapping):
            raise ContractError((), "`contracts` has to be a table")
        return extended_contracts(table, package)
    except ContractError as error:
        line = line_of(text, ("tool", "loaderlint", "contracts", *error.keys), error.entry)
        raise SettingsError(str(path), line, error.message) from None


def _assume(table: Mapping[str, Any], path: Path, text: str) -> Assume:
    value = table.get("assume", Assume.LENT.value)
    try:
        return Assume(value)
    except ValueError:
        line = line_of(text, ("tool", "loaderlint", "assume"))
        raise SettingsError(str(path), line, f"`assume` is {value!r}; it can be: lent, owned") from None


def _own_helper(table: Mapping[str, Any], path: Path, text: str) -> str:
    value = table.get("own-helper", "")
    if value and not (isinstance(value, str) and _HELPER.fullmatch(value)):
        line = line_of(text, ("tool", "loaderlint", "own-helper"))
        message = f'`own-helper` is {value!r}; it has to be written like "package.module:function"'
        raise SettingsError(str(path), line, message)
    return value


def _width(data: Mapping[str, Any]) -> int:
    """The line length that the project has set for its formatter."""
    tables = (_table(_table(data, "tool"), name) or {} for name in ("ruff", "black"))
    found = (table.get("line-length") for table in tables)
    return next((one for one in found if isinstance(one, int) and one > 0), DEFAULT_WIDTH)


def _layer(table: Mapping[str, Any], path: Path, text: str) -> Layer:
    try:
        return layer(dict(table))
    except SelectionError as error:
        line = line_of(text, ("tool", "loaderlint", error.key))
        raise SettingsError(str(path), line, error.message) from None


def _pinned(
    contracts: Contracts, data: Mapping[str, Any], name: str
) -> tuple[tuple[Producer, ...], dict[str, str]]:
    """The producers of which the project admits no lending version, and what it admits of the others."""
    requirements = _requirements(data)
    owning, pins = [], {}
    for producer in contracts.producers:
        wanted = (
            requirements.get(canonicalize_name(producer.package), ()) if producer.lending_versions else ()
        )
        if not wanted:
            continue
        lending = producer.lending_versions  # The worst case: what any of the requirements admits.
        admitted = [one for one in lending if any(each.specifier.contains(one) for each in wanted)]
        if admitted:
            pins[producer.package] = f"{name} admits {max(admitted, key=Version)}"
        else:
            owning.append(producer)
    return tuple(owning), pins


def _requirements(data: Mapping[str, Any]) -> dict[str, list[Requirement]]:
    """What the project requires, by package. Extras only narrow what the dependencies say."""
    project = _table(data, "project") or {}
    found = _by_package(project.get("dependencies"))
    extras: dict[str, list[Requirement]] = {}
    for group in (_table(project, "optional-dependencies") or {}).values():
        for package, wanted in _by_package(group).items():
            extras.setdefault(package, []).extend(wanted)
    return {**extras, **found}


def _by_package(lines: object) -> dict[str, list[Requirement]]:
    found: dict[str, list[Requirement]] = {}
    for line in lines if isinstance(lines, list) else ():
        try:
            requirement = Requirement(line)
        except (InvalidRequirement, TypeError):
            continue  # Not ours to judge.
        found.setdefault(canonicalize_name(requirement.name), []).append(requirement)
    return found
