# SPDX-License-Identifier: Apache-2.0
"""The numbers a collective carries: made from a seed, summed in one order, compared with the truth."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, final

import numpy as np
from numpy.typing import NDArray

from emulation.errors import EmulationError
from emulation.traffic.frames import ElementType
from emulation.traffic.schedule import Phase, Sliced, evaluate

__all__ = ["DTYPES", "Array", "Comparison", "compare", "element_type", "fold", "make_data", "truth"]

Array = NDArray[np.int32 | np.float32]

DTYPES: Final = {ElementType.INT32: np.dtype("<i4"), ElementType.FLOAT32: np.dtype("<f4")}
_NAMES: Final = {"int32": ElementType.INT32, "float32": ElementType.FLOAT32}


def make_data(rank: int, elements: int, dtype: str, seed: int) -> Array:
    """A rank's input: the whole range for int32, whose sums wrap, and the standard normal for float32."""
    if dtype not in _NAMES:
        raise EmulationError(f"element type {dtype!r}", remedy="use int32 or float32")
    random = np.random.default_rng((seed, rank))
    if dtype == "int32":
        return random.integers(-(1 << 31), 1 << 31, elements, dtype=np.int32)
    return random.standard_normal(elements, dtype=np.float32)


def element_type(array: Array) -> ElementType:
    """The wire's name for an array's elements; EmulationError for others than int32 and float32."""
    try:
        return _NAMES[array.dtype.name]
    except KeyError:
        raise EmulationError(f"array of {array.dtype}", remedy="use int32 or float32") from None


def fold(own: Array, rank: int, parts: Sequence[tuple[int, Array]]) -> None:
    """Add `parts`, (source, elements) in rank order, to `own` in place.

    The sum goes from left to right, lowest rank first, with `own` at the place of `rank`.
    """
    if len(parts) == 1 or parts[0][0] > rank:
        for _, part in parts:  # of two, either may come first: their sum is the same
            np.add(own, part, out=own)
        return
    total = parts[0][1]
    waiting = True
    for source, part in parts[1:]:
        if waiting and source > rank:
            total = np.add(total, own, out=own)
            waiting = False
        total = np.add(total, part, out=None if waiting else own)
    if waiting:
        np.add(total, own, out=own)


def truth(sliced: Sliced, inputs: Sequence[Array]) -> list[Array]:
    """What every rank must hold at the end, bit for bit: the schedule in lockstep, without frames."""

    def reduce(rank: int, phase: Phase, cell: int, own: Array, parts: list[tuple[int, Array]]) -> Array:
        result = own.copy()
        fold(result, rank, parts)
        return result

    start = [[row[low : low + length] for low, length in sliced.cells] for row in inputs]
    return [np.concatenate(row) for row in evaluate(sliced, start, reduce)]


@final
@dataclass(frozen=True, slots=True)
class Comparison:
    """Whether every rank is right, and how many are not; `first` names the first wrong element found."""

    right: bool
    wrong_ranks: int
    first: str


def compare(results: Sequence[Array], inputs: Sequence[Array], sliced: Sliced) -> Comparison:
    """Compare an AllReduce with arithmetic.

    Every rank must hold, bit for bit, the schedule's fixed-order sum, which itself must be the plain sum:
    exactly for integers, within rounding for floats (n eps times the sum of magnitudes).
    """
    expected = truth(sliced, inputs)[0]
    fault = _against_plain_sum(expected, inputs)
    if fault:
        return Comparison(False, len(results), fault)
    wrong = 0
    first = ""
    for rank, result in enumerate(results):
        differs = np.flatnonzero(result.view(np.uint32) != expected.view(np.uint32))
        if differs.size:
            wrong += 1
            at = int(differs[0])
            first = first or f"rank {rank} element {at}: {result[at]} instead of {expected[at]}"
    return Comparison(not wrong, wrong, first)


def _against_plain_sum(expected: Array, inputs: Sequence[Array]) -> str:
    if expected.dtype == np.int32:
        plain = np.zeros_like(expected)
        for row in inputs:
            np.add(plain, row, out=plain)
        differs = np.flatnonzero(plain != expected)
    else:
        plain = np.zeros(expected.shape, np.float64)
        magnitude = np.zeros(expected.shape, np.float64)
        for row in inputs:
            plain += row
            magnitude += np.abs(row)
        slack = len(inputs) * float(np.finfo(np.float32).eps) * magnitude
        # Written so that a NaN differs.
        differs = np.flatnonzero(~(np.abs(plain - expected) <= slack))
    if not differs.size:
        return ""
    at = int(differs[0])
    return f"schedule sums element {at} to {expected[at]} instead of {plain[at]}"
