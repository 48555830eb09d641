"""Stands in for InstantTensor's C part where there is no GPU: a small ring in host memory, written in turns.

It has the functions that the Python part of 0.1.8 to 0.2.2 calls, and says nothing about their speed.
"""

from __future__ import annotations

import builtins
from typing import Any

import torch

_ALIGNMENT = 64

MAX_IO_DEPTH = 1024
MAX_CHUNK_SIZE = 1 << 30


class _Loader:
    def __init__(self, files: list[str], offsets: list[tuple[int, int]]) -> None:
        self.contents = []
        for file in files:
            with builtins.open(file, "rb") as opened:
                self.contents.append(opened.read())
        # The end of a file is an offset too, and begins no tensor.
        ends = [index for index in range(len(offsets) - 1) if offsets[index][0] != offsets[index + 1][0]]
        self.starts = [offset for index, offset in enumerate(offsets[:-1]) if index not in ends]
        sizes = [after - before for (_, before), (_, after) in zip(offsets, offsets[1:], strict=False)]
        self.ring = torch.empty(max(sizes) + _ALIGNMENT, dtype=torch.int8)
        self.next = 0

    def read(self, index: int, size: int) -> torch.Tensor:
        file, start = self.starts[index]
        if self.next + size > self.ring.numel():
            self.next = 0
        place = self.ring[self.next : self.next + size]
        if size:
            place.copy_(torch.frombuffer(self.contents[file], dtype=torch.int8, offset=start, count=size))
        self.next += -(-size // _ALIGNMENT) * _ALIGNMENT
        return place


def open(files: list[str], device: int, communicator: int, buffer_size: int, *rest: Any) -> _Loader:  # noqa: A001
    offsets = next(value for value in rest if isinstance(value, list))
    return _Loader(files, offsets)


def get_dl_tensor(loader: _Loader, index: int, size: int) -> torch.Tensor:
    return loader.read(index, size)


def close(loader: _Loader) -> None:
    loader.ring.fill_(0x55)


def cleanup() -> None: ...


def init() -> None: ...


def file_in_memory(file: str) -> bool:
    return False


def backend_available(backend: Any) -> bool:
    return True


def backend_status(backend: Any) -> tuple[bool, str, str]:
    return True, "", ""


def backend_values() -> dict[str, int]:
    names = ["AIO", "AIO_BUFFERED", "URING", "URING_BUFFERED", "CUFILE", "MMAP"]
    return {name: number for number, name in enumerate(names)}


def required_buffer_size_for_io(chunk_size: int, depth: int, ranks: int) -> int:
    return chunk_size * depth * ranks
