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


def test_a_reaction_that_does_not_exist_is_a_usage_error(
    pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LOADERLINT_GUARD_ON", "bogus")
    result = pytester.runpytest_subprocess("--loaderlint-guard=trap")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(["ERROR: LOADERLINT_GUARD_ON='bogus' is unknown; valid: raise, warn, record"])


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


_EXPECTING = """
    import pytest
    import torch
    from loaderlint.runtime_guard import guard

    def stale():
        buffer = torch.empty(8)
        return dict(guard((f"layer.{number}", buffer.fill_(number)) for number in range(6)))

    def test_expected():
        for weight in stale().values():
            with pytest.raises(RuntimeError, match="LOADERLINT-E101 read-after-advance layer"):
                weight.sum()

    def test_expected_by_a_call():
        pytest.raises(RuntimeError, stale()["layer.1"].sum)

    def test_expected_as_a_cause():
        def load():
            try:
                stale()["layer.1"].sum()
            except RuntimeError as error:
                raise ValueError("layer.1") from error

        with pytest.raises(ValueError):
            load()

    def test_another_message_expected():
        with pytest.raises(RuntimeError, match="shape"):
            stale()["layer.1"].sum()

    def test_one_expected_and_one_swallowed():
        kept = stale()
        with pytest.raises(RuntimeError):
            kept["layer.1"].sum()
        for _ in range(3):
            try:
                kept["layer.2"].sum()
            except RuntimeError:
                pass
"""


def test_stale_reads_that_a_test_expects_are_no_failures(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(_EXPECTING)
    result = pytester.runpytest_subprocess("--loaderlint-guard=trap")
    result.assert_outcomes(passed=3, failed=2)
    result.stdout.fnmatch_lines(
        [
            "*_ test_another_message_expected _*",
            "*_ test_one_expected_and_one_swallowed _*",
            "LOADERLINT-E101 read-after-advance layer.2 *",
            "  count        3 stale reads here",
            "FAILED *test_another_message_expected*",
            "FAILED *test_one_expected_and_one_swallowed*",
        ]
    )


def test_under_xdist_the_guilty_tests_fail_and_are_counted(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(_TESTS)
    result = pytester.runpytest_subprocess("--loaderlint-guard=trap", "-n2", "-pxdist")
    result.assert_outcomes(failed=3, passed=2, xfailed=2)
    result.stdout.fnmatch_lines(
        [
            "*_ test_swallowing _*",
            "LOADERLINT-E101 read-after-advance layer.0 *",
            "  count        6 stale reads here",
        ]
    )
    result.stdout.fnmatch_lines(["loaderlint guard: level trap, 14 stale read(s)"])


_MARKED = """
    import os
    import pytest
    import torch
    from runai_model_streamer import SafetensorsStreamer

    def load():
        with SafetensorsStreamer() as streamer:
            streamer.stream_files(FILES, owned=False)
            return dict(streamer.get_tensors())

    def test_without():
        load()["model.norm.weight"].sum()

    @pytest.mark.loaderlint_guard("trap")
    def test_trap():
        assert os.environ["LOADERLINT_GUARD"] == "trap"
        load()["model.norm.weight"].sum()

    @pytest.mark.loaderlint_guard("poison")
    class TestPoison:
        def test_poison(self):
            assert load()["model.norm.weight"].isnan().all()

    def test_without_again():
        assert "LOADERLINT_GUARD" not in os.environ
        load()["model.norm.weight"].sum()
"""


@pytest.mark.parametrize("options", [[], ["-n2", "-pxdist"]])
def test_a_marked_test_is_guarded_and_no_other(
    pytester: pytest.Pytester, checkpoint_files: list, options: list[str]
) -> None:
    pytester.makepyfile(_MARKED.replace("FILES", repr([str(file) for file in checkpoint_files])))
    result = pytester.runpytest_subprocess("--strict-markers", *options)
    result.assert_outcomes(failed=1, passed=3)
    result.stdout.fnmatch_lines(["*LOADERLINT-E101 read-after-advance model.norm.weight *owned=False*"])


@pytest.mark.parametrize("arguments", ["'loud'", "", "level='trap'"])
def test_a_marker_that_is_no_level_is_a_usage_error(pytester: pytest.Pytester, arguments: str) -> None:
    pytester.makepyfile(
        f"""
        import pytest

        @pytest.mark.loaderlint_guard({arguments})
        def test_marked():
            pass
        """
    )
    result = pytester.runpytest_subprocess()
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(["ERROR: *test_marked: *loaderlint_guard*level*"])


def test_the_census_is_printed_at_the_end_and_fails_no_test(
    pytester: pytest.Pytester, checkpoint_files: list
) -> None:
    source = _MARKED.replace("FILES", repr([str(file) for file in checkpoint_files])).partition("def test_")[
        0
    ]
    pytester.makepyfile(
        source
        + """
    KEPT = {}

    def test_keeping():
        KEPT.update(load())
"""
    )
    result = pytester.runpytest_subprocess("--loaderlint-guard=census")
    result.assert_outcomes(passed=1)
    result.stdout.fnmatch_lines(
        ["LOADERLINT-W201 held-after-load *", "  held by      KEPT?'model.*'?: global variable, *"]
    )
