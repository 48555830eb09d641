"""What the sieve lets through, and how often it looks."""

from __future__ import annotations

from pathlib import Path

import pytest

from loaderlint.linter.engine import check_paths
from loaderlint.linter.reading.offers import Offers
from loaderlint.linter.reading.sieve import Sieve
from loaderlint.linter.settings import Settings

_LOOP = "\n    for name, weight in weights:\n        self.load(name, weight)\n"


@pytest.mark.parametrize(
    "header",
    [
        "def load_weights(self, weights):",
        "def load_weights(self, weights) -> set[str]:",
        "def load_weights(\n    self,\n    # option = 1,  # was 2\n    # see the notes\n    weights,  # all of them\n):",
        "def load_weights(self, path=(1, 2), weights=None):",
        "def load_weights(self, weights: Iterable, other: int = 0):",
        "def load_weights(self, names: list[str], weights: 'typing.Iterator', /):",
        "async def load_weights(self, weights: AsyncIterator):",
    ],
)
def test_a_parameter_that_is_used_like_weights_passes(header: str) -> None:
    assert Sieve(Settings().contracts).may_handle_weights((header + _LOOP).encode())


@pytest.mark.parametrize(
    "text",
    [
        "weights = [1, 2]\nfor weight in weights:\n    print(weight)\n",
        "def load(path):" + _LOOP,
        "def load(weights: list[int]):" + _LOOP,
        "call(weights)" + _LOOP,
        "def load(path):  # , weights)" + _LOOP,
    ],
)
def test_what_is_no_parameter_does_not(text: str) -> None:
    assert not Sieve(Settings().contracts).may_handle_weights(text.encode())


@pytest.mark.parametrize(
    "given",
    ["Pair = tuple[str, Tensor]", "    Pair: TypeAlias = tuple[str, Tensor]", "type Pair[T] = tuple[str, Tensor]"],
)
def test_items_whose_name_the_file_gives_pass(given: str) -> None:
    sieve = Sieve(Settings().contracts)
    rest = "\ndef load(pairs: Iterable[Pair]):  # tuple[str, Tensor]\n    pass\n"
    assert sieve.may_handle_weights((given + rest).encode())
    assert not sieve.may_handle_weights(rest.encode())


def test_an_imported_file_is_looked_at_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    names = [f"name_{number}" for number in range(60)]
    (tmp_path / "plain.py").write_text("".join(f"{name} = 1\n" for name in names))
    loader = f"from plain import {', '.join(names)}\n\n\ndef load_weights(self, weights):{_LOOP}"
    (tmp_path / "loader.py").write_text(loader)
    looked: list[bytes] = []
    look = Sieve.may_handle_weights
    monkeypatch.setattr(Sieve, "may_handle_weights", lambda self, data: looked.append(data) or look(self, data))
    monkeypatch.chdir(tmp_path)
    check_paths(["loader.py"])
    assert len([data for data in looked if b"name_59 = 1" in data]) == 1


@pytest.mark.parametrize(
    ("text", "derives"),
    [
        ("class Model(Base):\n    pass\n", True),
        ("class Model(\n    # the first\n    Base,\n):\n    pass\n", True),
        ("from engine import Base as Other  # renamed\n\nclass Model(Other):\n    pass\n", True),
        ("from engine import (\n    Base  # renamed\n    as Other\n)\n\nclass Model(Other):\n    pass\n", True),
        ("class Plain:\n    pass\n\n\ndef make(kind: Base):\n    pass\n", True),  # Near enough.
        ("def make(kind: Base):\n    pass\n", False),
        ("class Model(Basement):\n    name = Base\n", False),
    ],
)
def test_who_derives_from_a_class(text: str, derives: bool) -> None:
    offers = Offers()
    offers.add_base("Base", "engine")
    assert offers.used_in(text.encode(), {"engine"}) == derives
