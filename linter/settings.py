"""What a project says about itself: `[tool.loaderlint]` in its pyproject.toml, and the versions that it admits."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from enum import Enum
from pathlib import Path
from typing import Any

from packaging.requirements import InvalidRequirement, Requirement
from packaging.utils import canonicalize_name

from loaderlint.linter.contracts import ContractError, Contracts, Producer, extended_contracts, load_contracts

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

_KEYS = ("assume", "contracts")


class Assume(str, Enum):
    """What a function's stream parameter does, whose producer nobody can see."""

    LENT = "lent"
    OWNED = "owned"


class SettingsError(Exception):
    """A wrong setting: which file, which line (from 1), what is wrong."""

    def __init__(self, path: str, line: int, message: str) -> None:
        super().__init__(f"{path}:{line}: {message}")
        self.path, self.line, self.message = path, line, message


@dataclass(frozen=True)
class Settings:
    """The settings of one run. `pins` says which versions of a producer's package the project admits, for people."""

    contracts: Contracts = field(default_factory=load_contracts)
    assume: Assume = Assume.LENT
    owning: tuple[Producer, ...] = ()
    pins: Mapping[str, str] = field(default_factory=dict)

    def lenders(self) -> list[str]:
        """For people: under which producers and settings a stream lends."""
        # Libraries by name, then what has no package.
        producers = sorted(self.contracts.producers, key=lambda producer: (not producer.package, producer.package))
        return [text for producer in producers if (text := self._lender(producer))]

    def _lender(self, producer: Producer) -> str:
        if producer.label or not producer.package:
            return producer.label
        flag = f"{producer.lends_if_false}=False" if producer.lends_if_false else f"{producer.lends_if_true}=True"
        if not producer.lends_below or producer in self.owning:
            return f"{producer.package} with {flag}"
        pin = self.pins.get(producer.package)
        admits = f" ({pin})" if pin else ""
        return f"{producer.package} < {producer.lends_below}{admits} or with {flag}"


def load_settings(folder: Path, assume: Assume | None = None) -> Settings:
    """The settings of the project that `folder` is in: the nearest pyproject.toml upwards.

    `assume` overrides what it says. Raises `SettingsError`.
    """
    path = next((at / "pyproject.toml" for at in (folder, *folder.parents) if (at / "pyproject.toml").is_file()), None)
    if path is None:
        return Settings(assume=assume or Assume.LENT)
    text, data = _read(path)
    table = data.get("tool", {}).get("loaderlint", {})
    for key in table:
        if key not in _KEYS:
            message = f"unknown key `{key}` in [tool.loaderlint]; there are: {', '.join(_KEYS)}"
            raise SettingsError(str(path), ContractError((key,), "").line_in(text), message)
    contracts = _contracts(table.get("contracts"), path, text)
    owning, pins = _pinned(contracts, data, path.name)
    return Settings(contracts, assume or _assume(table, path, text), owning, pins)


def _read(path: Path) -> tuple[str, dict[str, Any]]:
    try:
        text = path.read_text(encoding="utf-8")
        return text, tomllib.loads(text)
    except (OSError, UnicodeDecodeError) as error:
        raise SettingsError(str(path), 0, f"cannot read: {error}") from None
    except tomllib.TOMLDecodeError as error:
        raise SettingsError(str(path), getattr(error, "lineno", 0), f"not TOML: {error}") from None


def _contracts(table: object, path: Path, text: str) -> Contracts:
    if table is None:
        return load_contracts()
    try:
        if not isinstance(table, Mapping):
            raise ContractError(("contracts",), "`contracts` has to be a table")
        return extended_contracts(table)
    except ContractError as error:
        raise SettingsError(str(path), error.line_in(text), error.message) from None


def _assume(table: Mapping[str, Any], path: Path, text: str) -> Assume:
    value = table.get("assume", Assume.LENT.value)
    try:
        return Assume(value)
    except ValueError:
        line = ContractError(("assume",), "").line_in(text)
        raise SettingsError(str(path), line, f"`assume` is {value!r}; it can be: lent, owned") from None


def _pinned(
    contracts: Contracts, data: Mapping[str, Any], name: str
) -> tuple[tuple[Producer, ...], dict[str, str]]:
    """The producers of which the project admits no lending version, and what it admits of the others."""
    requirements = {canonicalize_name(one.name): one for one in _requirements(data)}
    owning, pins = [], {}
    for producer in contracts.producers:
        requirement = requirements.get(canonicalize_name(producer.package)) if producer.package else None
        if requirement is None or not producer.lending_versions:
            continue
        admitted = [version for version in producer.lending_versions if requirement.specifier.contains(version)]
        if admitted:
            pins[producer.package] = f"{name} admits {admitted[-1]}"
        else:
            owning.append(producer)
    return tuple(owning), pins


def _requirements(data: Mapping[str, Any]) -> Iterator[Requirement]:
    project = data.get("project", {})
    groups = [project.get("dependencies", []), *project.get("optional-dependencies", {}).values()]
    for group in groups:
        for line in group if isinstance(group, list) else ():
            try:
                yield Requirement(line)
            except (InvalidRequirement, TypeError):
                continue  # Not ours to judge.
