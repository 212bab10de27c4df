# SPDX-License-Identifier: Apache-2.0
"""Number formats of values that switches combine: signed integers, most significant byte first.

Integers travel unchanged. For maxima and minima, float32 travels as integers of the same order, which is
exact. For sums, float32 travels as integers with a scale that all members agree on for each block.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

import numpy as np
from numpy.typing import NDArray

from emulation.traffic.frames.values import Combining
from emulation.traffic.schedule.data import Array
from emulation.traffic.tree.work import Work

__all__ = [
    "from_network",
    "scaled_bits",
    "sum_error",
    "sum_errors",
    "to_network",
]


def to_network(data: Array, operation: Combining) -> bytes:
    """Return an array as bytes of frames; for sums, float32 as is, since blocks are scaled later."""
    if data.dtype == np.float32:
        if operation is Combining.SUM:
            return np.ascontiguousarray(data, "<f4").tobytes()
        data = _ordered(data.view(np.int32))
    return data.astype(data.dtype.newbyteorder(">")).tobytes()


def from_network(content: bytes, dtype: np.dtype[np.generic], operation: Combining) -> Array:
    """Return the array of a member's bytes, the inverse of `to_network`."""
    if dtype == np.float32:
        if operation is Combining.SUM:
            return np.frombuffer(content, "<f4").astype(np.float32)
        return _ordered(np.frombuffer(content, ">i4").astype(np.int32)).view(np.float32)
    return cast(Array, np.frombuffer(content, dtype.newbyteorder(">")).astype(dtype))


def _ordered(bits: NDArray[np.int32]) -> NDArray[np.int32]:
    """Convert float32 bit patterns to integers ordered like the floats, or the integers back."""
    return np.where(bits < 0, bits ^ np.int32(0x7FFFFFFF), bits)


def scaled_bits(members: int) -> int:
    """Return b: a block's numbers of magnitude below 2**e travel as integers up to 2**b.

    The sum over `members` members then fits into a signed integer of 32 bits.
    """
    return 30 - (members - 1).bit_length()


def sum_errors(work: Work, inputs: Sequence[Array]) -> NDArray[np.float64] | None:
    """Return the largest absolute error of each element's sum, shape (elements,); None unless scaled."""
    if not work.scaled:
        return None
    errors = np.zeros(inputs[0].size)
    for block in (block for blocks in work.by_tree for block in blocks):
        largest = max(float(np.abs(data[block.start : block.stop]).max()) for data in inputs)
        errors[block.start : block.stop] = sum_error(len(inputs), largest)
    return errors


def sum_error(members: int, largest: float) -> float:
    """Return the largest absolute error of a scaled sum before it is rounded to float32.

    `largest` is the largest magnitude that any member has in the block. Each member rounds to a multiple of
    2**(e - b), with an error of at most half of that, and 2**e is at most twice `largest`.
    """
    return members * largest * 2.0 ** -scaled_bits(members)
