"""What the guard reports: stale reads, and lent memory that is still held after its load."""

from __future__ import annotations

from dataclasses import dataclass, field

from .holder_names import Holder
from .lease import CODE, Lease
from .sites import Site, describe, show_place, source_line

HELD_CODE = "LOADERLINT-W201"
_NAMED_HOLDERS = 3


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


@dataclass(slots=True)
class HeldTensors:
    """Stale tensors that one holder still holds after the load of their stream, yielded at one place.

    `leases` are all of them, `holders` the ways to the first three; `size` counts their bytes, memory that
    several of them share once.
    """

    holder: Holder
    yielded: Site
    leases: dict[str, Lease] = field(default_factory=dict)
    holders: list[Holder] = field(default_factory=list)
    size: int = 0
    shown: bool = False

    def add(self, lease: Lease, holder: Holder, size: int) -> None:
        """Count one more tensor of the same holder."""
        self.leases[lease.token] = lease
        self.size += size
        if len(self.holders) < _NAMED_HOLDERS:
            self.holders.append(holder)

    def text(self) -> str:
        """Return the report for people, without a trailing newline."""
        lease, *others = self.leases.values()
        more = f" and {len(others)} more" if others else ""
        lines = [
            f"{HELD_CODE} held-after-load {lease.name} {lease.shape} {lease.dtype}{more}, {self.size} bytes, "
            f"via {lease.contract.producer} [{lease.contract.facts}]",
            *(f"  held by      {_shown(lease, holder)}" for lease, holder in self._named()),
        ]
        if len(self.leases) > len(self.holders):
            lines.append(f"               and {len(self.leases) - len(self.holders)} more in the same way")
        lines += [
            f"  yielded at   {describe(self.yielded)}",
            f"  borrowed     {lease.contract.reason}",
            f"  repair       {lease.contract.repair()}",
            f"  guard        {lease.guard}",
        ]
        return "\n".join(lines)

    def _named(self) -> list[tuple[Lease, Holder]]:
        return list(zip(self.leases.values(), self.holders))

    def fields(self) -> dict[str, object]:
        """Return the report for machines."""
        lease = next(iter(self.leases.values()))
        file, line, function = self.holder.place
        return {
            "kind": "held-after-load",
            "code": HELD_CODE,
            "tensor": lease.tensor_fields(),
            "producer": lease.contract.producer,
            "facts": lease.contract.facts,
            "reason": lease.contract.reason,
            "holder": {
                "kind": self.holder.what,
                "name": self.holder.name,
                "file": file,
                "line": line,
                "function": function,
            },
            "holders": [holder.name + holder.path for holder in self.holders],
            "yielded": places(self.yielded),
            "repair": lease.contract.repair(),
            "guard": lease.guard,
            "count": len(self.leases),
            "bytes": self.size,
            "text": self.text(),
        }


def _shown(lease: Lease, holder: Holder) -> str:
    where = f", {show_place(holder.place)}" if holder.place[0] else ""
    return f"{holder.name}{holder.path}: {holder.what}{where} ({lease.name})"
