# SPDX-License-Identifier: Apache-2.0
"""The numbers a collective carries: made from a seed, summed in one order, compared with the truth."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Final, final

import numpy as np
from numpy.typing import NDArray

from emulation.errors import EmulationError
from emulation.traffic.frames.layers import ElementType
from emulation.traffic.schedule.schedule import Combine, Goal, Sliced

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
    rows = [row.copy() for row in inputs]
    for _, group in groupby(sliced.arrivals, key=lambda arrival: arrival.phase.step):
        after: list[tuple[int, int, Array]] = []
        for arrival in group:
            length = arrival.length
            parts = [(source, rows[source][low : low + length]) for source, low in arrival.origins]
            if arrival.phase.op is Combine.COPY:
                value = parts[0][1].copy()
            else:
                value = rows[arrival.target][arrival.offset : arrival.offset + length].copy()
                fold(value, arrival.target, parts)
            after.append((arrival.target, arrival.offset, value))
        for rank, offset, value in after:
            rows[rank][offset : offset + value.size] = value
    return rows


@final
@dataclass(frozen=True, slots=True)
class Comparison:
    """Whether every rank is right, and how many are not; `first` names the first wrong element found."""

    right: bool
    wrong_ranks: int
    first: str


def compare(results: Sequence[Array], inputs: Sequence[Array], sliced: Sliced) -> Comparison:
    """Compare what the ranks hold with arithmetic, whatever collectives the schedule is of.

    Every rank must hold, bit for bit, what the schedule in lockstep gives in its fixed order of sums. That
    itself must be what the goals of the schedule promise: exactly for integers, within rounding for floats
    (for every sum of n, n eps times the sum of magnitudes).
    """
    expected = truth(sliced, inputs)
    fault = _against_goals(expected, inputs, sliced.schedule.purpose)
    if fault:
        return Comparison(False, len(results), fault)
    wrong = 0
    first = ""
    for rank, (result, right) in enumerate(zip(results, expected, strict=True)):
        differs = np.flatnonzero(result.view(np.uint32) != right.view(np.uint32))
        if differs.size:
            wrong += 1
            at = int(differs[0])
            first = first or f"rank {rank} element {at}: {result[at]} instead of {right[at]}"
    return Comparison(not wrong, wrong, first)


@final
class _Plain:
    """The ranks' arrays as the goals say, one after the other, in plain arithmetic.

    int32 wraps and is exact. Of float32 the sums are in double precision, and `slack` is by how much a
    float32 sum in any order may differ. `known` is False where a goal leaves what it likes.
    """

    def __init__(self, inputs: Sequence[Array]) -> None:
        self.exact = inputs[0].dtype == np.int32
        self.rows = [row.copy() if self.exact else row.astype(np.float64) for row in inputs]
        self.known = np.ones((len(inputs), inputs[0].size), np.bool_)
        self.slack = None if self.exact else np.zeros(self.known.shape)

    def apply(self, goal: Goal) -> None:
        after = []
        for holds in goal.holds():
            low, length = holds.offset, holds.length
            if not holds.sources:
                after.append((holds.ranks, low, length, None, None, False))
                continue
            sources = [(rank, slice(there, there + length)) for rank, there in holds.sources]
            total = self.rows[sources[0][0]][sources[0][1]].copy()
            known = self.known[sources[0]].copy()
            for rank, where in sources[1:]:
                np.add(total, self.rows[rank][where], out=total)
                known &= self.known[rank, where]
            after.append((holds.ranks, low, length, total, self._slack(sources), known))
        for ranks, low, length, total, slack, known in after:
            for rank in ranks:
                self.known[rank, low : low + length] = known
                if total is not None:
                    self.rows[rank][low : low + length] = total
                if slack is not None and self.slack is not None:
                    self.slack[rank, low : low + length] = slack

    def _slack(self, sources: Sequence[tuple[int, slice]]) -> NDArray[np.float64] | None:
        if self.slack is None:
            return None
        slack = sum(self.slack[source] for source in sources)
        assert isinstance(slack, np.ndarray)
        if len(sources) > 1:
            magnitude = sum(np.abs(self.rows[rank][where]) for rank, where in sources)
            slack = slack + len(sources) * float(np.finfo(np.float32).eps) * magnitude
        return slack


def _against_goals(expected: Sequence[Array], inputs: Sequence[Array], goals: Sequence[Goal]) -> str:
    plain = _Plain(inputs)
    for goal in goals:
        plain.apply(goal)
    for rank, (held, right) in enumerate(zip(expected, plain.rows, strict=True)):
        # A NaN is not the same.
        same = held == right if plain.slack is None else np.abs(right - held) <= plain.slack[rank]
        differs = np.flatnonzero(~same & plain.known[rank])
        if differs.size:
            at = int(differs[0])
            return f"schedule brings element {at} of rank {rank} to {held[at]} instead of {right[at]}"
    return ""
