"""Finds and sets, inside a C++ StorageImpl, the flags that make torch refuse access to its data.

Nothing here rests on a fixed offset: every candidate is found by an effect that torch's public functions
have, and is believed only after a dummy has shown that a read raises and, once cleared, works again.
"""

from __future__ import annotations

import ctypes
import re
import struct
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import torch

_WINDOW = 80  # bytes; smaller than a StorageImpl of any torch from 2.6 on
_WORD = 8
_Window = ctypes.c_uint8 * _WINDOW
_MESSAGE_SLOTS = range(64, 96, _WORD)  # the Python object's pointer lies here, the message behind it
_MESSAGE_STRUCT = re.compile(r"struct [\w ]*StorageExtraMeta \{(.*?)\n\};", re.DOTALL)


@dataclass(frozen=True, slots=True)
class StorageLayout:
    """Where the flags lie, in bytes from the start of a StorageImpl."""

    has_check: int
    refuses_reads: int

    def set_flags(self, address: int, value: bool) -> None:
        """Set or clear both flags of the StorageImpl at `address`."""
        memory = _Window.from_address(address)
        memory[self.refuses_reads] = memory[self.has_check] = value


def _dummy() -> torch.Tensor:
    return torch.ones(4, device="cpu")


def _address(tensor: torch.Tensor) -> int:
    return tensor.untyped_storage()._cdata


def _read_error(tensor: torch.Tensor) -> str:
    try:
        tensor.sum()
    except RuntimeError as error:
        return str(error)
    return ""


def find_layout() -> StorageLayout | None:
    """Return where this torch keeps the flags, or None if they were not found."""
    probe = _dummy()
    before = ctypes.string_at(_address(probe), _WINDOW)
    torch._C._set_throw_on_mutable_data_ptr(probe)
    after = ctypes.string_at(_address(probe), _WINDOW)
    changed = [offset for offset in range(_WINDOW) if before[offset] != after[offset]]
    if len(changed) != 2 or changed[1] + 1 >= _WINDOW:
        return None
    has_check, refuses_writes = changed
    flags = StorageLayout(has_check, refuses_writes + 1)
    return flags if _flags_work(flags) else None


def _flags_work(layout: StorageLayout) -> bool:
    dummy = _dummy()
    if ctypes.string_at(_address(dummy) + layout.refuses_reads, 1) != b"\0":
        return False
    layout.set_flags(_address(dummy), True)
    refused = bool(_read_error(dummy))
    layout.set_flags(_address(dummy), False)
    return refused and not _read_error(dummy)


def find_message(flags: StorageLayout) -> int:
    """Return the offset of the pointer to the message that a refused read raises, 0 if it was not found."""
    if not _message_struct_is_known():
        return 0
    dummy = _dummy()
    storage = dummy.untyped_storage()
    for slot in _MESSAGE_SLOTS:
        owner, behind = struct.unpack("QQ", ctypes.string_at(storage._cdata + slot, 2 * _WORD))
        if owner & ~1 == id(storage) and behind == 0 and _message_works(dummy, flags, slot + _WORD):
            return slot + _WORD
    return 0


def _message_works(dummy: torch.Tensor, flags: StorageLayout, offset: int) -> bool:
    expected = "loaderlint asks whether torch reads this"
    plant_message(_address(dummy) + offset, expected)
    flags.set_flags(_address(dummy), True)
    works = _read_error(dummy) == expected
    flags.set_flags(_address(dummy), False)
    if not works:
        ctypes.memset(_address(dummy) + offset, 0, _WORD)
    return works


def _message_struct_is_known() -> bool:
    """Whether the message is one optional libstdc++ string and nothing else, as torch's own header says."""
    if not sys.platform.startswith("linux") or not torch._C._GLIBCXX_USE_CXX11_ABI or _new is None:
        return False
    header = Path(torch.__file__).parent / "include" / "c10" / "core" / "StorageImpl.h"
    try:
        body = _MESSAGE_STRUCT.search(header.read_text())
    except OSError:
        return False
    return body is not None and set(re.findall(r"\b\w+_\b", body[1])) == {"custom_data_ptr_error_msg_"}


def _operator_new() -> Callable[[int], int] | None:
    """Return C++'s operator new: torch will free with the matching delete what is planted here."""
    for library in (None, "libstdc++.so.6"):
        try:
            new = ctypes.PyDLL(library)._Znwm  # so short that giving up the interpreter's lock costs more
        except (OSError, AttributeError):
            continue
        new.restype, new.argtypes = ctypes.c_void_p, [ctypes.c_size_t]
        return new
    return None


_new = _operator_new() if sys.maxsize > 2**32 else None


class _Message(ctypes.Structure):
    """An optional libstdc++ string that is too long for its inner buffer."""

    _fields_ = (
        ("text", ctypes.c_size_t),
        ("length", ctypes.c_size_t),
        ("capacity", ctypes.c_size_t),
        ("inner_buffer", ctypes.c_size_t),
        ("is_engaged", ctypes.c_size_t),
    )


def plant_message(address: int, message: str) -> None:
    """Store, in the pointer at `address`, a new optional string that holds `message`."""
    raw = message.encode(errors="replace")
    length = len(raw)
    text = _new(length + 1)
    ctypes.memmove(text, raw, length + 1)  # with the zero that Python keeps behind all bytes
    place = _new(ctypes.sizeof(_Message))
    planted = _Message.from_address(place)
    planted.text, planted.inner_buffer, planted.is_engaged = text, 0, 1
    planted.length = planted.capacity = length
    ctypes.c_size_t.from_address(address).value = place
