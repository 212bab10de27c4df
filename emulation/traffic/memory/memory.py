# SPDX-License-Identifier: Apache-2.0
"""Memory lent by a node, and the effect of each operation on it."""

import struct
from typing import Final, final

from emulation.errors import EmulationError
from emulation.traffic.frames.values import Operation, Status

__all__ = ["ATOMIC_BYTES", "Memory", "operands"]

ATOMIC_BYTES: Final = 8
"""Bytes of an atomic's word: unsigned, little-endian, at an address that is a multiple. Sums wrap."""

_WORD = struct.Struct("<Q")
_MASK = (1 << 64) - 1


def operands(*values: int) -> bytes:
    """Return the data of an atomic: the addend of FETCH_ADD, or expected and new value of COMPARE_SWAP."""
    return b"".join(_WORD.pack(value & _MASK) for value in values)


@final
class Memory:
    """Memory of `size` bytes from address 0 on, initially 0; EmulationError for an invalid size."""

    def __init__(self, size: int) -> None:
        if not 0 <= size <= 1 << 40:
            raise EmulationError(
                f"a memory cannot have {size} bytes", remedy="use a value from 0 to 1099511627776"
            )
        self._bytes = bytearray(size)

    @property
    def content(self) -> bytes:
        """All bytes."""
        return bytes(self._bytes)

    def execute(self, operation: Operation, address: int, length: int, data: bytes) -> tuple[Status, bytes]:
        """Execute an operation; return its status, and the bytes that a load or an atomic has read.

        `length` counts the bytes of a load. An operation that fails changes nothing.
        """
        size = {Operation.LOAD: length, Operation.STORE: len(data)}.get(operation, ATOMIC_BYTES)
        if address + size > len(self._bytes):
            return Status.OUTSIDE, b""
        end = address + size
        before = bytes(self._bytes[address:end])
        if operation is Operation.LOAD:
            return Status.DONE, before
        if operation is Operation.STORE:
            self._bytes[address:end] = data
            return Status.DONE, b""
        words = len(data) // ATOMIC_BYTES
        if address % ATOMIC_BYTES or len(data) % ATOMIC_BYTES or words != _OPERANDS.get(operation):
            return Status.UNALIGNED, b""
        if operation is Operation.FETCH_ADD:
            total = _WORD.unpack(before)[0] + _WORD.unpack(data)[0]
            self._bytes[address:end] = _WORD.pack(total & _MASK)
        elif before == data[:ATOMIC_BYTES]:
            self._bytes[address:end] = data[ATOMIC_BYTES:]
        return Status.DONE, before


_OPERANDS: Final = {Operation.FETCH_ADD: 1, Operation.COMPARE_SWAP: 2}
