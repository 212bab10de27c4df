# SPDX-License-Identifier: Apache-2.0
"""Symbolic memory of GPUs: a chunk holds a sum of input chunks, to compare with a collective's result."""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import final

from harness.formats.text import FileLocation

__all__ = ["COLLECTIVES", "MAX_CHUNKS", "Sum", "Symbols", "share_buffers"]

Sum = Counter[tuple[int, int]]
"""A sum of input chunks: how often each (GPU, chunk) occurs in the sum."""

MAX_CHUNKS = 1 << 16
"""Largest number of chunks of a GPU's buffer."""

# Limit on the work of a symbolic execution, in terms of sums that are written or compared; it grows with the
# file, so that a small hostile file cannot keep the importer busy.
_TERMS = 1 << 18
_TERMS_PER_BYTE = 64


@final
class Symbols:
    """Symbolic memory of all GPUs, to follow which inputs each chunk of a buffer contains.

    Args:
        path: File of the algorithm or plan, for error messages.
        collective: Name of the collective.
        chunks: For each GPU, number of chunks of its buffers i, o and s; `share_buffers` completes them.
        in_place: Input and output share memory if the collective allows it.
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
        """Return the sum in a chunk of a GPU's memory.

        An input chunk that has not been overwritten holds itself; any other chunk without a write holds None.
        """
        value = self._written[rank].get(chunk)
        number = chunk - self.first[rank]["i"]
        if value is None and 0 <= number < self._buffers[rank]["i"]:
            return Counter({(rank, number): 1})
        return value

    def put(self, rank: int, chunk: int, value: Sum) -> None:
        """Write a sum to a chunk of a GPU's memory."""
        self.spend(len(value))
        self._written[rank][chunk] = value

    def spend(self, terms: int) -> None:
        """Count work: terms of sums, or dependencies of a step. Raises FormatError above the limit."""
        self._left -= max(terms, 1)
        if self._left < 0:
            FileLocation(self._path).refuse(
                "the steps move, add or wait for too much data to check the result",
                "use fewer chunks or GPUs",
            )

    def prove(self) -> bool:
        """Compare the outputs with the collective's result; return False if the collective is unknown.

        Raises FormatError with the first output chunk that differs from the result.
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
                        f"{self._collective} wants {_text(wanted)} (GPU:chunk of the inputs)",
                        "correct the steps that compute this chunk",
                    )
        return True


def share_buffers(chunks: Sequence[dict[str, int]], collective: str, *, in_place: bool) -> None:
    """Complete sizes of shared buffers: a file may give 0 chunks for an input or output that shares memory.

    The missing size follows from the other buffer, for example 1/GPUs of an all-gather's output for its
    input. Does nothing unless `in_place` is true and the collective can share buffers.
    """
    shifts = _ALIAS.get(collective) if in_place else None
    if shifts is None:
        return
    for buffers in chunks:
        inputs, outputs = buffers["i"], buffers["o"]
        buffers["i"] = inputs or (outputs // len(chunks) if shifts[0] else outputs)
        buffers["o"] = outputs or (inputs // len(chunks) if shifts[1] else inputs)


def _locations(rank: int, chunks: Mapping[str, int], shifts: tuple[int, int] | None) -> dict[str, int]:
    """Return the first chunk of each buffer in a GPU's memory; x is extra scratch memory behind all buffers.

    `shifts` is the entry of `_ALIAS` if input and output share memory, else None.
    """
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
"""Expected results of collectives.

Each function returns the sum in an output chunk, from the GPU, the chunk, the number of GPUs and the numbers
of chunks of GPU 0's buffers.
"""

# Collectives that can work in place, with a shift for input and output. With shift 1, the buffer of GPU g
# begins at g times its size in the shared memory: each GPU's buffer is a different part of the larger buffer.
_ALIAS = {"allreduce": (0, 0), "allgather": (1, 0), "reduce_scatter": (0, 1), "reducescatter": (0, 1)}
