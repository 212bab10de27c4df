# SPDX-License-Identifier: Apache-2.0
"""Float32 numbers of a sum in switches as integers, with a scale for each block."""

from typing import Final

import numpy as np

from emulation.traffic.schedule.data import Array

__all__ = ["NO_SCALE", "block_scale", "from_scaled", "to_scaled"]

NO_SCALE: Final = 0xFFFF
"""Scale of a block that contains infinity or NaN: its results are NaN."""

_SCALE_ZERO: Final = 512
"""Scale of a block of magnitudes below 2**0 (e = 0); a block of zeros has scale 0."""


def block_scale(values: Array) -> int:
    """Return the 16-bit scale of a block: the least e with all magnitudes below 2**e, plus 512."""
    if not np.isfinite(values).all():
        return NO_SCALE
    largest = float(np.abs(values).max(initial=0))
    return 0 if largest == 0 else int(np.frexp(largest)[1]) + _SCALE_ZERO


def to_scaled(values: Array, scale: int, bits: int) -> Array:
    """Convert float32 numbers to int32 multiples of 2**(e - b), rounded to the nearest, ties to even.

    e follows from the 16-bit `scale` (`block_scale`), and b is `bits`.
    """
    if scale in (0, NO_SCALE):
        return np.zeros(len(values), np.int32)
    return np.rint(np.ldexp(values.astype(np.float64), bits - scale + _SCALE_ZERO)).astype(np.int32)


def from_scaled(sums: Array, scale: int, bits: int) -> Array:
    """Convert sums of the integers of `to_scaled` to float32; NaN if `scale` is NO_SCALE."""
    if scale == NO_SCALE:
        return np.full(len(sums), np.nan, np.float32)
    if scale == 0:
        return np.zeros(len(sums), np.float32)
    return np.ldexp(sums.astype(np.float64), scale - _SCALE_ZERO - bits).astype(np.float32)
