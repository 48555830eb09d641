"""Only what is evidently one tensor is given a tensor's method: neighbours of every kind that are not."""

from __future__ import annotations

import pytest
from repair_cases import Kept, repair

from loaderlint.linter.engine import check_file
from loaderlint.linter.findings import Applicability
from loaderlint.linter.fixing import repair as repair_file
from loaderlint.linter.interpreter.events import Holder
from loaderlint.linter.reading.source import source_from_bytes

HOST = '.detach().to("cpu", copy=True)'


def file(*body: str, after: str = "", head: str = "for name, w in weights:") -> str:
    lines = ["kept, pending, last = [], {}, None", head, *(f"    {line}" for line in body)]
    text = "class Model:\n    def load(self, weights):\n" + "".join(f"        {line}\n" for line in lines)
    return f"{text}        {after or 'return kept'}\n"


def in_dict(code: str, holder: str = "pending") -> Kept:
    return Kept(Holder.DICT, code, holder)


@pytest.mark.parametrize(
    "lines",
    [
        ("if last is None: last = w", "pending[name] = last"),
        ("part = w if name else None", "print(part)", "pending[name] = part"),
        ("part = make(w)", "print(part)", "pending[name] = part"),
        ("parts = w.chunk(2)", "print(parts)", "pending[name] = parts"),
        ("parts = [w, w.t()]", "print(parts)", "pending[name] = parts"),
        ("pair = name, w.chunk(2)", "print(pair)", "pending[name] = pair"),
        ("array = w.numpy()", "print(array)", "pending[name] = array"),
        ("for size, group in {2: [w]}.items():", "    pending[name] = group"),
        ("for group in self.groups(w):", "    pending[name] = group"),
        ("item = next(weights, None)", "pending[name] = item"),
        ("pending[name] = lambda: w",),
        ("pending[name] = w or other",),
    ],
)
def test_what_may_be_no_tensor_is_left_alone(lines):
    stored = lines[-1].strip()
    repaired = repair(file(*lines), in_dict(stored))
    assert repaired.reason
    assert repaired.after == repaired.before


@pytest.mark.parametrize(
    ("lines", "line", "after"),
    [
        (("part = w.t()", "print(part)"), "pending[name] = part", f"pending[name] = part{HOST}"),
        (("part = w if name else w[0]", "print(part)"), "kept = part", f"kept = part{HOST}"),
        (("w = self.permute(w)",), "pending[name] = w", f"pending[name] = w{HOST}"),
        (("for row in w.unbind(0):",), "    pending[name] = row", f"    pending[name] = row{HOST}"),
        (("for i, (q, k) in enumerate(zip(w.chunk(2), w)):",), "    kept[i] = k", f"    kept[i] = k{HOST}"),
        (("q, k = w.chunk(2)",), "pending[name] = (q, k)", f"pending[name] = (q{HOST}, k{HOST})"),
        (("pair = [(name, w)]", "print(pair)"), "kept[0] = pair[0][1]", f"kept[0] = pair[0][1]{HOST}"),
        (
            ("triple = name, w, 3", "print(triple)"),
            "pending[name] = triple",
            f"pending[name] = (triple[0], triple[1]{HOST}, triple[2])",
        ),
    ],
)
def test_what_is_evidently_a_tensor_is_owned(lines, line, after):
    repaired = repair(file(*lines, line), in_dict(line.strip()))
    assert repaired.after == repaired.before.replace(line, after)


@pytest.mark.parametrize(
    ("made", "after"),
    [
        ("part = w if name else None", f"part = w{HOST} if name else None"),
        ("part = make(w)", f"part = make(w{HOST})"),
        ("part = partial(self.put, name, tensor=w)", f"part = partial(self.put, name, tensor=w{HOST})"),
        ("part = w.chunk(2)", f"part = w{HOST}.chunk(2)"),
        ("part = name, w, w[0]", f"part = name, w{HOST}, w[0]{HOST}"),
    ],
)
def test_what_is_made_only_to_be_kept_is_owned_where_it_is_made(made, after):
    repaired = repair(file(made, "pending[name] = part"), in_dict("pending[name] = part"))
    assert repaired.after == repaired.before.replace(made, after)


HELPER = """
class Model:
    def load(self, weights):
        kept = []
        for name, w in weights:
            {first}
            {second}
        return kept

    def keep(self, into, item):
        into.append(item)
"""


@pytest.mark.parametrize(
    ("calls", "after"),
    [
        (("self.keep(kept, w)", "self.keep(item=w[0], into=kept)"), "into.append(item.clone())"),
        (("self.keep(kept, (name, w))", "pass"), "into.append((item[0], item[1].clone()))"),
        (("self.keep(kept, (name, w))", "self.keep(kept, w)"), "into.append(item)"),
        (("self.keep(kept, w)", "self.keep(*self.both(kept, w))"), "into.append(item)"),
    ],
)
def test_what_a_helper_keeps_is_what_all_its_callers_hand_it(calls, after):
    code = HELPER.format(first=calls[0], second=calls[1])
    source = source_from_bytes("model.py", code.encode())
    allowed = frozenset({Applicability.SAFE, Applicability.UNSAFE})
    assert after in repair_file(source, check_file(source), allowed, check_file).source.text


@pytest.mark.parametrize(
    ("lines", "bounded"),
    [
        (("kept.append(w)",), False),
        (("kept.append(w)", "if len(kept) == 2: kept.clear()"), True),
        (("kept.append(w)", "if len(kept) == 2: kept = []"), True),
        (("pending.setdefault(name[0], {})[name] = w", "if name: del pending[name[0]]"), True),
        (("pending.setdefault(name[0], {})[name] = w", "if name: pending[name[0]].pop(name)"), True),
        (("pending.setdefault(name[0], {})[name] = w",), False),
        (("self.pending[name] = w", "if name: self.pending.pop(name)"), True),
        (("self.pending[name] = w", "if name: self.other.pop(name)"), False),
    ],
)
def test_only_a_holder_that_gives_nothing_up_may_hold_the_checkpoint(lines, bounded):
    kind = Holder.LIST if "append" in lines[0] else Holder.DICT
    holder = lines[0].partition(".append")[0].partition("[name] =")[0]
    repaired = repair(file(*lines, after="kept.pop()"), Kept(kind, lines[0], holder))
    assert ("whole checkpoint" in repaired.fix.title) is not bounded
    assert (repaired.fix.applicability is Applicability.SAFE) is bounded
