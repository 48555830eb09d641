"""The pytest plugin: fails the test that made the stale read, and no other."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

pytest_plugins = ["pytester"]

_TESTS = """
    import pytest
    import torch
    from loaderlint.runtime_guard import guard

    def stream():
        buffer = torch.empty(8)
        for number in range(6):
            yield f"layer.{number}", buffer.fill_(number)

    def load(swallow):
        kept = dict(guard(stream()))
        for weight in kept.values():
            try:
                weight.sum()
            except RuntimeError:
                if not swallow:
                    raise

    def test_guilty():
        load(swallow=False)

    def test_innocent():
        assert [w.clone()[0].item() for _, w in guard(stream())] == [0, 1, 2, 3, 4, 5]

    def test_swallowing():
        load(swallow=True)

    def test_innocent_too():
        assert True

    @pytest.mark.xfail
    def test_known_defect():
        load(swallow=False)

    @pytest.mark.xfail
    def test_known_defect_that_swallows():
        load(swallow=True)

    def test_failing_for_another_reason():
        weight = dict(guard(stream()))["layer.1"]
        assert len(weight) == 9
"""


@pytest.fixture(autouse=True)
def nothing_set(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    # Where pytest believes that it runs in CI, it does not shorten the lines of its summary.
    for name in ("LOADERLINT_GUARD", "CI", "BUILD_NUMBER"):
        monkeypatch.delenv(name, raising=False)
    yield


def test_guilty_tests_fail_with_the_report(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(_TESTS)
    result = pytester.runpytest_subprocess("--loaderlint-guard=trap", "--showlocals")
    result.assert_outcomes(failed=3, passed=2, xfailed=2)
    result.stdout.fnmatch_lines(
        [
            "*_ test_guilty _*",
            "*RuntimeError: LOADERLINT-E101 read-after-advance layer.0 *",
            "*  read at      *in load: weight.sum()",
            "*- loaderlint guard -*",
            "*_ test_swallowing _*",
            "LOADERLINT-E101 read-after-advance layer.0 *",
            "  read at      *in load: weight.sum()",
            "  yielded at   *in load: kept = dict(guard(stream()))",
            "  count        6 stale reads here",
            "*_ test_failing_for_another_reason _*",
            "*assert 8 == 9*",
            "loaderlint guard: level trap, 14 stale read(s)",
        ]
    )
    assert "yielded at" not in result.stdout.str().rpartition("_ test_failing_for_another_reason _")[2]


def test_off_costs_nothing(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(
        """
        import sys

        def test_nothing_is_loaded():
            loaded = set(sys.modules)
            assert "loaderlint.runtime_guard.pytest_plugin" in loaded
            assert not {"torch", "numpy", "loaderlint.runtime_guard.report"} & loaded
        """
    )
    for options in ([], ["--loaderlint-guard=off"]):
        result = pytester.runpytest_subprocess(*options)
        result.assert_outcomes(passed=1)
        assert "loaderlint guard" not in result.stdout.str()


def test_a_level_that_does_not_exist_is_a_usage_error(
    pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    result = pytester.runpytest_subprocess("--loaderlint-guard=loud")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(["ERROR: --loaderlint-guard='loud' is not a level*; valid: trap (or 1), *"])
    monkeypatch.setenv("LOADERLINT_GUARD", "loud")
    result = pytester.runpytest_subprocess()
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(["ERROR: LOADERLINT_GUARD='loud' is not a level*"])


def test_real_streams_are_guarded_and_children_inherit_the_level(
    pytester: pytest.Pytester, checkpoint_files: list
) -> None:
    pytester.makepyfile(
        f"""
        import os
        from runai_model_streamer import SafetensorsStreamer

        def load(owned):
            with SafetensorsStreamer() as streamer:
                streamer.stream_files({[str(file) for file in checkpoint_files]!r}, owned=owned)
                return dict(streamer.get_tensors())

        def test_lent():
            load(False)["model.norm.weight"].sum()

        def test_owned():
            load(True)["model.norm.weight"].sum()

        def test_children():
            assert os.environ["LOADERLINT_GUARD"] == "trap"
        """
    )
    result = pytester.runpytest_subprocess("--loaderlint-guard=1")
    result.assert_outcomes(failed=1, passed=2)
    result.stdout.fnmatch_lines(["*LOADERLINT-E101 read-after-advance model.norm.weight *owned=False*"])
