"""What files offer to those that import them: functions that hand out streams, types of streams, base classes.

Where one is met decides only what is looked at more closely, so last names are exact enough.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Set

# The door of everything: who imports all names of one module may get those of another.
ANY = "*"
# Where the header of a class with bases, or of a function, ends.
_HEADER_END = re.compile(rb"\)\s*(?::|->)")
_CLASS = re.compile(rb"\bclass\b")
# "%s as other", in an import without comments.
_RENAMED = rb"(?<!\w)%s[\s\\]+as[\s\\]+([^\s,;)]+)"
_COMMENT = re.compile(rb"#[^\n]*")


class Offers:
    """Names by their door: the imported name, class or module through which another file gets at them."""

    def __init__(self) -> None:
        self._by_door: dict[str, set[str]] = {}
        # Those that count wherever a file mentions them; the others are bases, see `add_base`.
        self._mentioned: set[str] = set()

    def copy(self) -> Offers:
        """Independent ones with the same names."""
        other = Offers()
        other._by_door = {door: set(names) for door, names in self._by_door.items()}
        other._mentioned = set(self._mentioned)
        return other

    def add(self, name: str, *doors: str) -> bool:
        """Note that `name` is reached through each of `doors`; whether that is new."""
        self._mentioned.add(name)
        return self._add(name, *doors)

    def add_base(self, name: str, *doors: str) -> None:
        """Note a class that matters only to those that derive from it."""
        self._add(name, *doors)

    def _add(self, name: str, *doors: str) -> bool:
        new = False
        for door in (*doors, ANY):
            names = self._by_door.setdefault(door, set())
            new = new or name not in names
            names.add(name)
        return new

    def through(self, doors: Iterable[str]) -> set[str]:
        """All names behind these doors."""
        return set[str]().union(*(self._by_door[door] for door in doors if door in self._by_door))

    def offers(self, name: str) -> bool:
        """Whether `name` is imported itself."""
        return name in self._by_door.get(name, ())

    def leads_from(self, doors: Set[str]) -> bool:
        """Whether any of `doors` leads to something."""
        return not doors.isdisjoint(self._by_door)

    def used_in(self, data: bytes, doors: Set[str]) -> bool:
        """Whether a file with these imports mentions a name that they lead to, or derives from a class of that name."""
        present = (name for name in self.through(doors & self._by_door.keys()) if name.encode() in data)
        return any(name in self._mentioned or _derives_from(name, data) for name in present)


def _derives_from(name: str, data: bytes) -> bool:
    """Whether a class seems to have another one, of that name or imported with it, among its bases."""
    known = re.escape(name.encode())
    code = _COMMENT.sub(b"", data)
    names = b"|".join([known, *map(re.escape, re.findall(_RENAMED % known, code))])
    # Not "\b", which in bytes ends no name that is not ASCII.
    base = re.compile(rb"(?<!\w)(?:%s)(?!\w)" % names)
    return any(base.search(header) for header in _class_headers(data))


def _class_headers(data: bytes) -> Iterator[bytes]:
    """The headers of the file's classes; where one has no bases, all up to the next header, or one of a function."""
    *headers, _ = _HEADER_END.split(data)
    found = ((header, _CLASS.search(header)) for header in headers)
    return (header[match.end() :] for header, match in found if match is not None)
