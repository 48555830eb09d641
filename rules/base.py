"""What a rule is: the events that it matches, and what it says about them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Generic, TypeVar

from loaderlint.linter.findings import Category, Finding, Fix, NoFix, Severity, Step
from loaderlint.linter.interpreter.events import Event, Fact, Holder, Retention

AnEvent = TypeVar("AnEvent", bound=Event)


@dataclass(frozen=True)
class RuleInfo:
    """What there is to know about a code. The docstring of the rule's module is its page.

    `since` is the first release with the rule, `fixable` whether a repair is ever offered. A rule in `preview` is off
    until it is selected: its page says what it gets wrong. One that is `always` on can be ignored, but selecting
    others does not turn it off.
    """

    code: str
    name: str
    category: Category
    since: str
    fixable: bool
    preview: bool = field(default=False, kw_only=True)
    always: bool = field(default=False, kw_only=True)

    @property
    def severity(self) -> Severity:
        """Correctness rules report errors, the others warnings."""
        return Severity.ERROR if self.category is Category.CORRECTNESS else Severity.WARNING

    @property
    def on_by_default(self) -> bool:
        """Whether it reports without being selected."""
        return not self.preview and self.category is not Category.PEDANTIC

    def finding(
        self,
        path: str,
        place: tuple[int, int, int, int],
        message: str,
        fix: Fix | NoFix,
        *,
        function: str = "",
        steps: tuple[Step, ...] = (),
        assumptions: tuple[str, ...] = (),
        consequences: tuple[str, ...] = (),
    ) -> Finding:
        """What the rule found at `place`: line, column, end line and end column, all from 1, the last one exclusive."""
        line, column, end_line, end_column = place
        return Finding(
            code=self.code,
            name=self.name,
            category=self.category,
            severity=self.severity,
            path=path,
            line=line,
            column=column,
            end_line=end_line,
            end_column=end_column,
            function=function,
            message=message,
            steps=steps,
            assumptions=assumptions,
            consequences=consequences,
            fix=fix,
        )


@dataclass(frozen=True)
class Rule(RuleInfo, Generic[AnEvent]):
    """A rule about loaders: what it says about events of its `fact`.

    `matches` decides by the event, and by its LibCST nodes where the event alone does not tell. `message` is one line
    for the user, `consequence` another one, or "".
    """

    matches: Callable[[AnEvent], bool]
    message: Callable[[AnEvent], str]
    fact: Fact = Fact.RETAINED
    consequence: str = ""


def always(event: Event) -> bool:
    """Matches every event of the rule's fact."""
    return True


def held_in(event: Retention, kind: Holder) -> bool:
    """Whether it was kept in a holder of that kind, for certain, and in no way that another rule is for."""
    return event.holder_kind is kind and not (event.conditional or event.yielded or event.is_callers)


def one_line(text: str, limit: int = 60) -> str:
    """Source text for a message: on one line, cut in the middle of nothing that matters."""
    joined = " ".join(text.split())
    return joined if len(joined) <= limit else f"{joined[: limit - 1]}…"


def tensor_name(event: Retention) -> str:
    """The kept tensor as the user wrote it."""
    return one_line(event.tensor)
