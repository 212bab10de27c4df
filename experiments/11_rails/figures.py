# SPDX-License-Identifier: Apache-2.0
"""Times of collectives by the paper's equations, for the fabrics of this folder."""

from collections.abc import Mapping
from typing import Any

from papers.rail_only import collectives

GRID, RATES = collectives.Grid(x=8, y=4), collectives.A100
GATHER_BYTES = 4 * 4194304
# What a GPU has for each other of the 32.
PAIR_BYTES = 4 * 2097152 / 32


def equations(result: Mapping[str, Any]) -> Mapping[str, float]:
    """Return microseconds by the equations, and the ratio of All-to-All without and with spines."""
    seconds = {
        "all-gather": collectives.allgather(GRID, GATHER_BYTES, RATES),
        "reduce-scatter": collectives.reduce_scatter(GRID, GATHER_BYTES, RATES),
        "allreduce": collectives.allreduce(GRID, GATHER_BYTES, RATES),
        "steps": collectives.alltoall_rail_only(GRID, PAIR_BYTES, RATES),
        "spines": collectives.alltoall_rail_optimised(GRID, PAIR_BYTES, RATES),
    }
    return {
        **{f"equation.{name}": 10**6 * value for name, value in seconds.items()},
        "equation.ratio": 1 + collectives.slowdown(GRID, RATES),
    }
