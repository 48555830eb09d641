"""Run beside one engine: prints, as one line of JSON, what the guard made of weights that it received.

What the engines need of a cluster or a GPU is stubbed; the code that receives and hands out is their own, but
for SGLang's update, which `ModelRunner` below stands in for.
"""

from __future__ import annotations

import asyncio
import json
import sys
import tempfile
import threading
from collections.abc import Callable, Iterable, Iterator
from importlib import import_module
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any
from unittest.mock import MagicMock

import consumers
import torch
from consumers import Named

from loaderlint.runtime_guard import activate, report

WEIGHTS = {f"layer.{number}": torch.full((64,), float(number)) for number in range(12)}
BUCKETS = [list(WEIGHTS)[:5], list(WEIGHTS)[5:10], list(WEIGHTS)[10:]]
BUFFER = torch.zeros(8192, dtype=torch.uint8)

Kept = dict[str, torch.Tensor]


def bare_packages(*names: str) -> None:
    """Make packages importable without running their `__init__`."""
    for name in names:
        module = ModuleType(name)
        module.__path__ = [str(Path(folder, *name.split("."))) for folder in sys.path]
        sys.modules[name] = module


def stub(*names: str) -> None:
    for name in names:
        sys.modules[name] = MagicMock(name=name)


def fill(names: Iterable[str]) -> dict[str, int]:
    """Write a bucket into the buffer, as the sender does once it has the answer; return the offsets."""
    BUFFER.fill_(0)
    offsets = {}
    for place, name in enumerate(names):
        offsets[name] = 256 * place
        BUFFER[256 * place : 256 * place + 256].copy_(WEIGHTS[name].view(torch.uint8))
    return offsets


def the_buffer(*handle: Any) -> torch.Tensor:
    """Stand in for opening the sender's memory through CUDA IPC."""
    return BUFFER


def serve(messages: Callable[[], Iterator[Any]]) -> tuple[str, threading.Thread]:
    """Send the messages from a thread, each once the one before is answered; return the address."""
    import zmq

    handle = f"ipc://{tempfile.mkdtemp()}/socket"

    def send() -> None:
        with zmq.Context.instance().socket(zmq.REQ) as socket:
            socket.bind(handle)
            for message in messages():
                socket.send_pyobj(message)
                assert socket.recv() == b""

    sending = threading.Thread(target=send, daemon=True)
    sending.start()
    return handle, sending


def verl_buckets(load: Callable[[Iterable[Named]], None]) -> None:
    """verl's own receiver, against a sender that speaks its protocol."""
    inner = "verl.workers.rollout.vllm_rollout"
    bare_packages("verl", "verl.workers", "verl.workers.rollout", inner, "verl.utils")
    stub("verl.utils.device")
    sys.modules["verl.utils.device"].is_support_ipc = lambda: False
    transfer = import_module(f"{inner}.bucketed_weight_transfer")

    def messages() -> Iterator[Any]:
        yield the_buffer, ()
        for names in BUCKETS:
            meta = {
                name: {"shape": torch.Size([64]), "dtype": torch.float32, "offset": offset, "handle": None}
                for name, offset in fill(names).items()
            }
            yield {"bucket_meta": meta, "is_last": names is BUCKETS[-1]}

    handle, sending = serve(messages)
    receiver = transfer.BucketedWeightReceiver(handle, torch.device("cpu"))
    receiver.receive_weights(on_bucket_received=lambda weights, is_last: load(weights))
    sending.join()


def verl_engine(load: Callable[[Iterable[Named]], None]) -> None:
    """verl's own NCCL engine; the process group and its meta data are stubbed."""
    bare_packages("verl", "verl.checkpoint_engine", "verl.utils")
    stub("cupy", "ray", "ray.util", "ray.util.collective", "verl.utils.net_utils", "verl.utils.distributed")
    stub("verl.single_controller", "verl.single_controller.base", "verl.single_controller.base.decorator")
    stub("verl.single_controller.ray", "verl.utils.import_utils", "verl.utils.ray_utils", "verl.utils.device")
    stub("verl.workers", "verl.workers.config", "verl.workers.rollout", "verl.workers.rollout.utils")
    base = import_module("verl.checkpoint_engine.base")
    nccl = import_module("verl.checkpoint_engine.nccl_checkpoint_engine")
    torch.cuda.synchronize = lambda device=None: None
    buckets = iter(BUCKETS)

    def meta_data() -> dict[str, Any]:
        names = next(buckets)
        meta = {
            name: base.TensorMeta(name, torch.Size([64]), torch.float32, 0, 256, offset)
            for name, offset in fill(names).items()
        }
        return {"bucket_meta": meta, "length": BUFFER.numel(), "is_last": names is BUCKETS[-1]}

    def broadcast(bucket: torch.Tensor, **group: Any) -> None:
        bucket.copy_(BUFFER)

    nccl.collective.broadcast = broadcast
    engine = nccl.NCCLCheckpointEngine(BUFFER.numel())
    engine.rank = 1
    engine.socket = SimpleNamespace(recv_string=lambda: "", recv_pyobj=meta_data)
    engine.send_buf, engine.recv_buf = torch.zeros_like(BUFFER), torch.zeros_like(BUFFER)

    async def receive() -> None:
        async for pair in engine.receive_weights():
            load([pair])

    asyncio.run(receive())


def checkpoint_engine(load: Callable[[Iterable[Named]], None]) -> None:
    """checkpoint-engine's own receiver, against a sender that speaks its protocol."""
    import zmq

    bare_packages("checkpoint_engine")
    stub("checkpoint_engine.device_utils")
    worker = import_module("checkpoint_engine.worker")

    def messages() -> Iterator[Any]:
        yield the_buffer, tuple(range(7))
        for names in BUCKETS:
            yield [
                {"name": name, "shape": [64], "dtype": torch.float32, "offset": offset}
                for name, offset in fill(names).items()
            ]
        yield None
        yield None

    handle, sending = serve(messages)
    worker.update_weights_from_ipc(zmq.Context.instance(), handle, 0, run=load)
    sending.join()


class ModelRunner:
    """Stands in for SGLang's class of that name: `update_weights_from_tensor` with its signature."""

    def __init__(self, load: Callable[[Iterable[Named]], None]) -> None:
        self._load = load

    def update_weights_from_tensor(self, named_tensors: Any, load_format: str | None = None) -> None:
        buckets = import_module("sglang.srt.weight_sync.tensor_bucket")
        bucket = buckets.FlattenedTensorBucket(**named_tensors)
        self._load(bucket.reconstruct_tensors())


def sglang_buckets(load: Callable[[Iterable[Named]], None]) -> None:
    """SGLang's own FlattenedTensorBucket."""
    bare_packages("sglang", "sglang.srt", "sglang.srt.weight_sync", "sglang.srt.model_executor")
    runner = ModuleType("sglang.srt.model_executor.model_runner")
    runner.__file__ = str(Path(sys.modules["sglang"].__path__[1], "srt", "model_executor", "model_runner.py"))
    runner.ModelRunner = ModelRunner
    sys.modules[runner.__name__] = runner
    activate("trap")
    buckets = import_module("sglang.srt.weight_sync.tensor_bucket")
    for names in BUCKETS:
        sent = buckets.FlattenedTensorBucket([(name, WEIGHTS[name]) for name in names])
        flat = {"flattened_tensor": sent.get_flattened_tensor(), "metadata": sent.get_metadata()}
        ModelRunner(load).update_weights_from_tensor(flat, "flattened_bucket")
        sent.get_flattened_tensor().fill_(0)  # the sender goes on
    # What a receiver unpacks into memory of its own is no part of an update, and owned.
    own = dict(buckets.FlattenedTensorBucket(list(WEIGHTS.items())).reconstruct_tensors())
    assert consumers.wrong_tensors(own, WEIGHTS) == []


def main() -> None:
    receiver, consumer = sys.argv[1:]
    kept: Kept = {}
    activate("trap")

    def keep(pairs: Iterable[Named]) -> None:
        kept.update(pairs)

    def copy(pairs: Iterable[Named]) -> None:
        again = list(pairs)  # a bucket may be read twice: by a model and by its drafter
        kept.update({name: weight.clone() for name, weight in again})
        assert all(torch.equal(kept[name], weight) for name, weight in again)

    globals()[receiver]({"keep": keep, "copy": copy}[consumer])
    seen: dict[str, Any] = {"count": len(kept)}
    if consumer == "keep":
        seen["raised"] = consumers.count_raises([weight.sum for weight in kept.values()])
    else:
        seen["wrong"] = consumers.wrong_tensors(kept, WEIGHTS)
    reads = report.take_stale_reads()
    seen["producers"] = sorted({read.lease.header().partition(" via ")[2] for read in reads})
    print(json.dumps(seen))


if __name__ == "__main__":
    main()
