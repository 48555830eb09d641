"""A project's own contracts in pyproject.toml, on real files; docs/contracts.md names what the code knows."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Callable
from pathlib import Path

import pytest
from conftest import Run

from loaderlint.linter.contracts import EFFECTS, OPERATIONS, load_contracts
from loaderlint.linter.engine import check_paths
from loaderlint.linter.producers import LEASES, Producer
from loaderlint.linter.settings import load_settings

GUIDE = (Path(__file__).parents[2] / "docs" / "contracts.md").read_text("utf-8")
Lint = Callable[[str, str], list[tuple[int, str]]]


@pytest.fixture
def lint(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Lint:
    """(pyproject.toml, load.py) -> (line, code) of the findings when the whole folder is checked."""
    monkeypatch.chdir(tmp_path)

    def run(contracts: str, code: str) -> list[tuple[int, str]]:
        Path("pyproject.toml").write_text(contracts)
        Path("load.py").write_text(code)
        report = check_paths(["."], load_settings(tmp_path))
        assert report.errors == []
        return [(one.line, one.code) for one in report.findings]

    return run


def table(name: str, entries: str) -> str:
    return f"[tool.loaderlint.contracts.{name}]\n{entries}\n"


def producer(entries: str) -> str:
    return f"[[tool.loaderlint.contracts.producer]]\n{entries}\n"


# Producers: nothing in these files but the call says that they handle a stream.

FROM_FUNCTION = """\
from fastdisk import open_shards


def load(model, files):
    for name, item in open_shards(files):
        model.last = item
"""


@pytest.mark.parametrize(
    ("imported", "called"),
    [
        ("from fastdisk import open_shards", "open_shards"),
        ("import fastdisk", "fastdisk.open_shards"),
        ("import fastdisk as fd", "fd.open_shards"),
        ("from fastdisk import open_shards as read", "read"),
    ],
)
def test_a_function_that_makes_a_stream(lint: Lint, imported: str, called: str) -> None:
    code = FROM_FUNCTION.replace("in open_shards", f"in {called}").replace(
        "from fastdisk import open_shards", imported
    )
    assert lint("", code) == []
    assert lint(producer("calls = ['fastdisk.open_shards']"), code) == [(6, "LDR104")]


@pytest.mark.parametrize(
    "code",
    [
        FROM_FUNCTION.replace("fastdisk", "slowdisk"),
        FROM_FUNCTION.replace("open_shards(files)", "open_shards.of(files)"),
        FROM_FUNCTION.replace("model.last = item", "model.last = name"),
        FROM_FUNCTION.replace("model.last = item", "model.last = item.clone()"),
    ],
)
def test_what_is_not_that_function_or_keeps_nothing_stays_silent(lint: Lint, code: str) -> None:
    assert lint(producer("calls = ['fastdisk.open_shards']"), code) == []


FROM_METHOD = """\
from fastdisk import Reader


def load(model, files):
    reader = Reader(files)
    reader.open(borrow=True)
    for name, item in reader.items(borrow=True):
        model.last = item
"""


@pytest.mark.parametrize(
    ("flag", "where", "found"),
    [
        ("lends_if_true = 'borrow'", "constructor", True),
        ("lends_if_true = 'borrow'", "earlier call", True),
        ("lends_if_true = 'borrow'", "call", True),
        ("lends_if_true = 'borrow'", "", False),
        ("lends_if_true = 'borrow'", "False", False),
        ("lends_if_false = 'copy'", "", True),
        ("lends_if_false = 'borrow'", "call", False),
        ("lends_if_false = 'borrow'", "False", True),
        ("", "", True),
    ],
)
def test_a_method_that_makes_a_stream_and_the_flag_that_decides(
    lint: Lint, flag: str, where: str, found: bool
) -> None:
    code = FROM_METHOD.replace("borrow=True", "")
    if where == "constructor":
        code = code.replace("Reader(files)", "Reader(files, borrow=True)")
    elif where == "earlier call":
        code = code.replace("open()", "open(borrow=True)")
    elif where:
        code = code.replace("items()", "items(borrow=False)" if where == "False" else "items(borrow=True)")
    expected = [(8, "LDR104")] if found else []
    assert lint(producer(f"calls = ['fastdisk.Reader.items']\n{flag}"), code) == expected


def test_a_producer_of_the_project_itself(tmp_path: Path, loaderlint: Run) -> None:
    package = tmp_path / "engine"
    package.mkdir()
    (package / "__init__.py").write_text("")
    (package / "disk.py").write_text("def shards(files):\n    raise OSError\n")
    code = FROM_FUNCTION.replace("fastdisk", ".disk").replace("open_shards", "shards")
    (package / "load.py").write_text(code)
    assert loaderlint(".").returncode == 0
    contract = producer("calls = ['engine.disk.shards']\nlabel = 'the shard reader'")
    (tmp_path / "pyproject.toml").write_text(contract)
    done = loaderlint(".")
    assert done.stdout.startswith("engine/load.py:6:9 LDR104")
    assert "the shard reader" in next(line for line in done.stdout.splitlines() if "corrupts with" in line)


@pytest.mark.parametrize(
    ("entries", "said"),
    [
        ("package = 'fastdisk'", " fastdisk,"),
        ("package = 'fastdisk'\nlends_if_true = 'borrow'", " fastdisk with borrow=True,"),
        ("package = 'fastdisk'\nlends_if_false = 'copy'", " fastdisk unless copy=True,"),
        ("label = 'Fast Disk'\nlends_if_true = 'borrow'", " Fast Disk with borrow=True,"),
        ("package = 'fastdisk'\nlending_versions = ['1.0']\nlends_below = '2.0'", " fastdisk < 2.0,"),
    ],
)
def test_the_report_says_when_a_producer_lends(
    loader: Path, loaderlint: Run, entries: str, said: str
) -> None:
    (loader.parent / "pyproject.toml").write_text(producer(f"calls = ['fastdisk.open']\n{entries}"))
    corrupts = next(line for line in loaderlint("loader.py").stdout.splitlines() if "corrupts with" in line)
    assert said in corrupts + ","


def test_the_report_names_the_producer_alone_where_the_code_tells_it(tmp_path: Path, loaderlint: Run) -> None:
    (tmp_path / "loader.py").write_text(
        textwrap.dedent("""\
        from collections.abc import Iterable

        import torch
        from runai_model_streamer import SafetensorsStreamer


        def read(model, files):
            with SafetensorsStreamer() as streamer:
                streamer.stream_files(files, owned=False)
                kept = dict(streamer.get_tensors())
                model.load_state_dict(kept)


        def load(model, weights: Iterable[tuple[str, torch.Tensor]]):
            kept = dict(weights)
            model.load_state_dict(kept)


        def read_and_load(model, files):
            with SafetensorsStreamer() as streamer:
                streamer.stream_files(files, owned=False)
                load(model, streamer.get_tensors())
        """)
    )
    lines = loaderlint("loader.py").stdout.splitlines()
    known, several = [line for line in lines if "corrupts with" in line]
    assert known.startswith("  corrupts with: runai-model-streamer ") and "," not in known
    assert "runai-model-streamer" in several and "instanttensor" in several


@pytest.mark.parametrize(
    ("pin", "found"), [("fastdisk>=2", False), ("fastdisk>=1.2", True), ("fastdisk<1", False)]
)
def test_a_pin_decides_about_a_producer_with_versions(lint: Lint, pin: str, found: bool) -> None:
    entries = "calls = ['fastdisk.open_shards']\npackage = 'fastdisk'\n"
    entries += "lending_versions = ['1.0', '1.5']\nlends_below = '2.0'"
    metadata = f"[project]\nname = 'x'\nversion = '1'\ndependencies = ['{pin}']\n"
    assert bool(lint(metadata + producer(entries), FROM_FUNCTION)) is found


# What happens to a tensor: this loader is clean or not, by what the library does with it.

HAZARD = ("LDR301", None)
LOADER = """\
from collections.abc import Iterable

import torch
from engine import ops


def load_weights(registry, weights: Iterable[tuple[str, torch.Tensor]]):
    kept = {}
    for name, weight in weights:
        {step}
    return kept
"""


@pytest.mark.parametrize(
    ("contracts", "step", "with_it", "without"),
    [
        # Keepers: a method on anything, and a function.
        (table("methods", "keep = ['enlist']"), "registry.enlist(name, weight)", "LDR109", None),
        (table("methods", "keep = ['enlist']"), "registry.enlist(name, weight.clone())", None, None),
        (table("methods", "keep = ['enlist']"), "registry.enlist(name, weight.shape)", None, None),
        (table("methods", "keep = ['enlist']"), "registry.register(name, weight)", None, None),
        (table("functions", "keep = ['engine.ops.remember']"), "ops.remember(weight)", "LDR109", None),
        # Copies and views; a function that nobody knows gives back memory of its own.
        (table("functions", "copy = ['engine.ops.own']"), "kept[name] = ops.own(weight)", None, None),
        (table("functions", "view = ['engine.ops.part']"), "kept[name] = ops.part(weight)", "LDR103", None),
        (table("functions", "view = ['engine.ops.part']"), "kept[name] = ops.part(weight) + 1", None, None),
        (table("functions", "conditional_copy = ['engine.ops.t']"), "kept[0] = ops.t(weight)", *HAZARD),
        (table("tensor_methods", "copy = ['to']"), "kept[name] = weight.to('cpu')", None, "LDR301"),
        (table("tensor_methods", "copy = ['owned']"), "kept[name] = weight.owned()", "LDR305", None),
        (table("tensor_methods", "view = ['part']"), "kept[name] = weight.part(0)", "LDR103", None),
        (table("tensor_methods", "conditional_copy = ['on']"), "kept[name] = weight.on(0)", "LDR301", None),
        (table("tensor_methods", "metadata = ['layout_of']"), "kept[name] = weight.layout_of()", None, None),
        (table("tensor_attributes", "view = ['raw']"), "kept[name] = weight.raw", "LDR103", None),
        (table("copy_if_true", "to = 'own'"), "kept[name] = weight.to('cpu', own=True)", None, "LDR301"),
        (table("copy_if_true", "to = 'own'"), "kept[name] = weight.to('cpu', own=False)", "LDR301", "LDR301"),
        # Parameters.
        (table("functions", "parameter = ['engine.ops.P']"), "registry.head = ops.P(weight)", "LDR303", None),
        (
            table("functions", "parameter = ['engine.ops.P']"),
            "registry.head.copy_(ops.P(weight))",
            None,
            None,
        ),
        (
            table("functions", "adopt = ['engine.ops.swap']"),
            "ops.swap(registry.head, weight)",
            "LDR303",
            None,
        ),
        (table("methods", "adopt = ['give']"), "registry.give(weight)", "LDR303", None),
        (table("attributes", "adopt = ['memory']"), "registry.head.memory = weight", "LDR303", "LDR104"),
        (
            table("adopt_if_true", "load = 'share'"),
            "registry.load({name: weight}, share=True)",
            "LDR303",
            None,
        ),
        (table("adopt_if_true", "load = 'share'"), "registry.load({name: weight}, share=False)", None, None),
        # Other threads.
        (table("functions", "submit = ['engine.ops.later']"), "ops.later(print, weight)", "LDR201", None),
        (table("methods", "submit = ['enqueue']"), "registry.enqueue(print, weight)", "LDR201", None),
        (table("functions", "capture = ['engine.ops.bind']"), "kept[0] = ops.bind(weight)", "LDR106", None),
    ],
)
def test_what_a_function_or_method_does_with_a_tensor(
    lint: Lint, contracts: str, step: str, with_it: str | None, without: str | None
) -> None:
    code = LOADER.replace("{step}", step)
    assert lint("", code) == ([(10, without)] if without else [])
    assert lint(contracts, code) == ([(10, with_it)] if with_it else [])


@pytest.mark.parametrize(
    ("contracts", "source", "found"),
    [
        (table("eager", "'engine.ops.collect' = 'list'"), "ops.collect(weights)", True),
        (table("lazy", "'engine.ops.progress' = 'same'"), "ops.progress(weights)", False),
        (table("lazy", "'engine.ops.progress' = 'same'"), "list(ops.progress(weights))", True),
        (table("lazy_methods", "renamed = 'same'"), "registry.renamed(weights)", False),
        (table("lazy_methods", "renamed = 'same'"), "list(registry.renamed(weights))", True),
    ],
)
def test_what_a_function_does_with_a_stream(lint: Lint, contracts: str, source: str, found: bool) -> None:
    code = LOADER.replace("in weights:", f"in {source}:").replace("{step}", "registry.load(name, weight)")
    assert lint(contracts, code) == ([(9, "LDR101")] if found else [])


def test_a_projects_contract_goes_before_what_its_code_says(tmp_path: Path, loaderlint: Run) -> None:
    (tmp_path / "ops.py").write_text("def own(tensor):\n    return tensor.view(-1)\n")
    (tmp_path / "load.py").write_text(LOADER.replace("engine import ops", "ops import own").replace(
        "{step}", "kept[name] = own(weight)"
    ))  # fmt: skip
    assert "load.py:10:9 LDR103" in loaderlint(".").stdout
    (tmp_path / "pyproject.toml").write_text(table("functions", "copy = ['ops.own']"))
    assert loaderlint(".").returncode == 0


WEIGHT_LOADER = """\
class Layer:
    def __init__(self, tensor):
        tensor.my_loader = self.take

    def take(self, slot, part):
        self.parts.append(part)
"""


def test_another_projects_weight_loaders(lint: Lint) -> None:
    assert lint("", WEIGHT_LOADER) == []
    own = "attributes = ['my_loader']\nparameters = ['slot', 'part']\ntensors = ['part']"
    assert lint(table("weight_loader", own), WEIGHT_LOADER) == [(6, "LDR102")]


def test_a_projects_weight_loader_attribute_is_one_more(lint: Lint) -> None:
    code = "def install(p, kept):\n    def take(p, t):\n        kept.append(t)\n    p.{} = take\n"
    own = table("weight_loader", "attributes = ['my_loader']")
    for attribute in ("weight_loader", "my_loader"):
        assert lint(own, code.format(attribute)) == [(3, "LDR102")]
    assert lint(own, code.format("other")) == []


# The guide


def documented(heading: str) -> set[str]:
    """The names in the first column of the table under a heading of the guide."""
    section = re.search(rf"^#+ {re.escape(heading)}\n(.*?)(?=^#|\Z)", GUIDE, re.M | re.S)
    assert section, f"docs/contracts.md has no section {heading}"
    return set(re.findall(r"^\| `([\w-]+)` ", section[1], re.M))


@pytest.mark.parametrize("name", EFFECTS)
def test_the_guide_names_the_effects_of_a_table(name: str) -> None:
    assert documented(f"`[{name}]`") == EFFECTS[name]


@pytest.mark.parametrize("name", [name for name in OPERATIONS if OPERATIONS[name]])
def test_the_guide_names_the_operations_of_a_table(name: str) -> None:
    assert documented(f"`[{name}]`") == OPERATIONS[name]


def test_the_guide_names_every_table_and_no_other() -> None:
    headings = set(re.findall(r"^### `\[+(\w+)\]+`$", GUIDE, re.M))
    assert headings == {*EFFECTS, *OPERATIONS, "producer", "weight_loader"}
    assert documented("`[[producer]]`") == set(Producer.__dataclass_fields__)
    assert documented("`[weight_loader]`") == {
        "attributes",
        "parameters",
        "tensors",
        "results",
        "after",
        "small",
    }
    assert documented("Leases") == set(LEASES)


def test_the_settings_of_the_guide_are_right(tmp_path: Path) -> None:
    examples = re.findall(r"^```toml\n(.*?)^```$", GUIDE, re.M | re.S)
    assert len(examples) >= len(EFFECTS) + len(OPERATIONS)
    for text in examples:
        assert "[tool.loaderlint" in text or "[project]" in text
        (tmp_path / "pyproject.toml").write_text(text)
        load_settings(tmp_path)  # Raises for what is wrong.


def test_the_guide_shows_the_message_for_a_wrong_entry(tmp_path: Path, loaderlint: Run) -> None:
    (tmp_path / "pyproject.toml").write_text("\n" * 7 + table("methods", "keeps = ['enlist']"))
    (shown,) = re.findall(r"^/src/engine/(pyproject\.toml:9: .*)$", GUIDE, re.M)
    done = loaderlint(".")
    assert (done.returncode, done.stderr) == (2, f"{tmp_path / shown}\n")


EXAMPLES = re.findall(r"^```toml\n((?:(?!```).)*?)^```\n\n```python\n(.*?)^```$", GUIDE, re.M | re.S)


@pytest.mark.parametrize(
    ("settings", "code"), EXAMPLES, ids=[settings.splitlines()[0] for settings, _ in EXAMPLES]
)
def test_the_code_of_the_guide_is_judged_as_it_says(lint: Lint, settings: str, code: str) -> None:
    lines = enumerate(code.splitlines(), 1)
    expected = [(number, found[1]) for number, line in lines if (found := re.search(r"# (LDR\d+)$", line))]
    assert expected
    assert lint(settings, code) == expected
    assert lint("", code) != expected  # Without the contract, nobody could know.


def shipped_row(producer: Producer) -> str:
    """A producer as a row of the guide's table."""
    call = producer.calls[0]
    lease = producer.lease + (f", handed to `{producer.callback}`" if producer.callback else "")
    lends = (
        f"< {producer.lends_below}"
        if producer.lends_below
        else "never"
        if not producer.may_lend
        else "always"
    )
    for flag, value in ((producer.lends_if_false, False), (producer.lends_if_true, True)):
        if flag:
            lends = f"{lends} or `{flag}={value}`" if producer.lends_below else f"with `{flag}={value}`"
    if producer.passes_on:
        source = producer.passes_on.partition(".")[0]
        lends = f"{lends}, where `{source}` does" if producer.lends_below else f"where `{source}` does"
    return f"| `{call}` | {producer.package or producer.label} | {lease} | {lends} | {producer.otherwise} |"


def test_the_guide_lists_every_shipped_producer() -> None:
    section = re.search(r"^## Shipped producers\n(.*?)(?=^## |\Z)", GUIDE, re.M | re.S)
    assert section
    rows = [line for line in section[1].splitlines() if line.startswith("| `")]
    assert rows == [shipped_row(one) for one in load_contracts().producers if one.calls]
