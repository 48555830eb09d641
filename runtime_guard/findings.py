"""What the guard reports: one stale read, or rather all of them at one place."""

from __future__ import annotations

from dataclasses import dataclass

from .lease import CODE, Lease
from .sites import Site, describe, source_line


def places(site: Site) -> list[dict[str, object]]:
    """Return a site for machines, the innermost user frame first."""
    return [
        {"file": file, "line": line, "function": function, "source": source_line((file, line, function))}
        for file, line, function in site
    ]


@dataclass(slots=True)
class StaleRead:
    """All stale reads at one place of tensors yielded at one place; `lease` is the first of them.

    `shown` says whether a person has seen it: as the message of an error, or as a warning.
    """

    lease: Lease
    read: Site
    count: int = 0
    shown: bool = False

    @property
    def key(self) -> tuple[object, ...]:
        """What makes two stale reads one report."""
        return self.read, self.lease.yielded

    def text(self) -> str:
        """Return the report for people, without a trailing newline."""
        message = self.lease.message(describe(self.read))
        return message if self.count < 2 else f"{message}\n  count        {self.count} stale reads here"

    def fields(self) -> dict[str, object]:
        """Return the report for machines."""
        lease, contract = self.lease, self.lease.contract
        return {
            "kind": "stale-read",
            "code": CODE,
            "tensor": lease.tensor_fields(),
            "producer": contract.producer,
            "facts": contract.facts,
            "reason": contract.reason,
            "read": places(self.read),
            "advanced": places(lease.advanced),
            "yielded": places(lease.yielded),
            "repair": contract.repair(),
            "guard": lease.guard,
            "count": self.count,
            "text": lease.message(describe(self.read)),
        }
