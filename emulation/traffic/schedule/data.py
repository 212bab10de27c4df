# SPDX-License-Identifier: Apache-2.0
"""Data of a collective: arrays from a seed, sums in a fixed order, comparison with expected results."""

import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import lru_cache
from itertools import groupby
from typing import Final, Protocol, TypeVar, final, overload, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from emulation._engine import AgentArray, RandomElements, same_bytes
from emulation.errors import EmulationError
from emulation.traffic.frames.values import Combining, ElementType
from emulation.traffic.schedule.schedule import Combine, Goal, Schedule, Sliced, SlicedTraffic

__all__ = [
    "DTYPES",
    "Array",
    "Comparison",
    "DrawnInputs",
    "Inputs",
    "agent_arrays",
    "checked_by_sum",
    "checksums",
    "compare",
    "compare_with_goals",
    "element_type",
    "fold",
    "make_data",
    "make_inputs",
    "random_elements",
    "stays",
    "truth",
]

Array = NDArray[np.int32 | np.int64 | np.float32]

_T = TypeVar("_T")
_R = TypeVar("_R")

DTYPES: Final = {ElementType.INT32: np.dtype("<i4"), ElementType.FLOAT32: np.dtype("<f4")}
_KEPT_BYTES: Final = 1 << 28
"""Largest bytes of all ranks' inputs, and of their expected arrays, that are cached."""

_COMBINES: Final = {Combining.SUM: np.add, Combining.MAX: np.maximum, Combining.MIN: np.minimum}

_NAMES: Final = {"int32": ElementType.INT32, "float32": ElementType.FLOAT32}


def make_data(rank: int, elements: int, dtype: str, seed: int) -> Array:
    """Return a rank's random input: integers of the whole range, whose sums wrap, or standard normal float32.

    `dtype` is int32, int64 or float32; EmulationError for any other type.
    """
    if dtype == "int64":
        return np.random.default_rng((seed, rank)).integers(-(1 << 63), 1 << 63, elements, np.int64)
    if dtype not in _NAMES:
        raise EmulationError(f"element type {dtype!r} is not supported", remedy="use int32, int64 or float32")
    if dtype == "int32":
        array = np.empty(elements, np.int32)
        random_elements(rank, elements, seed).fill(array.view(np.uint32))
        return array
    return np.random.default_rng((seed, rank)).standard_normal(elements, dtype=np.float32)


def random_elements(rank: int, elements: int, seed: int) -> RandomElements:
    """Return the engine's generator of a rank's int32 input; it draws the same elements as numpy's."""
    state = np.random.PCG64((seed, rank)).state["state"]
    return RandomElements(divmod(state["state"], 1 << 64), divmod(state["inc"], 1 << 64), elements)


@runtime_checkable
class DrawnInputs(Protocol):
    """Input arrays of ranks whose random elements the engine can draw itself, without NumPy."""

    def drawn(self) -> Sequence[RandomElements] | None:
        """Return the generator of each rank's input; None unless elements are int32."""
        ...


@final
class Inputs(Sequence[Array]):
    """Inputs of all ranks, read-only; above _KEPT_BYTES in total, each access draws the array again."""

    def __init__(self, ranks: int, elements: int, dtype: str, seed: int) -> None:
        self._ranks, self._elements, self._dtype, self._seed = ranks, elements, dtype, seed
        self._kept: dict[int, Array] | None = {} if stays(ranks * elements * 4) else None

    def __len__(self) -> int:
        return self._ranks

    @overload
    def __getitem__(self, index: int) -> Array: ...

    @overload
    def __getitem__(self, index: slice) -> Sequence[Array]: ...

    def __getitem__(self, index: int | slice) -> Array | Sequence[Array]:
        ranks = range(self._ranks)[index]
        return [self._of(rank) for rank in ranks] if isinstance(ranks, range) else self._of(ranks)

    def __reduce__(self) -> tuple[type["Inputs"], tuple[int, int, str, int]]:
        return Inputs, (self._ranks, self._elements, self._dtype, self._seed)

    def _of(self, rank: int) -> Array:
        if self._kept is not None and rank in self._kept:
            return self._kept[rank]
        array = make_data(rank, self._elements, self._dtype, self._seed)
        array.setflags(write=False)
        if self._kept is not None:
            self._kept[rank] = array
        return array

    def drawn(self) -> Sequence[RandomElements] | None:
        """Return the generator of each rank's input; None unless elements are int32."""
        if self._dtype != "int32":
            return None
        return [random_elements(rank, self._elements, self._seed) for rank in range(self._ranks)]


def agent_arrays(
    inputs: Sequence[Array], threads: int = 1, ranks: Sequence[int] | None = None
) -> Iterable[Array | AgentArray]:
    """Return the initial arrays of the agents of `ranks` (default: all).

    The engine draws random int32 arrays; any other arrays are taken from `inputs`.
    """
    drawn = inputs.drawn() if isinstance(inputs, DrawnInputs) else None
    if drawn is None:
        return inputs if ranks is None else map(inputs.__getitem__, ranks)
    return _in_threads(
        RandomElements.array, drawn if ranks is None else [drawn[rank] for rank in ranks], threads
    )


def _in_threads(work: Callable[[_T], _R], items: Sequence[_T], threads: int) -> list[_R]:
    """Return the result of `work` for each item, in order, computed by up to `threads` threads.

    Threads save time only while `work` releases the interpreter lock.
    """
    if threads == 1:
        return [work(item) for item in items]
    with ThreadPoolExecutor(threads) as pool:
        return list(pool.map(work, items))


def stays(size: int) -> bool:
    """Return whether arrays of `size` bytes in total stay in memory."""
    return size <= _KEPT_BYTES


@lru_cache(maxsize=1)
def make_inputs(ranks: int, elements: int, dtype: str, seed: int) -> Inputs:
    """Return the inputs of all ranks; the last are cached, since variants of a scenario share them."""
    return Inputs(ranks, elements, dtype, seed)


def element_type(array: Array) -> ElementType:
    """Return the wire's element type of an array; EmulationError unless it is int32 or float32."""
    try:
        return _NAMES[array.dtype.name]
    except KeyError:
        raise EmulationError(
            f"arrays of {array.dtype} are not supported", remedy="use int32 or float32"
        ) from None


def fold(own: Array, rank: int, parts: Sequence[tuple[int, Array]]) -> None:
    """Add `parts`, (source, elements) in rank order, to `own` in place.

    The sum goes from left to right in the order of ranks, with `own` as the elements of `rank`.
    """
    if len(parts) == 1 or parts[0][0] > rank:
        for _, part in parts:  # a sum of two does not depend on the order
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
    """Return every rank's expected final array, by running the schedule in lockstep without frames."""
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


def checksums(sliced: Sliced, inputs: Sequence[Array]) -> list[int]:
    """Return the CRC-32 of every rank's expected final array."""
    if checked_by_sum(sliced, inputs[0].dtype.name):  # one array for all ranks, without the lockstep
        return [zlib.crc32(_proven.total_of(inputs).data)] * len(inputs)
    return [zlib.crc32(array.data) for array in truth(sliced, inputs)]


@final
@dataclass(frozen=True, slots=True)
class Comparison:
    """Result of a comparison; `first` describes the first wrong element, empty if there is none."""

    right: bool
    wrong_ranks: int
    first: str


def compare(
    results: Sequence[Array], inputs: Sequence[Array], sliced: Sliced, threads: int = 1
) -> Comparison:
    """Compare the final arrays of all ranks with the expected arrays of any collective.

    Every array must equal, bit for bit, the result of the schedule in lockstep, with its fixed order of sums.
    That result must fulfil the goals of the schedule: exactly for integers, within rounding for floats (for a
    sum of n terms, n eps times the sum of magnitudes). Where only the sum of all inputs fulfils the goals
    (`checked_by_sum`), arrays that equal it need no lockstep; `threads` compute and compare this sum.
    """
    if checked_by_sum(sliced, results[0].dtype.name):
        total = _proven.total_of(inputs, threads).view(np.uint8)
        if all(_in_threads(lambda result: _same(result, total), results, threads)):
            return Comparison(True, 0, "")
    expected, fault = _proven.of(inputs, sliced)
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


def compare_with_goals(
    results: Sequence[Array],
    inputs: Sequence[Array],
    goals: Sequence[Goal],
    operation: Combining = Combining.SUM,
    errors: NDArray[np.float64] | None = None,
    *,
    any_order: bool = False,
) -> Comparison:
    """Compare the final arrays of all ranks with the goals of a collective without transfers.

    Without transfers there is no schedule whose order of reductions the expected sums could follow.

    Args:
        results: Final array of each rank.
        inputs: Initial array of each rank.
        goals: Goals of the collective.
        operation: Operation that combines elements instead of sums.
        errors: Largest error of each float32 element before it is rounded, shape (elements,); None for the
            largest error of a sum in any order.
        any_order: With `errors`, allow the larger of `errors` and the largest error of a sum in any order.
    """
    deviations = _deviations(results, inputs, goals, operation, errors, any_order=any_order)
    wrong = [line for line in deviations if line]
    return Comparison(not wrong, len(wrong), next(iter(wrong), ""))


def _same(result: Array, total: NDArray[np.uint8]) -> bool:
    return same_bytes(np.ascontiguousarray(result).view(np.uint8), total)


def _sum_of(parts: Sequence[RandomElements]) -> Array:
    total = np.zeros(parts[0].count, np.uint32)
    for part in parts:
        part.add_to(total)
    return total.view(np.int32)


def checked_by_sum(sliced: SlicedTraffic, dtype: str) -> bool:
    """Return whether all arrays must equal the sum of the inputs at the end, whatever the schedule.

    This is true of an AllReduce of whole int32 arrays among all ranks: wrapping sums of integers do not
    depend on their order.
    """
    schedule = sliced.schedule
    if dtype != "int32" or len(schedule.purpose) != 1:
        return False
    goal = schedule.purpose[0]
    return (
        goal.kind == "allreduce"
        and sorted(goal.ranks) == list(range(schedule.ranks))
        and goal.pieces == (((0, schedule.elements),),)
    )


@final
class _Proven:
    """Cache of the latest sum of inputs and the latest expected arrays, for variants with equal inputs."""

    def __init__(self) -> None:
        self._summed: Sequence[Array] = ()
        self._total: Array | None = None
        self._inputs: Sequence[Array] = ()
        self._schedule: Schedule | None = None
        self._proof: tuple[list[Array], str] = ([], "")

    def total_of(self, inputs: Sequence[Array], threads: int = 1) -> Array:
        """Return the sum of the inputs, cached for read-only `Inputs`."""
        if inputs is self._summed and self._total is not None:
            return self._total
        drawn = inputs.drawn() if isinstance(inputs, DrawnInputs) else None
        if drawn is None:
            parts: Sequence[Array] = inputs
        else:
            shares = min(threads, len(drawn))
            parts = _in_threads(_sum_of, [drawn[share::shares] for share in range(shares)], shares)
        total = parts[0].copy()
        for rank in range(1, len(parts)):
            np.add(total, parts[rank], out=total)
        self._summed, self._total = (inputs, total) if isinstance(inputs, Inputs) else ((), None)
        return total

    def of(self, inputs: Sequence[Array], sliced: Sliced) -> tuple[list[Array], str]:
        """Return every rank's expected array, and the first contradiction to the goals, empty if none.

        The results are cached for read-only `Inputs` only, since other inputs may change.
        """
        if inputs is self._inputs and sliced.schedule == self._schedule:
            return self._proof
        self._inputs, self._schedule, self._proof = (), None, ([], "")  # frees the old arrays first
        expected = truth(sliced, inputs)
        proof = expected, _against_goals(expected, inputs, sliced.schedule.purpose)
        if isinstance(inputs, Inputs) and stays(sum(array.nbytes for array in expected)):
            self._inputs, self._schedule, self._proof = inputs, sliced.schedule, proof
        return proof


_proven = _Proven()


@final
class _Plain:
    """Arrays of all ranks after a sequence of goals, in plain arithmetic.

    Integers wrap and are exact. float32 is summed in double precision; `slack` is the largest error of a
    float32 sum in any order. Maxima and minima are exact. `known` is False for elements that a goal leaves
    undefined. `known` and `slack` have the shape (ranks, elements).
    """

    def __init__(self, inputs: Sequence[Array], operation: Combining = Combining.SUM) -> None:
        self.exact = inputs[0].dtype.kind == "i"
        self._combine = _COMBINES[operation]
        self.rows = [row.copy() if self.exact else row.astype(np.float64) for row in inputs]
        self.known = np.ones((len(inputs), inputs[0].size), np.bool_)
        self.slack = None if self.exact else np.zeros(self.known.shape)

    def apply(self, goal: Goal) -> None:
        """Replace the arrays by their content after a goal."""
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
                self._combine(total, self.rows[rank][where], out=total)
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
        if len(sources) > 1 and self._combine is np.add:
            magnitude = sum(np.abs(self.rows[rank][where]) for rank, where in sources)
            slack = slack + len(sources) * float(np.finfo(np.float32).eps) * magnitude
        return slack


def _against_goals(expected: Sequence[Array], inputs: Sequence[Array], goals: Sequence[Goal]) -> str:
    first = next(filter(None, _deviations(expected, inputs, goals)), "")
    return first and f"schedule brings {first}"


def _deviations(
    results: Sequence[Array],
    inputs: Sequence[Array],
    goals: Sequence[Goal],
    operation: Combining = Combining.SUM,
    errors: NDArray[np.float64] | None = None,
    *,
    any_order: bool = False,
) -> Iterator[str]:
    """Yield, for each rank, a text on the first element that contradicts the goals; empty if none does."""
    plain = _Plain(inputs, operation)
    for goal in goals:
        plain.apply(goal)
    if plain.slack is not None and errors is not None:
        rounded = float(np.finfo(np.float32).eps) * np.abs(np.stack(plain.rows))
        least = plain.slack if any_order else 0
        plain.slack = np.where(plain.slack > 0, np.maximum(errors + rounded, least), 0)
    for rank, (held, right) in enumerate(zip(results, plain.rows, strict=True)):
        # NaN compares unequal, so a NaN result counts as wrong.
        same = held == right if plain.slack is None else np.abs(right - held) <= plain.slack[rank]
        differs = np.flatnonzero(~same & plain.known[rank])
        at = int(differs[0]) if differs.size else -1
        yield "" if at < 0 else f"element {at} of rank {rank} to {held[at]} instead of {right[at]}"
