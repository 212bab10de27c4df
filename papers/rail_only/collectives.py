# SPDX-License-Identifier: Apache-2.0
"""The paper's equations of the time of collectives over x GPUs in each of y domains (Rail-only).

C_F is the bandwidth of a GPU inside its domain, C_S that of its NIC, in bit/s in each direction. Functions
return seconds, without latency. `data` is in bytes: the whole array of AllGather, ReduceScatter and
AllReduce; for All-to-All the bytes from a GPU to each other GPU.

Rail-only runs All-to-All in two steps. First each GPU sends along its rail all data for a remote domain. Then
the GPUs of each domain exchange data inside it. Rail-optimised networks connect a NIC to all GPUs, so both
networks work at once and the slower network decides.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import final

from harness.errors import ModelError
from papers.claims import Values

__all__ = [
    "A100",
    "H100",
    "Grid",
    "Rates",
    "allgather",
    "allreduce",
    "figures",
    "alltoall_rail_only",
    "alltoall_rail_optimised",
    "nic_share",
    "reduce_scatter",
    "slowdown",
]


@final
@dataclass(frozen=True, slots=True)
class Rates:
    """Bandwidths of a GPU in bit/s: `hb` inside its domain (C_F), `nic` of its NIC (C_S)."""

    hb: float
    nic: float


# Platforms of the paper (Rail-only, sections II-A and IV-B).
A100 = Rates(2400e9, 200e9)
H100 = Rates(3600e9, 400e9)


@final
@dataclass(frozen=True, slots=True)
class Grid:
    """A group of `x` GPUs in each of `y` domains; GPUs of equal rank share a rail."""

    x: int
    y: int

    def __post_init__(self) -> None:
        if self.x < 1 or self.y < 1:
            raise ModelError(
                f"a group cannot have {self.x} GPUs in each of {self.y} domains",
                remedy="give at least one GPU and one domain",
            )


def allgather(grid: Grid, data: float, rates: Rates) -> float:
    """Return the time of an AllGather: along rails, then inside domains."""
    x, y = grid.x, grid.y
    return 8 * data * ((y - 1) / (x * y * rates.nic) + (x - 1) / (x * rates.hb))


def reduce_scatter(grid: Grid, data: float, rates: Rates) -> float:
    """Return the time of a ReduceScatter: an AllGather in reverse, inside domains first."""
    return allgather(grid, data, rates)


def allreduce(grid: Grid, data: float, rates: Rates) -> float:
    """Return the time of an AllReduce: a ReduceScatter, then an AllGather."""
    return reduce_scatter(grid, data, rates) + allgather(grid, data, rates)


def alltoall_rail_optimised(grid: Grid, data: float, rates: Rates) -> float:
    """Return the time of an All-to-All inside and between domains at once."""
    x, y = grid.x, grid.y
    return 8 * data * max((x - 1) / rates.hb, x * (y - 1) / rates.nic)


def alltoall_rail_only(grid: Grid, data: float, rates: Rates) -> float:
    """Return the time of an All-to-All along rails, then inside domains."""
    x, y = grid.x, grid.y
    return 8 * data * (y * (x - 1) / rates.hb + x * (y - 1) / rates.nic)


def slowdown(grid: Grid, rates: Rates) -> float:
    """Return the relative slowdown of All-to-All on rail-only against rail-optimised; 0.1 means 10 %."""
    return alltoall_rail_only(grid, 1.0, rates) / alltoall_rail_optimised(grid, 1.0, rates) - 1


def figures(domain: int = 8, large: int = 256, inside: int = 32, wider: float = 1) -> Values:
    """Return the slowdown of All-to-All without spines, and the NICs' share of AllReduce, in percent.

    Args:
        domain: GPUs of a domain.
        large: GPUs of a large domain.
        inside: GPUs of a domain, for the NICs' share.
        wider: factor of the bandwidth inside domains, for the slowdown by bandwidths alone.
    """
    result = {"nic-share": 100 * nic_share(Grid(inside, 2))}
    for name, rates in (("a100", A100), ("h100", H100)):
        result[f"dgx-{name}"] = 100 * rates.nic / (wider * rates.hb)
        result[f"exact-{name}"] = 100 * slowdown(Grid(domain, 128), rates)
        result[f"large-{name}"] = 100 * slowdown(Grid(large, 128), rates)
    return result


def nic_share(grid: Grid) -> float:
    """Return NICs' share of the bytes that a hierarchical AllReduce sends."""
    outside = (grid.y - 1) / (grid.x * grid.y)
    inside = (grid.x - 1) / grid.x
    return outside / (outside + inside)
