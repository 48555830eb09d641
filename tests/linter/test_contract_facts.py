"""The shipped contracts of torch, numpy and safetensors against the installed libraries: proven, not believed.

Every public function is called on real tensors. What returns the memory that it was given must be known for it, else
a loader that keeps the result would be silent; what is known for a copy must be one.
"""

from __future__ import annotations

import heapq
import itertools
import pkgutil
import sys
from importlib import resources
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest
import safetensors
import safetensors.torch
import torch
from memory_trials import Fact, Trials, public, try_arrays, try_tensors

from loaderlint.linter.contracts import load_contracts

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

CONTRACTS = load_contracts()
SHARING = {"view", "conditional_copy", "mutate"}
# No strided tensor of a CPU has these, or they take what no other function does.
UNTRIED_METHODS = {
    "ccol_indices", "col_indices", "crow_indices", "row_indices", "indices", "values", "coalesce", "is_coalesced",
    "smm", "sspaddmm", "sparse_mask", "sparse_resize_", "sparse_resize_and_clear_", "resize_as_sparse_",
    "to_padded_tensor", "nonzero_static", "int_repr", "q_scale", "q_zero_point", "q_per_channel_axis",
    "q_per_channel_scales", "q_per_channel_zero_points", "qscheme", "record_stream", "pin_memory", "symeig", "eig",
    "solve", "lstsq", "lu_solve", "orgqr", "ormqr", "as_strided_scatter", "diagonal_scatter", "select_scatter",
    "addbmm", "addbmm_", "addr_", "cross", "float_power_", "mv", "addmv", "addmv_", "triangular_solve",
}  # fmt: skip
# Methods of other devices' tensors, of arrays, and of earlier releases of torch.
ELSEWHERE = {
    "npu", "hpu", "asnumpy", "copy", "astype", "byteswap", "conjugate", "getfield", "fill", "rename", "rename_",
    "align_to", "align_as", "refine_names",
}  # fmt: skip


@pytest.fixture(scope="module")
def methods() -> Trials:
    return try_tensors(public(torch.Tensor))


@pytest.fixture(scope="module")
def functions() -> Trials:
    spaces = {torch: "torch.", torch.nn.functional: "torch.nn.functional.", torch.linalg: "torch.linalg."}
    return try_tensors(item for space, prefix in spaces.items() for item in public(space, prefix))


@pytest.fixture(scope="module")
def array_functions() -> Trials:
    return try_arrays(public(np, "numpy."))


def wrong(trials: Trials, effects: dict[str, str]) -> dict[str, str]:
    """The names whose effect the trials contradict, each with what was seen."""
    found = {}
    for name, facts in trials.items():
        effect = effects.get(name, "copy")
        writes_only = Fact.WRITES in facts and not name.endswith("_")  # `relu(x, True)`: the flag says so.
        if Fact.SHARES in facts and effect not in SHARING and not writes_only:
            found[name] = f"{effect}, but returns what it was given"
        elif Fact.ANOTHER in facts and effect in ("view", "mutate"):
            found[name] = f"{effect}, but returned other memory"
        elif Fact.WRITES in facts and effect not in ("mutate", "view") and not writes_only:
            found[name] = f"{effect}, but writes"
        elif facts and effect in SHARING and Fact.SHARES not in facts:
            found[name] = f"{effect}, but never returned what it was given"
    return found


# What these share no trial has: another type, layout or flag; a capsule, whose memory nobody can ask for.
RARELY = {
    "half", "bfloat16", "double", "int", "short", "char", "torch.asarray", "numpy.nan_to_num", "torch.to_dlpack",
    "cdouble", "chalf",
}  # fmt: skip


def test_what_a_tensor_method_returns(methods: Trials) -> None:
    contradicted = wrong(methods, CONTRACTS.tensor_methods)
    assert {name: why for name, why in contradicted.items() if name not in RARELY} == {}


def test_what_a_torch_function_returns(functions: Trials) -> None:
    contradicted = wrong(functions, CONTRACTS.functions)
    assert {name: why for name, why in contradicted.items() if name not in RARELY} == {}


def test_what_a_numpy_function_returns(array_functions: Trials) -> None:
    contradicted = wrong(array_functions, CONTRACTS.functions)
    assert {name: why for name, why in contradicted.items() if name not in RARELY} == {}


def test_what_an_array_method_returns() -> None:
    """The table is shared with torch, so a method that copies here may be conditional there."""
    trials = try_arrays(public(np.ndarray))
    effects = CONTRACTS.tensor_methods
    assert {name for name, facts in trials.items() if Fact.SHARES in facts} <= {
        name for name, effect in effects.items() if effect in SHARING
    }


def test_every_method_was_tried(methods: Trials) -> None:
    """A release of torch that brings a new method has to be looked at."""
    assert {name for name, facts in methods.items() if not facts} - UNTRIED_METHODS == set()


def test_the_contracts_name_what_there_is() -> None:
    assert set(CONTRACTS.tensor_methods) - set(dir(torch.Tensor)) == ELSEWHERE - set(dir(torch.Tensor))
    for name in CONTRACTS.functions:
        if name.startswith("torch.multiprocessing."):
            # All of `multiprocessing` under another name.
            assert _resolves(name.removeprefix("torch."))
            continue
        package, _, rest = name.partition(".")
        found: object = {"torch": torch, "numpy": np}.get(package)
        for part in rest.split(".") if found else ():
            found = getattr(found, part)  # Raises for what there is not.


STDLIB = tomllib.loads((resources.files("loaderlint.rules.contracts") / "stdlib.toml").read_text("utf-8"))
LATER = {"itertools.batched"}  # Python 3.12


def stdlib_names() -> set[str]:
    """Everything of the standard library that the contracts name by its module."""
    named = [name for table in ("functions", "classes") for names in STDLIB[table].values() for name in names]
    return {*named, *STDLIB["lazy"], *STDLIB["eager"], *STDLIB["modules"]["read"]}


def test_the_names_of_the_standard_library_are_right() -> None:
    missing = {name for name in stdlib_names() if not _resolves(name)}
    assert missing <= LATER


def _resolves(name: str) -> bool:
    """Whether it can be imported; a method of what a factory function makes counts by the class behind it."""
    factories = {"multiprocessing.Pool": "multiprocessing.pool.Pool"}
    factories |= {
        f"multiprocessing.{kind}": f"multiprocessing.queues.{kind}"
        for kind in ("Queue", "JoinableQueue", "SimpleQueue")
    }
    owner, _, method = name.rpartition(".")
    try:
        return (
            pkgutil.resolve_name(f"{factories[owner]}.{method}" if owner in factories else name) is not None
        )
    except (AttributeError, ImportError):
        return False


# Everything here is lazy, collects, or has no items of what it is given.
@pytest.mark.parametrize("module", [itertools, heapq])
def test_what_iterates_is_known(module: ModuleType) -> None:
    known = {*CONTRACTS.lazy, *CONTRACTS.eager, *CONTRACTS.functions}
    names = {
        f"{module.__name__}.{name}"
        for name in dir(module)
        if callable(getattr(module, name)) and name[0] != "_"
    }
    assert (
        names - known
        == {"itertools.count", "itertools.repeat"} & names | {"heapq.nlargest", "heapq.nsmallest"} & names
    )


def test_attributes_that_share_memory_are_views() -> None:
    tensor, array = torch.complex(torch.ones(2, 2), torch.ones(2, 2)), np.ones((2, 2), complex)[:]
    shared = {
        name
        for name in dir(torch.Tensor)
        if not name.startswith("_") and isinstance(found := getattr(tensor, name, None), torch.Tensor)
        and found.untyped_storage().data_ptr() == tensor.untyped_storage().data_ptr()
    } | {
        name
        for name in dir(np.ndarray)
        if not name.startswith("_") and isinstance(found := getattr(array, name), np.ndarray)
        and np.shares_memory(found, array)
    }  # fmt: skip
    assert {"data", "T", "mT", "real", "imag", "base"} <= shared
    assert shared - CONTRACTS.named("tensor_attributes", "view") == set()


def test_safetensors_hands_over(tmp_path: Path) -> None:
    """Valid after the file is closed. Writing reaches only what the same reader gives for the same name."""
    file = tmp_path / "model.safetensors"
    safetensors.torch.save_file({"a": torch.ones(4, 4), "b": torch.zeros(4)}, file)
    with safetensors.safe_open(str(file), framework="pt") as reader:
        kept, part, other = reader.get_tensor("a"), reader.get_slice("a")[:2], reader.get_tensor("b")
    with safetensors.safe_open(str(file), framework="pt") as reader:
        assert reader.get_tensor("b").eq(0).all()
    assert kept.eq(1).all() and other.eq(0).all()
    kept.mul_(5)
    assert kept.eq(5).all() and part.eq(5).all() and other.eq(0).all()
    assert safetensors.torch.load_file(file)["a"].eq(1).all()
    loaded = safetensors.torch.load(file.read_bytes())
    loaded["a"].mul_(7)
    assert loaded["b"].eq(0).all()
    owned = {call for call, one in CONTRACTS.producer_by_call.items() if not one.may_lend}
    assert {
        "safetensors.safe_open.get_tensor",
        "safetensors.safe_open.get_slice",
        "safetensors.torch.load",
    } <= owned
