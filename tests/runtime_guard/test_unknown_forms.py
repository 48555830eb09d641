"""A streamer that is not as the guard knows it is not guarded, and the guard says so."""

from __future__ import annotations

import importlib
from pathlib import Path
from types import ModuleType

import pytest

from loaderlint.runtime_guard import report

FORMS = {
    "runai": "SafetensorsStreamer",
    "fastsafetensors": "FilesBufferOnDevice",
    "instanttensor": "safe_open",
    "verl_buckets": "BucketedWeightReceiver",
    "checkpoint_engine": "update_weights_from_ipc",
}


# Without the name, and with a class of that name that has no methods: only a function needs none.
CASES = [(adapter, False) for adapter in FORMS] + [
    (adapter, True) for adapter in FORMS if adapter != "checkpoint_engine"
]


@pytest.mark.parametrize(("adapter", "has_a_class"), CASES)
def test_what_is_missing_is_named(
    adapter: str, has_a_class: bool, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    module = ModuleType(f"streamer_{has_a_class}")
    module.__file__ = str(tmp_path / "streamer.py")
    if has_a_class:
        setattr(module, FORMS[adapter], type(FORMS[adapter], (), {}))
    report._notes.clear()
    importlib.import_module(f"loaderlint.runtime_guard.adapters.{adapter}").install(module)
    (line,) = report.notes()
    assert f"has no {FORMS[adapter]} of the known form: not guarded" in line
    assert line in capsys.readouterr().err
