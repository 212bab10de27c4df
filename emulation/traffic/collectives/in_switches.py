# SPDX-License-Identifier: Apache-2.0
"""Schedules of collectives that switches carry out: they have a goal, and no transfers between members."""

from itertools import pairwise
from typing import Literal

from emulation.errors import EmulationError
from emulation.traffic.collectives.declaration import Algorithm, Request
from emulation.traffic.schedule.goals import Goal
from emulation.traffic.schedule.schedule import Schedule

__all__ = ["switch_tree"]

Kind = Literal["allreduce", "reduce-scatter", "all-gather", "broadcast", "reduce"]


def switch_tree(kind: Kind) -> Algorithm:
    """Return the algorithm for combining members' blocks in trees of switches."""

    def build(request: Request) -> Schedule:
        ranks = tuple(range(request.ranks))
        rooted = kind in ("broadcast", "reduce")
        if rooted and request.root >= request.ranks:
            raise EmulationError(
                f"root {request.root} is not a rank of {request.ranks} NPUs",
                remedy=f"give a root from 0 to {request.ranks - 1}",
            )
        count = request.ranks if kind in ("reduce-scatter", "all-gather") else 1
        if count > request.elements:
            raise EmulationError(
                f"arrays have {request.elements} elements, fewer than their {count} NPUs",
                remedy=f"take {count} or more",
            )
        cuts = [request.elements * piece // count for piece in range(count + 1)]
        pieces = tuple(((low, high - low),) for low, high in pairwise(cuts))
        goal = Goal(kind, ranks, pieces, root=request.root if rooted else -1)
        return Schedule(f"{kind} in switches", request.ranks, request.elements, (), (goal,))

    return Algorithm(
        "switch-tree",
        build,
        keys=("slots",) if kind in ("broadcast", "all-gather") else ("slots", "operation"),
        needs_grid=False,
        in_mixture=False,
        in_switches=True,
        source="trees of switches that combine frames, as in SHARP (COMHPC 2016); slots of two versions, "
        "as in SwitchML (NSDI 2021); numbers of blocks and repetition are this project's own",
    )
