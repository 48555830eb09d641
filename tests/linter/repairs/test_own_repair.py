"""Tensors that have to wait get their own memory where they are kept: on the host, or on their device."""

from __future__ import annotations

import pytest
from repair_cases import Kept, checkpoint, equal, load, repair

from loaderlint.linter.findings import Applicability, NoFix
from loaderlint.linter.interpreter.events import Holder

HOST = '.detach().to("cpu", copy=True)'


def loop(
    *body: str, after: tuple[str, ...] = (), before: tuple[str, ...] = ("pending, prev = {}, None",)
) -> str:
    lines = [*before, "for name, w in weights:", *(f"    {line}" for line in body), *after]
    return "class Model:\n    def load(self, weights):\n" + "".join(f"        {line}\n" for line in lines)


PAIR = loop(
    "pending[name] = w",
    "if 'q' in pending and 'k' in pending:",
    "    q = pending.pop('q')",
    "    k = pending.pop('k')",
    "    self.params['qk'] = torch.cat([q, k])",
)


def test_a_pair_waits_on_the_host_and_is_fused_there():
    repaired = repair(PAIR, Kept(Holder.DICT, "pending[name] = w", "pending"))
    assert repaired.fix.applicability is Applicability.SAFE
    assert repaired.fix.title == "own `w` on the host before `pending` keeps it"
    assert f"pending[name] = w{HOST}\n" in repaired.after
    weights = checkpoint("q", "k")
    assert not equal(load(repaired.before, weights), load(repaired.after, weights))
    assert load(repaired.after, weights)["qk"].tolist() == [*weights["q"].tolist(), *weights["k"].tolist()]


def test_a_copy_that_may_be_none_stays_where_it_goes_and_is_made_sure():
    repaired = repair(
        loop("pending[name] = w.to(self.device)"),
        Kept(Holder.DICT, "pending[name] = w.to(self.device)", "pending"),
    )
    title = "make `w.to(self.device)` a copy in any case, before `pending` keeps it"
    assert repaired.fix.title == f"{title}; this may hold the whole checkpoint in memory"
    assert "pending[name] = w.to(self.device, copy=True)\n" in repaired.after


@pytest.mark.parametrize(
    ("lines", "why"),
    [
        (
            ["if prev is not None:", "    self.params[name] = torch.cat([prev, w])", "prev = w"],
            "uses it together",
        ),
        (["if prev is not None:", "    self.params[name] = prev * w", "prev = w"], "computes with it"),
        (
            ["if prev is not None:", "    self.params[name] = torch.add(prev, w)", "prev = w"],
            "uses it together",
        ),
    ],
)
def test_a_tensor_that_meets_the_stream_again_stays_on_its_device(lines, why):
    repaired = repair(loop(*lines), Kept(Holder.VARIABLE, "prev = w", "prev"))
    assert repaired.fix.applicability is Applicability.SAFE
    assert why in repaired.fix.title and repaired.fix.title.startswith(
        "clone `w` before `prev` keeps it: line "
    )
    assert "prev = w.clone()\n" in repaired.after
    weights = checkpoint("a", "b", "c")
    assert not equal(load(repaired.before, weights), load(repaired.after, weights))


def test_a_tied_tensor_is_owned_on_the_host():
    code = loop("if name == 'embed':", "    prev = w", after=("self.params['head'] = prev.clone()",))
    repaired = repair(code, Kept(Holder.VARIABLE, "prev = w", "prev"))
    assert repaired.fix.applicability is Applicability.SAFE
    assert f"prev = w{HOST}" in repaired.after
    weights = checkpoint("embed", "a")
    assert not equal(load(repaired.before, weights), {"head": weights["embed"]})
    assert equal(load(repaired.after, weights), {"head": weights["embed"]})


@pytest.mark.parametrize(
    ("kind", "code", "holder"),
    [
        (Holder.OBJECT, "self.tied = w", "self.tied"),
        (Holder.DICT, "self.pending[name] = w", "self.pending"),
    ],
)
def test_what_other_functions_may_read_stays_on_its_device(kind, code, holder):
    repaired = repair(loop(f"if name: {code}"), Kept(kind, code, holder))
    assert repaired.fix.title.endswith("other functions may read it on its device")
    assert f"{code}.clone()" in repaired.after


@pytest.mark.parametrize(
    ("code", "tensor", "after"),
    [
        ("pending[name] = w[0]", "w", f"pending[name] = w[0]{HOST}"),
        ("pending[name] = w[0][1]", "w[0]", f"pending[name] = w[0][1]{HOST}"),
        ("pending[name] = (w)", "w", f"pending[name] = (w){HOST}"),
        ("pending[name] = (w, w.shape, w.numel())", "w", f"pending[name] = (w{HOST}, w.shape, w.numel())"),
        (
            "pending[name] = w if name else other",
            "w if name else other",
            f"pending[name] = w{HOST} if name else other",
        ),
        ("pending[name] = (w, w[0], 'x')", "w", f"pending[name] = (w{HOST}, w[0]{HOST}, 'x')"),
        (
            "pending[name] = {'w': w, 't': [w.t()]}",
            "w",
            f"pending[name] = {{'w': w{HOST}, 't': [w.t(){HOST}]}}",
        ),
        ("pending[name] = w.chunk(2)", "w.chunk(2)", f"pending[name] = w{HOST}.chunk(2)"),
        ("pending[name] = w.chunk(2)[0]", "w.chunk(2)[0]", f"pending[name] = w.chunk(2)[0]{HOST}"),
        ("pending[name] = w.detach().numpy()", "w", f"pending[name] = w.detach(){HOST}.numpy()"),
        ("pending[name] = partial(f, w)", "partial(f, w)", f"pending[name] = partial(f, w{HOST})"),
        ("pending[name] = Item(name, w=w)", "Item(name, w=w)", f"pending[name] = Item(name, w=w{HOST})"),
        (
            "pending[name] = (part for part in w.split(2))",
            "w",
            f"pending[name] = (part{HOST} for part in w.split(2))",
        ),
        ("pending.setdefault(name, w)", "w", f"pending.setdefault(name, w{HOST})"),
        ("pending.setdefault(name, {})['w'] = w", "w", f"pending.setdefault(name, {{}})['w'] = w{HOST}"),
        ("pending.update({name: w})", "w", f"pending.update({{name: w{HOST}}})"),
        ("pending.update({w_name: w,})", "w", f"pending.update({{w_name: w{HOST},}})"),
        ("a = pending[name] = w", "w", f"a = pending[name] = w{HOST}"),
        ("pending[name] = w.t()", "w.t()", f"pending[name] = w.t(){HOST}"),
        ("pending[name]: object = w", "w", f"pending[name]: object = w{HOST}"),
    ],
)
def test_exactly_the_tensor_is_copied(code, tensor, after):
    repaired = repair(loop(f"if name: {code}"), Kept(Holder.DICT, code, "pending", tensor))
    assert repaired.after == repaired.before.replace(code, after)


@pytest.mark.parametrize(
    ("code", "tensor", "after"),
    [
        ("w.to(device)", "w.to(device)", "w.to(device, copy=True)"),
        ("w.to(device,)", "w", "w.to(device, copy=True,)"),
        ("w.to(\n            device\n        )", "w", "w.to(\n            device, copy=True\n        )"),
        ("w.float()", "w.float()", "w.float().clone()"),
        ("w.contiguous()", "w", "w.contiguous().clone()"),
    ],
)
def test_a_conditional_copy_is_made_a_sure_one(code, tensor, after):
    kept = Kept(Holder.DICT, f"pending[name] = {code}", "pending", tensor, conditional=True)
    repaired = repair(loop(f"if name: pending[name] = {code}"), kept)
    assert repaired.after == repaired.before.replace(code, after)


def test_all_stores_of_a_holder_are_repaired_or_none():
    code = loop(
        "if name: pending[name] = w",
        "pair = make(w)",
        "pending[0] = pair",
        "print(pair)",
    )
    first, second = (
        Kept(Holder.DICT, "pending[name] = w", "pending"),
        Kept(Holder.DICT, "pending[0] = pair", "pending"),
    )
    repaired = repair(code, first, second)
    assert repaired.after == repaired.before
    assert repaired.reason == "it is not clear which part of `pending[0] = pair` is the tensor"


def test_a_lambda_is_not_a_place_to_own_a_tensor():
    repaired = repair(
        loop("pending[name] = lambda: w"), Kept(Holder.CAPTURED, "pending[name] = lambda: w", "pending")
    )
    assert isinstance(repaired.repairs[0], NoFix)


def test_a_dict_of_everything_is_unsafe():
    repaired = repair(loop("pending[name] = w"), Kept(Holder.DICT, "pending[name] = w", "pending"))
    assert repaired.fix.applicability is Applicability.UNSAFE
    assert repaired.fix.title.endswith("this may hold the whole checkpoint in host memory")


def test_an_unused_future_becomes_a_call_in_line():
    code = loop(
        "pool.submit(self.put, name, w)",
        before=(
            "from concurrent.futures import ThreadPoolExecutor",
            "from threading import Event",
            "pool, self.over = ThreadPoolExecutor(1), Event()",
        ),
        after=("self.over.set()", "pool.shutdown()"),
    )
    # A worker that gets to its work only when the stream is over, as a busy one does.
    code += "\n    def put(self, name, w):\n        self.over.wait(0.3)\n"
    code += "        self.params[name] = w.clone()\n"
    repaired = repair(code, Kept(Holder.SUBMITTED, "pool.submit(self.put, name, w)", "pool"))
    assert repaired.fix.applicability is Applicability.UNSAFE
    assert "            self.put(name, w)\n" in repaired.after
    weights = checkpoint("a", "b", "c")
    assert not equal(load(repaired.before, weights), weights)
    assert equal(load(repaired.after, weights), weights)


SUBMIT = "executor.submit(loader, param, w, shard_id=1)"


def test_futures_that_nobody_reads_are_not_collected():
    code = loop(f"futures.append(\n                {SUBMIT}\n            )", before=("futures = []",))
    repaired = repair(code, Kept(Holder.SUBMITTED, SUBMIT, "executor"))
    assert "            loader(param, w, shard_id=1)\n" in repaired.after
    assert "futures.append" not in repaired.after


@pytest.mark.parametrize(
    "after", [("self.wait(futures)",), ("for f in futures: self.done.append(f.result())",)]
)
def test_futures_that_are_read_keep_the_submission_with_an_owned_tensor(after):
    code = loop(f"futures.append({SUBMIT})", before=("futures = []",), after=after)
    repaired = repair(code, Kept(Holder.SUBMITTED, SUBMIT, "executor"))
    assert f"executor.submit(loader, param, w{HOST}, shard_id=1)" in repaired.after


def test_a_hidden_buffer_has_no_repair():
    repaired = repair(
        loop("pass", before=("import itertools", "a, b = itertools.tee(weights)")),
        Kept(Holder.TEED, "itertools.tee(weights)", "a"),
    )
    assert "read the stream once instead" in repaired.reason


def test_a_function_that_is_too_deep_is_left_alone():
    deep = "w" + "[0]" * 520
    kept = Kept(Holder.DICT, "pending[name] = part", "pending", "part")
    repaired = repair(loop(f"part = {deep}", "pending[name] = part"), kept)
    assert repaired.reason == "an expression of this function is nested too deeply to be rewritten"
    assert repaired.after == repaired.before
