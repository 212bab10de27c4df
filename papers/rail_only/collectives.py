# SPDX-License-Identifier: Apache-2.0
"""The paper's equations of collectives over x GPUs of each of y domains (Rail-only).

C_F is what a GPU sends inside of its domain, C_S what it sends by its NIC, both bits a second and each way.
Seconds come out; data is in bytes: the whole array of AllGather, ReduceScatter and AllReduce, and what one
GPU has for each other of All-to-All. Latency is not counted.

On rails All-to-All takes two steps: each GPU sends along its rail what is for any GPU of a domain, then
domains exchange inside. Rail-optimised, a NIC reaches all GPUs, and the slower of the two networks decides.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import final

from harness.errors import ModelError

__all__ = [
    "A100",
    "H100",
    "Grid",
    "Rates",
    "allgather",
    "allreduce",
    "alltoall_rail_only",
    "alltoall_rail_optimised",
    "nic_share",
    "reduce_scatter",
    "slowdown",
]


@final
@dataclass(frozen=True, slots=True)
class Rates:
    """`hb` is C_F, `nic` C_S."""

    hb: float
    nic: float


# Bits per second of a GPU of the platforms that the paper names (Rail-only, sections II-A and IV-B).
A100 = Rates(2400e9, 200e9)
H100 = Rates(3600e9, 400e9)


@final
@dataclass(frozen=True, slots=True)
class Grid:
    """`x` GPUs of each of `y` domains; those of equal rank are on one rail."""

    x: int
    y: int

    def __post_init__(self) -> None:
        if self.x < 1 or self.y < 1:
            raise ModelError(
                f"a group cannot have {self.x} GPUs of {self.y} domains", remedy="give at least one of each"
            )


def allgather(grid: Grid, data: float, rates: Rates) -> float:
    """Along rails first, then inside of domains."""
    x, y = grid.x, grid.y
    return 8 * data * ((y - 1) / (x * y * rates.nic) + (x - 1) / (x * rates.hb))


def reduce_scatter(grid: Grid, data: float, rates: Rates) -> float:
    """AllGather backwards: inside of domains first."""
    return allgather(grid, data, rates)


def allreduce(grid: Grid, data: float, rates: Rates) -> float:
    """ReduceScatter, then AllGather."""
    return reduce_scatter(grid, data, rates) + allgather(grid, data, rates)


def alltoall_rail_optimised(grid: Grid, data: float, rates: Rates) -> float:
    """Inside of domains and between them at once."""
    x, y = grid.x, grid.y
    return 8 * data * max((x - 1) / rates.hb, x * (y - 1) / rates.nic)


def alltoall_rail_only(grid: Grid, data: float, rates: Rates) -> float:
    """Along rails, then inside of domains: one after the other."""
    x, y = grid.x, grid.y
    return 8 * data * (y * (x - 1) / rates.hb + x * (y - 1) / rates.nic)


def slowdown(grid: Grid, rates: Rates) -> float:
    """Return how much longer All-to-All takes on rail-only than on rail-optimised, as a share."""
    return alltoall_rail_only(grid, 1.0, rates) / alltoall_rail_optimised(grid, 1.0, rates) - 1


def nic_share(grid: Grid) -> float:
    """Return the share of the bytes of a hierarchical AllReduce that NICs send."""
    outside = (grid.y - 1) / (grid.x * grid.y)
    inside = (grid.x - 1) / grid.x
    return outside / (outside + inside)
