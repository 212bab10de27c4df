# SPDX-License-Identifier: Apache-2.0
"""Memory of GPUs on symbols: each chunk holds a sum of inputs, compared with a collective's result."""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import final

from harness.formats.text import FileLocation

__all__ = ["COLLECTIVES", "MAX_CHUNKS", "Sum", "Symbols", "share_buffers"]

Sum = Counter[tuple[int, int]]
"""Counts of inputs by (GPU, chunk)."""

MAX_CHUNKS = 1 << 16
"""Chunks of a buffer of a GPU, at most."""

# Work of a proof: terms of sums that are written or compared; a part of them for each byte of the file.
_TERMS = 1 << 18
_TERMS_PER_BYTE = 64


@final
class Symbols:
    """Memory of all GPUs.

    Args:
        path: File of the algorithm, for errors.
        collective: Name of the collective.
        chunks: Chunks of each GPU's buffers i, o and s, completed by `share_buffers`.
        in_place: Input and output are the same memory.
    """

    def __init__(
        self, path: Path, collective: str, chunks: Sequence[dict[str, int]], *, in_place: bool
    ) -> None:
        self._path = path
        self._collective = collective
        self._buffers = chunks
        self._left = _TERMS + _TERMS_PER_BYTE * path.stat().st_size
        shifts = _ALIAS.get(collective) if in_place else None
        share_buffers(chunks, collective, in_place=in_place)
        self.first = [_locations(rank, buffers, shifts) for rank, buffers in enumerate(chunks)]
        self._written: list[dict[int, Sum]] = [{} for _ in chunks]

    def get(self, rank: int, chunk: int) -> Sum | None:
        """Return the sum at a location of a GPU's memory; None if nothing has written it."""
        value = self._written[rank].get(chunk)
        number = chunk - self.first[rank]["i"]
        if value is None and 0 <= number < self._buffers[rank]["i"]:
            return Counter({(rank, number): 1})
        return value

    def put(self, rank: int, chunk: int, value: Sum) -> None:
        """Write a sum."""
        self.spend(len(value))
        self._written[rank][chunk] = value

    def spend(self, terms: int) -> None:
        """Count terms of sums, or names of operations that a step waits for; FormatError beyond a bound."""
        self._left -= max(terms, 1)
        if self._left < 0:
            FileLocation(self._path).refuse(
                "steps that move, add or wait for more than a proof can follow", "take fewer chunks or GPUs"
            )

    def prove(self) -> bool:
        """Compare the outputs with the collective; return False if it is not known.

        FormatError names the first output that is another sum.
        """
        expected = COLLECTIVES.get(self._collective)
        if expected is None:
            return False
        for rank, buffers in enumerate(self._buffers):
            for chunk in range(buffers["o"]):
                value = self.get(rank, self.first[rank]["o"] + chunk) or Counter()
                wanted = expected(rank, chunk, len(self._buffers), self._buffers[0])
                self.spend(len(value))
                if value != wanted:
                    FileLocation(self._path).refuse(
                        f"output chunk {chunk} of GPU {rank} is the sum of {_text(value)}, but "
                        f"{self._collective} wants {_text(wanted)}"
                    )
        return True


def share_buffers(chunks: Sequence[dict[str, int]], collective: str, *, in_place: bool) -> None:
    """Give the smaller of two shared buffers its part of the larger one, where a file leaves it empty."""
    shifts = _ALIAS.get(collective) if in_place else None
    if shifts is None:
        return
    for buffers in chunks:
        inputs, outputs = buffers["i"], buffers["o"]
        buffers["i"] = inputs or (outputs // len(chunks) if shifts[0] else outputs)
        buffers["o"] = outputs or (inputs // len(chunks) if shifts[1] else inputs)


def _locations(rank: int, chunks: Mapping[str, int], shifts: tuple[int, int] | None) -> dict[str, int]:
    """Return the first chunk of each buffer in a GPU's memory; x lies behind all buffers."""
    if shifts is not None:
        first = {buffer: shift * rank * chunks[buffer] for buffer, shift in zip("io", shifts, strict=True)}
        size = max(first[buffer] + chunks[buffer] for buffer in "io")
    else:
        first, size = {"i": 0, "o": chunks["i"]}, chunks["i"] + chunks["o"]
    return first | {"s": size, "x": size + chunks["s"]}


def _text(value: Sum) -> str:
    parts = [
        f"{count} x {gpu}:{chunk}" if count > 1 else f"{gpu}:{chunk}"
        for (gpu, chunk), count in sorted(value.items())
    ]
    return " + ".join(parts[:8]) + (" + ..." if len(parts) > 8 else "") or "nothing"


def _allreduce(_: int, chunk: int, size: int, __: Mapping[str, int]) -> Sum:
    return Counter({(gpu, chunk): 1 for gpu in range(size)})


def _allgather(_: int, chunk: int, __: int, chunks: Mapping[str, int]) -> Sum:
    return Counter({divmod(chunk, chunks["i"] or 1): 1})


def _reduce_scatter(rank: int, chunk: int, size: int, chunks: Mapping[str, int]) -> Sum:
    return Counter({(gpu, rank * chunks["o"] + chunk): 1 for gpu in range(size)})


def _alltoall(rank: int, chunk: int, size: int, chunks: Mapping[str, int]) -> Sum:
    each = chunks["i"] // size or 1
    return Counter({(chunk // each, rank * each + chunk % each): 1})


COLLECTIVES: Mapping[str, Callable[[int, int, int, Mapping[str, int]], Sum]] = {
    "allreduce": _allreduce,
    "allgather": _allgather,
    "reduce_scatter": _reduce_scatter,
    "reducescatter": _reduce_scatter,
    "alltoall": _alltoall,
}
"""Results of collectives: the sum in an output chunk by GPU, chunk, number of GPUs and chunks of GPU 0."""

# Collectives that can work in place, and how many times its own part a GPU's input and output are shifted.
_ALIAS = {"allreduce": (0, 0), "allgather": (1, 0), "reduce_scatter": (0, 1), "reducescatter": (0, 1)}
