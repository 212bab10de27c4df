# SPDX-License-Identifier: Apache-2.0
"""AllReduce schedules for full-mesh fabrics, and the least time each can take."""

from collections.abc import Sequence
from itertools import pairwise
from math import prod

from emulation.errors import EmulationError
from emulation.traffic.schedule import Combine, Schedule, Transfer

__all__ = [
    "allreduce_bound_ps",
    "allreduce_halves",
    "allreduce_ring",
    "mesh_ring",
    "ring_bound_ps",
]

_PS_PER_SECOND = 1_000_000_000_000


def _cut(low: int, high: int, parts: int) -> list[tuple[int, int]]:
    """Cut a range into parts whose lengths differ by one at most."""
    size = high - low
    ends = [low + size * part // parts for part in range(parts + 1)]
    return list(pairwise(ends))


def allreduce_halves(dims: Sequence[int], elements: int) -> Schedule:
    """AllReduce over a 2D full mesh in two halves at once, the first X-first, the second Y-first.

    Each half: reduce-scatter along its first dimension, then along its second, all-gather back along the
    second, then along the first, always by direct sends to all peers of the line. A rank is x + X * y.
    """
    if len(dims) != 2 or min(dims) < 1 or prod(dims) < 2:
        raise EmulationError(f"mesh of dimensions {tuple(dims)}: halves need two, and two ranks or more")
    transfers: list[Transfer] = []

    def send(step: int, source: int, target: int, part: tuple[int, int], op: Combine) -> None:
        if source != target and part[1] > part[0]:
            transfers.append(Transfer(step, source, target, part[0], part[1] - part[0], op))

    stride = (1, dims[0])
    for first, half in enumerate(_cut(0, elements, 2)):
        second = 1 - first
        portions = _cut(*half, dims[first])
        pieces = [_cut(*portion, dims[second]) for portion in portions]
        for i in range(dims[first]):
            for j in range(dims[second]):
                me = i * stride[first] + j * stride[second]
                for i2 in range(dims[first]):
                    peer = i2 * stride[first] + j * stride[second]
                    send(0, me, peer, portions[i2], Combine.REDUCE)
                    send(3, me, peer, portions[i], Combine.COPY)
                for j2 in range(dims[second]):
                    peer = i * stride[first] + j2 * stride[second]
                    send(1, me, peer, pieces[i][j2], Combine.REDUCE)
                    send(2, me, peer, pieces[i][j], Combine.COPY)
    return Schedule(f"allreduce-halves-{dims[0]}x{dims[1]}", prod(dims), elements, tuple(transfers))


def allreduce_ring(order: Sequence[int], elements: int) -> Schedule:
    """AllReduce along one directed ring: each rank passes a chunk a step to the next rank of `order`."""
    ranks = len(order)
    if ranks < 2 or sorted(order) != list(range(ranks)):
        raise EmulationError(f"ring {tuple(order)}: it must name every rank from 0 exactly once, two or more")
    chunks = _cut(0, elements, ranks)
    transfers = []
    for step in range(2 * (ranks - 1)):
        op = Combine.REDUCE if step < ranks - 1 else Combine.COPY
        for place, source in enumerate(order):
            low, high = chunks[(place - step) % ranks]
            if high > low:
                target = order[(place + 1) % ranks]
                transfers.append(Transfer(step, source, target, low, high - low, op))
    return Schedule(f"allreduce-ring-{ranks}", ranks, elements, tuple(transfers))


def mesh_ring(dims: Sequence[int]) -> tuple[int, ...]:
    """A Hamiltonian ring of a 2D full mesh, every hop a direct link.

    To and fro through the rows without column 0, then back along column 0.
    """
    if len(dims) != 2 or min(dims) < 1 or prod(dims) < 2:
        raise EmulationError(f"mesh of dimensions {tuple(dims)}: a ring needs two, and two ranks or more")
    columns, rows = dims
    forth = [x + columns * y for y in range(rows) for x in range(1, columns)[:: -1 if y % 2 else 1]]
    back = [columns * y for y in reversed(range(rows))]
    return tuple(forth + back)


def allreduce_bound_ps(dims: Sequence[int], data_bytes: int, rate_bps: int) -> float:
    """Least time of an AllReduce over a full mesh with every link at `rate_bps` each way.

    2 (n - 1)/n D over the links of a node; for 8x8, 2 (63/64) D/(14 B) = 0.140625 D/B. Derived from UB-Mesh's
    2D-FullMesh; the paper does not state it.
    """
    ranks = prod(dims)
    links = sum(size - 1 for size in dims)
    return 2 * (ranks - 1) / ranks * data_bytes * 8 / (links * rate_bps) * _PS_PER_SECOND


def ring_bound_ps(ranks: int, data_bytes: int, rate_bps: int) -> float:
    """Least time of an AllReduce along one directed ring: each rank sends 2 (n - 1)/n D on one link."""
    return 2 * (ranks - 1) / ranks * data_bytes * 8 / rate_bps * _PS_PER_SECOND
