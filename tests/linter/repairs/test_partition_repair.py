"""Partition loops: the list that is consumed first is streamed, the others wait on the host."""

from __future__ import annotations

import textwrap

import pytest
from repair_cases import Lender, checkpoint, equal, in_list, load, repair

from loaderlint.linter.findings import Applicability

EXPERTS = """
class Model:
    def load(self, weights):
        experts = []
        normal = []
        for name, w in weights:
            if ".experts." in name:
                experts.append((name, w))
            else:
                normal.append((name, w))
        self._load_experts(experts)
        self._load_normal(normal)

    def _load_experts(self, weights):
        for name, w in weights:
            self.params[name] = w.clone()

    def _load_normal(self, weights):
        for name, w in weights:
            self.params[name] = w.clone()
"""
BOTH = (in_list("experts"), in_list("normal"))


def test_the_first_list_is_streamed_and_the_rest_owned():
    repaired = repair(EXPERTS, *BOTH)
    assert repaired.fix.applicability is Applicability.SAFE
    assert (
        repaired.fix.title
        == "yield the tensors of `experts` to `self._load_experts`, own the rest on the host"
    )
    assert textwrap.dedent("""
        def load(self, weights):
            normal = []

            def stream_experts():
                # Each tensor is lent for one step only: hand it on in that step.
                for name, w in weights:
                    if ".experts." in name:
                        yield name, w
                    else:
                        normal.append((name, w.detach().to("cpu", copy=True)))

            self._load_experts(stream_experts())
            self._load_normal(normal)
    """).strip() in textwrap.dedent(repaired.after.split("\n", 1)[1])


def test_the_repair_loads_what_the_original_corrupts_and_holds_the_rest_only():
    names = [f"layer.{n}.experts.w" for n in range(6)] + ["a", "b"]
    weights = checkpoint("c", *names)
    repaired = repair(EXPERTS, *BOTH)
    assert not equal(load(repaired.before, weights), weights)
    assert equal(load(repaired.after, weights), weights)


def test_streamed_tensors_are_not_held():
    weights = checkpoint("a", *(f"layer.{n}.experts.w" for n in range(9)), "b")
    code = repair(EXPERTS.replace("w.clone()", "float(w.sum())"), *BOTH).after
    lender = Lender(weights)
    load(code, weights, lender)
    assert lender.peak == 2  # a and b, of eleven


def test_a_consumer_that_may_stop_early_is_followed_by_a_drain():
    code = EXPERTS.replace(
        "self.params[name] = w.clone()",
        "if 'stop' in name: break\n            self.params[name] = w.clone()",
        1,
    )
    repaired = repair(code, *BOTH)
    assert (
        "experts = stream_experts()\n        self._load_experts(experts)\n        for _ in experts:\n"
        in repaired.after
    )
    weights = checkpoint("0.experts.w", "1.experts.stop", "a", "2.experts.w", "b")
    loaded = load(repaired.after, weights)
    assert equal(loaded, {name: weights[name] for name in ("0.experts.w", "a", "b")})


def test_a_callee_of_another_file_makes_the_repair_unsafe():
    repaired = repair(
        EXPERTS.replace("self._load_experts(experts)", "self.model.load_weights(experts)"), *BOTH
    )
    assert repaired.fix.applicability is Applicability.UNSAFE
    assert "for _ in experts:" in repaired.after


@pytest.mark.parametrize(
    "body",
    [
        "for name, w in list(weights): self.params[name] = w.clone()",
        "assert len(weights)\n        for name, w in weights: self.params[name] = w.clone()",
        "for _ in range(2):\n            for name, w in weights: self.params[name] = w.clone()",
        "self.params.update(fused=torch.cat(weights))",
        "while weights: self.params.update([weights.pop()])",
    ],
)
def test_a_callee_that_needs_more_than_one_pass_is_not_given_a_generator(body):
    code = EXPERTS.replace("for name, w in weights:\n            self.params[name] = w.clone()", body, 1)
    assert body in code
    repaired = repair(code, *BOTH)
    assert "yield" not in repaired.after
    assert repaired.after.count(".detach()") == 2


@pytest.mark.parametrize(
    "body",
    [
        "yield from weights",
        "self.load_weights(weights)",
        "self.params.update([(name, float(w.sum())) for name, w in weights])",
        "for _, (name, w) in enumerate(weights): self.params[name] = w.clone()",
    ],
)
def test_a_callee_that_is_content_with_an_iterator_but_not_read_in_full_makes_the_repair_unsafe(body):
    code = EXPERTS.replace("for name, w in weights:\n            self.params[name] = w.clone()", body, 1)
    assert body in code
    assert repair(code, *BOTH).fix.applicability is Applicability.UNSAFE


@pytest.mark.parametrize("callee", ["torch.cat", "numpy.stack", "self.fuse", "fuse", "torch.load_weights"])
def test_only_what_is_known_to_iterate_or_to_load_is_given_a_generator(callee):
    code = EXPERTS.replace("self._load_experts(experts)", f"{callee}(experts)")
    repaired = repair(code, *BOTH)
    assert f"{callee}(experts)" in repaired.after
    assert repaired.after.count(".detach()") == 2


NAMES = """
class Model:
    def load(self, weights):
        count = 0
        vision: list = []  # towers
        language, projector = [], []
        for name, w in weights:
            if name.startswith("skip."):
                continue
            count += 1
            if name.startswith("model.vision."):
                # strip the prefix
                name = name[len("model.") :]
                vision.append((name, w))
            elif name.startswith("projector."):
                projector.append(
                    (
                        name,
                        w,
                    )
                )
            else:
                language.append((f"language.{name}", w))
            # end of round

        # the language model first
        for name, w in language:
            self.params[name] = w.clone()
        for name, w in vision:
            self.params[name] = w.clone()
        for name, w in projector:
            self.params[name] = w.clone()
        self.count = count
"""
THREE = (
    in_list("vision"),
    in_list("projector", "projector.append(\n    (\n        name,\n        w,\n    )\n)"),
    in_list("language", 'language.append((f"language.{name}", w))'),
)


def test_three_lists_with_renamed_names_and_a_counter():
    repaired = repair(NAMES, *THREE)
    assert repaired.fix.applicability is Applicability.UNSAFE
    assert (
        "load_projector(name, w)" in repaired.after
        and "language" not in repaired.after.split("def stream_language")[0]
    )
    assert "nonlocal count" in repaired.after
    assert "# strip the prefix" in repaired.after
    weights = checkpoint("skip.x", "a", "model.vision.b", "projector.c", "d")
    expected = {
        "language.a": weights["a"],
        "language.d": weights["d"],
        "vision.b": weights["model.vision.b"],
        "projector.c": weights["projector.c"],
    }
    assert not equal(load(repaired.before, weights), expected)
    assert equal(load(repaired.after, weights), expected)


def test_inline_consumption_in_the_loop_keeps_its_place_but_is_unsafe():
    code = """
        class Model:
            def load(self, weights):
                loaded = set()
                rest = []
                for name, w in weights:
                    if name.startswith("own."):
                        self.params[name] = w.clone()
                        loaded.add(name)
                    else:
                        rest.append((name, w))
                loaded |= self.load_rest(rest)
                assert len(loaded) == len(self.params)

            def load_rest(self, weights):
                self.params.update((name, w.clone()) for name, w in weights)
                return set()
    """
    repaired = repair(code.replace("return set()", "return set(self.params)"), in_list("rest"))
    assert repaired.fix.applicability is Applicability.UNSAFE
    weights = checkpoint("own.a", "b", "own.c", "d")
    assert equal(load(repaired.after, weights), weights)


def test_tabs_are_kept():
    code = EXPERTS.replace("    ", "\t")
    repaired = repair(code, *BOTH)
    assert "    " not in repaired.after
    assert equal(load(repaired.after, weights := checkpoint("a", "0.experts.b", "c")), weights)


def test_text_inside_strings_is_not_indented():
    code = EXPERTS.replace("else:", 'elif name == """x\ny""":\n                continue\n            else:')
    repaired = repair(code, *BOTH)
    assert '"""x\ny"""' in repaired.after


def test_nested_function_and_decorator():
    code = textwrap.dedent("""
        import functools

        class Model:
            @functools.lru_cache
            def load(self, weights):
                def run():
                    first, second = [], []
                    for name, w in weights:
                        (first if False else second) and None
                        if "a" in name:
                            first.append(w)
                        else:
                            second.append(w)
                    for w in first:
                        self.params[w.sum()] = w.clone()
                    for w in second:
                        self.params[w.sum()] = w.clone()
                run()
    """)
    kept = (in_list("first", "first.append(w)"), in_list("second", "second.append(w)"))
    refused = repair(code, *kept)
    assert all("stream_" not in fix.title for fix in refused.repairs)
    repaired = repair(code.replace("                (first if False else second) and None\n", ""), *kept)
    assert "yield w" in repaired.after and repaired.fix.title.endswith("load those of `second` in their step")


def own_all(code, *kept):
    """The repairs where nothing could be streamed: every list is owned, each for itself."""
    repaired = repair(code, *kept)
    assert "yield" not in repaired.after
    assert all("the whole checkpoint" in fix.title for fix in repaired.repairs)
    assert all(fix.applicability is Applicability.UNSAFE for fix in repaired.repairs)
    return repaired


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("self._load_experts(experts)", "if experts: self._load_experts(experts)"),
        ("self._load_experts(experts)", "self._load_experts(experts); self._load_normal(experts)"),
        ("self._load_experts(experts)", "for _ in range(2):\n            self._load_experts(experts)"),
        ("self._load_experts(experts)", "self._load_experts(sorted(experts))"),
        ("self._load_experts(experts)", "self._load_experts(experts + normal)"),
        ("self._load_experts(experts)", "self._load_experts(*experts)"),
        ("self._load_experts(experts)", "self._load_experts(experts[1:])"),
        ("self._load_experts(experts)", "print(len(normal))\n        self._load_experts(experts)"),
        ("self._load_experts(experts)", "weights = None\n        self._load_experts(experts)"),
        ("self._load_experts(experts)", "list(weights)\n        self._load_experts(experts)"),
        ("self._load_experts(experts)", "(lambda: self._load_experts(experts))()"),
        ("self._load_experts(experts)", "self._load_experts(experts)\n        print(name)"),
        ("for name, w in weights:\n", "for name, w in weights:\n            if not name: return\n"),
        ("for name, w in weights:\n", "for name, w in weights:\n            super()\n"),
        ("for name, w in weights:\n", "for name, w in weights:\n            if len(experts) > 3: break\n"),
        ("experts = []", "experts = [1]"),
        ("experts = []", "experts = []\n        experts.append(0)"),
    ],
)
def test_loops_that_cannot_move_own_their_lists(old, new):
    assert old in EXPERTS
    own_all(EXPERTS.replace(old, new, 1), *BOTH)


def test_owned_lists_load_right_when_nothing_can_be_streamed():
    repaired = own_all(
        EXPERTS.replace("self._load_experts(experts)", "if experts: self._load_experts(experts)"), *BOTH
    )
    assert equal(load(repaired.after, weights := checkpoint("a", "0.experts.b", "c")), weights)


def test_a_last_consumer_that_returns_may_stream_if_the_loop_has_nothing_else_to_do():
    code = """
        class Model:
            def load(self, weights):
                kept = []
                for name, w in weights:
                    if name != "skip":
                        kept.append((name, w))
                return self.take(kept)

            def take(self, weights):
                for name, w in weights:
                    self.params[name] = w.clone()
    """
    repaired = repair(code, in_list("kept"))
    assert repaired.fix.applicability is Applicability.SAFE
    assert "return self.take(stream_kept())" in repaired.after
    weights = checkpoint("skip", "a", "b")
    assert equal(load(repaired.after, weights), {name: weights[name] for name in "ab"})


def test_async_loops_are_left_to_a_copy():
    code = """
        class Model:
            async def load(self, weights):
                kept = []
                async for name, w in weights:
                    kept.append((name, w))
                self.take(kept)
    """
    own_all(code, in_list("kept"))


def test_a_condition_that_the_consumer_could_change_is_unsafe():
    for condition in ("self.wanted(name)", "name in self.table", "w.flag"):
        repaired = repair(EXPERTS.replace('".experts." in name', condition), *BOTH)
        assert repaired.fix.applicability is Applicability.UNSAFE


def test_a_pair_that_is_used_twice_is_owned_part_by_part():
    code = """
        class Model:
            def load(self, weights):
                kept = []
                for name, w in weights:
                    pair = (name, w)
                    if name:
                        kept.append(pair)
                print(len(kept), kept, pair)
    """
    repaired = repair(code, in_list("kept", "kept.append(pair)"))
    assert 'kept.append((pair[0], pair[1].detach().to("cpu", copy=True)))' in repaired.after


def test_a_loop_that_looks_at_what_its_consumer_changes_cannot_move():
    code = """
        class Model:
            def load(self, weights):
                done = set()
                kept = []
                for name, w in weights:
                    if name not in done:
                        kept.append((name, w))
                for name, w in kept:
                    done.add(name)
                    self.params[name] = w.clone()
    """
    own_all(code, in_list("kept"))
