"""Code that is long, deep or odd: analysed, or given up with one warning, and always soon."""

from __future__ import annotations

import sys
import time

import pytest

from loaderlint.rules.codes import INTERNAL_ERROR
from loaderlint.linter.engine import check_file
from loaderlint.linter.findings import Finding
from loaderlint.linter.reading.source import source_from_bytes

SECONDS = 4.0  # Twice what is promised, of this process alone, for a machine that is slow.

LOOP = """\
from collections.abc import Iterable
import torch

def load(self, weights: Iterable[tuple[str, torch.Tensor]]):
    kept = []
    for name, weight in weights:
        kept.append((name, weight))
{}
    self.load_all(kept)
"""


def check(code: str) -> list[Finding]:
    compile(code, "loader.py", "exec")
    started = time.process_time()
    findings = check_file(source_from_bytes("loader.py", code.encode()))
    assert time.process_time() - started < SECONDS
    return findings


def inside(*statements: str) -> str:
    """The loader with statements in its loop."""
    return LOOP.format(
        "\n".join(" " * 8 + line for statement in statements for line in statement.split("\n"))
    )


def is_analysed_or_given_up(code: str) -> bool:
    codes = {finding.code for finding in check(code)}
    return codes == {"LDR102"} or codes == {INTERNAL_ERROR}


def chain(keyword: str, count: int) -> str:
    rows = [
        f"{keyword if place else 'if'} name == '{place}':\n    self.note({place})" for place in range(count)
    ]
    return "\n".join(rows)


def nested_loops(count: int) -> str:
    return (
        "\n".join(f"{' ' * place}for i{place} in weight:" for place in range(count))
        + "\n"
        + " " * count
        + "pass"
    )


LONG = {
    "sum": "total = " + " + ".join(["name"] * 500),
    "sum of tensors": "total = " + " + ".join(["weight"] * 500),
    "elif": chain("elif", 300),
    "ifs": chain("if", 300),
    "and": "ok = " + " and ".join(f"name != '{place}'" for place in range(500)),
    "comparison": "ok = " + " < ".join(["name"] * 300),
    "conditional expressions": "x = " + " ".join(f"{i} if name == '{i}' else" for i in range(90)) + " 0",
    "string": "text = " + " ".join(["'a'"] * 500),
    "list": "many = [" + "weight, " * 2000 + "]",
    "dict": "many = {" + "".join(f"'{place}': weight, " for place in range(1000)) + "}",
    "statements": "\n".join(f"x{place} = weight" for place in range(500)),
    "arguments": "self.load(" + "weight, " * 500 + ")",
    "attributes": "x = self" + ".a" * 300,
    "chained methods": "x = weight" + ".t()" * 60,
    "subscripts": "x = weight" + "[0]" * 80,
    "targets": "x = " + " = ".join(f"y{place}" for place in range(200)) + " = weight",
    "string formatting": "x = f'" + "{name}" * 300 + "'",
}
DEEP = {
    "parentheses": "x = " + "(" * 80 + "weight" + ")" * 80,
    "calls": "x = " + "f(" * 80 + "weight" + ")" * 80,
    "lists": "x = " + "[" * 80 + "weight" + "]" * 80,
    "negations": "x = " + "not " * 80 + "name",
    "lambdas": "x = " + "lambda: " * 60 + "weight",
    "comprehension clauses": (
        "x = [a0 for a0 in weight" + "".join(f" for a{i} in a{i - 1}" for i in range(1, 15)) + "]"
    ),
    "ifs": "\n".join(f"{' ' * place}if name:" for place in range(40)) + "\n" + " " * 40 + "pass",
    "withs": "\n".join(f"{' ' * place}with self:" for place in range(18)) + "\n" + " " * 18 + "pass",
    "tries": (
        "\n".join(f"{' ' * place}try:" for place in range(12))
        + "\n" + " " * 12 + "pass\n"
        + "\n".join(f"{' ' * place}except ValueError:\n{' ' * place} pass" for place in reversed(range(12)))
    ),
    "loops": nested_loops(8),
    "functions": "".join(f"{' ' * place}def f{place}():\n" for place in range(30)) + " " * 30 + "pass",
}  # fmt: skip


@pytest.mark.parametrize("kind", LONG)
def test_long_code(kind: str) -> None:
    assert is_analysed_or_given_up(inside(LONG[kind]))


@pytest.mark.parametrize("kind", DEEP)
def test_deep_code(kind: str) -> None:
    assert is_analysed_or_given_up(inside(DEEP[kind]))


@pytest.mark.parametrize("count", [4, 12, 18])
def test_loops_in_loops_take_no_time_that_doubles_with_each(count: int) -> None:
    assert is_analysed_or_given_up(inside(nested_loops(count)))


@pytest.mark.parametrize("count", [4, 12, 18])
def test_tries_in_tries(count: int) -> None:
    rows = [f"{' ' * place}try:" for place in range(count)] + [" " * count + "x = weight"]
    rows += [f"{' ' * place}finally:\n{' ' * place} self.note(name)" for place in reversed(range(count))]
    assert is_analysed_or_given_up(inside("\n".join(rows)))


def test_many_functions_that_call_each_other() -> None:
    calls = "\n".join(
        f"def f{place}(store, name, weight):\n"
        + "".join(f"    f{other}(store, name, weight)\n" for other in range(9))
        + "    store.append(weight)\n"
        for place in range(9)
    )
    code = calls + "def load(self, weights):\n    kept = []\n    for name, weight in weights:\n"
    code += "        f0(kept, name, weight)\n    self.load_all(kept)\n"
    assert "LDR102" in {finding.code for finding in check(code)}


ODD = {
    "match": "match weight:\n    case [a, *rest] if (n := name):\n        self.f(a, rest)\n"
    "    case {'x': x, **more}:\n        self.f(x, more)\n    case Point(x=1) | None:\n        pass\n"
    "    case _ as other:\n        self.f(other)",
    "walrus": "if (n := len(name)) > 3 and (m := n):\n    self.f(m)",
    "lambda defaults": "f = lambda a, /, b=weight, *c, d=name, **e: (a, b, c, d, e)",
    "decorator": "@self.wrap(weight)\ndef f(a=weight, *b, **c):\n    return a",
    "class": "class Inner(Base, metaclass=type(weight)):\n    x = weight\n    def f(self):\n        pass",
    "starred": "a, *b = name, *weight\n[*c] = b\nself.f(*b, **dict(x=1))",
    "swap": "a, b = weight, name\na, b = b, a\n(a, b), c = (b, a), 1",
    "delete": "x = weight\ndel x, self.y, self.z[0]",
    "assert": "assert weight is not None, f'{name!r:>{len(name)}}'",
    "raise": "if name:\n    pass\nelse:\n    raise ValueError(weight) from None",
    "try star": "try:\n    pass\nexcept* ValueError as error:\n    self.f(error)",
    "slices": "x = weight[1:2, ..., None, ::2]\nweight[0:1] += 1\nx[:, 0] = name",
    "ellipsis": "...\nx: int\ny: 'list' = 3",
    "numbers": "x = 1_000 + 0x10 + 1j + 1e5 - ~3 @ 2 ** -1 // 3 % 4 << 1 >> 1 & 1 ^ 1 | 1",
    "comprehensions": "x = {a: b for a in name for b in weight if a}\ny = {a for a in x}\nz = (a for a in y)",
    "while else": "while name:\n    break\nelse:\n    self.f()",
    "semicolons": "x = weight; y = x; self.f(y); pass",
    "one line": "if name: x = weight\nelse: x = None",
    "global": "global shared\nshared = name",
    "import": "import os.path as p, sys\nfrom . import thing as other\nfrom .. import thing",
    "recursion": "def f(x):\n    return f(x)\nf(weight)",
    "own list": "x = []\nx.append(x)\nx.append(weight)\nself.f(x)",
    "own dict": "x = {}\nx['me'] = x\nx['w'] = weight\nself.f(x)",
    "own tuple": "t = ()\nfor _ in range(9):\n    t = (t, weight)",
    "generator that is made and dropped": "(w for w in weight)",
    "unknown names": "undefined(weight)\nundefined.method(weight)[0].other = undefined",
    "continuation": "x = weight \\\n    .t()",
    "unicode": "größe = weight\nself.f(größe)",
}  # fmt: skip
if sys.version_info < (3, 11):
    del ODD["try star"]


@pytest.mark.parametrize("kind", ODD)
def test_odd_code_is_analysed(kind: str) -> None:
    codes = [finding.code for finding in check(inside(ODD[kind])) if finding.line == 7]
    assert codes == ["LDR102"]


ODD_FUNCTIONS = {
    "empty": "def load(weights: Stream): ...",
    "docstring": 'def load(weights: Stream):\n    """Nothing."""',
    "only a return": "def load(weights: Stream): return",
    "async": "async def load(weights: Stream):\n    async for n, w in weights:\n        await f(w)",
    "positional only": "def load(weights: Stream, /, *, x=1, **k):\n    f(weights)",
    "decorated": "@a\n@b(1)\n@c.d\ndef load(weights: Stream):\n    f(weights)",
    "property": "class A:\n    @property\n    def x(self, weights: Stream):\n        return 1",
    "in a class in a function": (
        "def f():\n    class A:\n        def load(self, weights: Stream):\n            g(weights)"
    ),
    "in a condition": "if x:\n    def load(weights: Stream):\n        f(weights)\nelse:\n    load = None",
    "twice": "def load(weights: Stream):\n    f(weights)\ndef load(weights):\n    g(weights)",
    "tabs": "class A:\n\tdef load(self, weights: Stream):\n\t\tf(weights)",
    "one line loop": "def load(weights: Stream):\n    for n, w in weights: f(w)",
}


@pytest.mark.parametrize("kind", ODD_FUNCTIONS)
def test_odd_functions_are_clean(kind: str) -> None:
    head = "from collections.abc import Iterable\nimport torch\nStream = Iterable[tuple[str, torch.Tensor]]\n"
    assert check(head + ODD_FUNCTIONS[kind] + "\n") == []


@pytest.mark.skipif(sys.version_info < (3, 12), reason="type parameters are newer than this Python")
def test_type_parameters() -> None:
    code = "def load[T](weights: Iterable[tuple[str, Tensor]], x: T):\n    return [w for n, w in weights]\n"
    assert [finding.code for finding in check(code)] == ["LDR101"]


def test_a_function_that_is_given_up_costs_the_others_nothing() -> None:
    deep = "x = " + "-" * 900 + "weight"
    code = (
        inside(deep) + "\n\ndef second(weights):\n    for name, weight in list(weights):\n        f(weight)\n"
    )
    found = [(finding.code, finding.function) for finding in check(code)]
    assert ("LDR101", "second") in found
    assert {code for code, function in found if function == "load"} <= {"LDR102", INTERNAL_ERROR}
