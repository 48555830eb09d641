"""Lines that a repair made too long are broken as formatters would; all others stay as they were written."""

from __future__ import annotations

import pytest
from loaderlint.linter.wrapping import wrapped

COPY = 'weight.detach().to("cpu", copy=True)'

# What stands on one line, and how it is laid out at 60 columns, where black and ruff agree.
BROKEN = {
    "the last bracket of an assignment": (
        f"self.kept[name_of_one] = {COPY}\n",
        'self.kept[name_of_one] = weight.detach().to(\n    "cpu", copy=True\n)\n',
    ),
    "the argument of a call": (
        f"pending_weights.append((name, {COPY}))\n",
        f"pending_weights.append(\n    (name, {COPY})\n)\n",
    ),
    "part by part, where the argument is too long as well": (
        f"pending_weights.append((name.removeprefix(prefix), {COPY}))\n",
        f"pending_weights.append(\n    (\n        name.removeprefix(prefix),\n        {COPY},\n    )\n)\n",
    ),
    "a comprehension in front of its loop": (
        f"kept = [(name, {COPY}) for name, weight in weights]\n",
        f"kept = [\n    (name, {COPY})\n    for name, weight in weights\n]\n",
    ),
    "a dict comprehension": (
        "kept = {name: weight.clone() for name, weight in the_weights}\n",
        "kept = {\n    name: weight.clone() for name, weight in the_weights\n}\n",
    ),
    "parentheses around what ends with nothing in its brackets": (
        'entry["weight" if is_weight else "scale"] = the_tensor.clone()\n',
        'entry["weight" if is_weight else "scale"] = (\n    the_tensor.clone()\n)\n',
    ),
    "parentheses around a condition": (
        "if name in self.params and weight.dtype != self.params[name].dtype:\n    pass\n",
        "if (\n    name in self.params\n    and weight.dtype != self.params[name].dtype\n):\n    pass\n",
    ),
    "a tuple that is yielded": (
        'yield name.removeprefix("language_model."), weight.to(the_device)\n',
        'yield (\n    name.removeprefix("language_model."),\n    weight.to(the_device),\n)\n',
    ),
    "an argument on a line of its own": (
        f"keep(\n    name_of_the_weight,\n    the_{COPY}.contiguous(self.layout),\n)\n",
        f"keep(\n    name_of_the_weight,\n    the_{COPY}.contiguous(\n        self.layout\n    ),\n)\n",
    ),
    "with tabs": (
        f"if name:\n\tself.kept[name_of] = {COPY}\n",
        'if name:\n\tself.kept[name_of] = weight.detach().to(\n\t\t"cpu", copy=True\n\t)\n',
    ),
    "with the line ends that the file has": (
        f"pending_weights.append((name, {COPY}))\r\n",
        f"pending_weights.append(\r\n    (name, {COPY})\r\n)\r\n",
    ),
}

UNBROKEN = {
    "a comment on the line": f"self.kept[name_of_the_weight] = {COPY}  # waits\n",
    "a string of several lines": f'keep("""a\nb""", {COPY}, name, and_more_of_this)\n',
    "two statements on a line": f"self.kept[name] = {COPY}; self.names.append(name)\n",
    "a continued line": f"x = \\\n    self.kept[name_of_the_weight], {COPY}, weight\n",
    "a default of a parameter": "def load(self, weights, prefix_of_all_names='model.', more=('a', 'b')):\n    pass\n",
    "a body on the line of its head": f"if name: self.kept[name_of_the_weight] = {COPY}\n",
}


@pytest.mark.parametrize("line, expected", BROKEN.values(), ids=BROKEN.keys())
def test_a_new_line_that_is_too_long_is_broken(line: str, expected: str) -> None:
    assert wrapped("", line, 60) == expected
    assert wrapped("", expected, 60) == expected


@pytest.mark.parametrize("line", UNBROKEN.values(), ids=UNBROKEN.keys())
def test_what_cannot_be_broken_stays(line: str) -> None:
    assert wrapped("", line, 60) == line


def test_lines_that_were_there_before_stay() -> None:
    old = f"pending_weights.append((name, {COPY}))\n"
    short = "pending.append(name)\n"
    assert wrapped(old + short, old + "other.append(name)\n", 60) == old + "other.append(name)\n"


def test_a_file_of_long_lines_may_have_lines_as_long_as_its_own() -> None:
    old = f"pending_weights_of_all.append((name, {COPY}))\n"
    fits = f"pending_weights.append((name, {COPY}))\n"
    assert wrapped(old, old + fits, 60) == old + fits
    comment = "# A comment is no code that could have been broken, so it does not count here.\n"
    assert wrapped(comment, comment + fits, 60) != comment + fits


def test_a_block_does_not_begin_with_a_blank_line_that_was_behind_a_statement() -> None:
    old = "def load(self, weights):\n    weights = list(weights)\n\n    self.load_all(weights)\n"
    expected = "def load(self, weights):\n    self.load_all(weights)\n"
    assert wrapped(old, "def load(self, weights):\n\n    self.load_all(weights)\n", 60) == expected


def test_a_block_that_begins_with_a_blank_line_of_its_own_keeps_it() -> None:
    old = "def load(self, weights):\n\n    self.load_all(list(weights))\n"
    new = "def load(self, weights):\n\n    self.load_all(weights)\n"
    assert wrapped(old, new, 60) == new


def test_of_two_blank_lines_that_meet_within_a_function_one_goes() -> None:
    old = "def load(self, weights):\n    a = 1\n\n    kept = []\n\n    self.load_all(weights)\n"
    met = "def load(self, weights):\n    a = 1\n\n\n    self.load_all(weights)\n"
    assert wrapped(old, met, 60) == "def load(self, weights):\n    a = 1\n\n    self.load_all(weights)\n"
    assert wrapped(met, met, 60) == met
