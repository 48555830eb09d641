"""A small checkpoint file, and the real stream of it that a loader of an engine is fed with."""

from __future__ import annotations

import json
import os
import struct
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import torch
from case import SHAPE, Case

Named = tuple[str, torch.Tensor]


def tensors_of(case: Case) -> dict[str, torch.Tensor]:
    """Return the tensors of the case's checkpoint: the n-th holds n throughout."""
    return {
        name: torch.full(case.shapes.get(name, SHAPE), float(number))
        for number, name in enumerate(case.checkpoint, start=1)
    }


def write(tensors: dict[str, torch.Tensor], file: Path) -> None:
    """Write float32 tensors as a safetensors file that has them in the given order, which safetensors sorts."""
    header, end = {}, 0
    for name, tensor in tensors.items():
        begin, end = end, end + tensor.nbytes
        header[name] = {"dtype": "F32", "shape": list(tensor.shape), "data_offsets": [begin, end]}
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    data = b"".join(tensor.numpy().tobytes() for tensor in tensors.values())
    file.write_bytes(struct.pack("<Q", len(text)) + text + data)


@contextmanager
def stream(file: Path, owned: bool) -> Iterator[Iterator[Named]]:
    """Give the tensors of the file as RunAI Model Streamer does from its smallest buffer, in the file's order."""
    from runai_model_streamer import SafetensorsStreamer

    os.environ["RUNAI_STREAMER_MEMORY_LIMIT"] = "0"
    os.environ["RUNAI_STREAMER_CONCURRENCY"] = "1"
    with SafetensorsStreamer() as streamer:
        streamer.stream_files([str(file)], owned=owned)
        yield streamer.get_tensors()
