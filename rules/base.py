"""What a rule is: the events that it matches, and what it says about them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from loaderlint.linter.findings import Category, Severity
from loaderlint.linter.interpreter.events import Retention


@dataclass(frozen=True, slots=True)
class Rule:
    """One rule. `matches` decides by the event, and by its LibCST nodes where the event alone does not tell.

    `message` is one line for the user; `since` the first release with the rule; `fixable` says whether a repair is
    ever offered.
    """

    code: str
    name: str
    category: Category
    since: str
    fixable: bool
    matches: Callable[[Retention], bool]
    message: Callable[[Retention], str]

    @property
    def severity(self) -> Severity:
        """Correctness rules report errors, the others warnings."""
        return Severity.ERROR if self.category is Category.CORRECTNESS else Severity.WARNING


def one_line(text: str, limit: int = 60) -> str:
    """Source text for a message: on one line, cut in the middle of nothing that matters."""
    joined = " ".join(text.split())
    return joined if len(joined) <= limit else f"{joined[: limit - 1]}…"


def tensor_name(event: Retention) -> str:
    """The kept tensor as the user wrote it."""
    return one_line(event.tensor)
