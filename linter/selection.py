"""Which rules are on: what settings and options select and ignore, by codes and by what codes begin with."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from os.path import commonprefix
from typing import TYPE_CHECKING

from loaderlint.rules.codes import rule_codes

if TYPE_CHECKING:
    from loaderlint.rules.base import RuleInfo

KEYS = ("select", "extend-select", "ignore")


class SelectionError(Exception):
    """A list that is none, or that names no rule. `key` is the one of `KEYS` that is at fault."""

    def __init__(self, key: str, message: str) -> None:
        super().__init__(message)
        self.key, self.message = key, message


@dataclass(frozen=True, slots=True)
class Layer:
    """What one place says, the settings or the options: codes, or prefixes of codes.

    `select` (None if not given) says which rules are on instead of those that were, `extend_select` turns further ones
    on, `ignore` turns off. Where both name a rule the longer prefix counts, at equal length `ignore`.
    """

    select: tuple[str, ...] | None = None
    extend_select: tuple[str, ...] = ()
    ignore: tuple[str, ...] = ()

    def leaves_on(self, rule: RuleInfo, was_on: bool) -> bool:
        """Whether the rule is on after this layer."""
        if self.select is not None and not rule.always:
            was_on = False
        # A rule that is still tried out is not meant by `LDR1`: an update must not bring its false alarms.
        turned_on = (*(self.select or ()), *self.extend_select)
        on = _longest(turned_on, rule.code, whole=rule.preview)
        off = _longest(self.ignore, rule.code)
        return on > off if on or off else was_on


def layer(given: dict[str, object]) -> Layer:
    """The layer that the values under `KEYS` make; others are left out. Raises `SelectionError`."""
    lists = {key.replace("-", "_"): _prefixes(key, given[key]) for key in KEYS if key in given}
    return Layer(**lists)


def is_on(rule: RuleInfo, layers: Iterable[Layer]) -> bool:
    """Whether a rule reports: by default, and then as each of the layers says, in their order."""
    on = rule.on_by_default
    for one in layers:
        on = one.leaves_on(rule, on)
    return on


def _longest(prefixes: Sequence[str], code: str, whole: bool = False) -> int:
    """The length of the longest prefix of `code`, 0 for none; if `whole`, only the code itself counts."""
    return max((len(one) for one in prefixes if code == one or not whole and code.startswith(one)), default=0)


def _prefixes(key: str, value: object) -> tuple[str, ...]:
    if not isinstance(value, (list, tuple)) or not all(isinstance(one, str) for one in value):
        raise SelectionError(key, f"`{key}` has to be a list of codes")
    for prefix in value:
        if not prefix or not any(code.startswith(prefix) for code in rule_codes()):
            raise SelectionError(key, f"no rule code begins with {prefix!r}{near(prefix)}")
    return tuple(value)


def near(code: str, others: Sequence[str] = ()) -> str:
    """The end of a message about a code that is none: which one may have been meant. "" for no idea."""
    known = [*rule_codes(), *others]
    folded = code.upper() if code[:3].upper() == "LDR" else code.lower()
    close = get_close_matches(folded, known, 5)
    if not close:
        return ""
    # Of equally near ones, the one that begins the same: `LDR192` is sooner meant to be `LDR102` than `LDR902`.
    return f"; did you mean {max(close, key=lambda one: len(commonprefix([one, folded])))}?"
