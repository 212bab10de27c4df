# SPDX-License-Identifier: Apache-2.0
"""Broadcast and reduce by levels, and dispatch and combine of a mixture of experts, which are many of them.

UB-Mesh: token dispatch and combine are overlapping broadcasts and reduces, done by levels: one copy for each
board or line and fan-out there; and what is reduced is reduced there first. The choice of who is sent the
copy, the leader, is of this testbed: of those of the line that are to have it anyway the one nearest to the
sender, so that nobody holds what is not for him.
"""

from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from math import prod

import numpy as np

from emulation.errors import EmulationError
from emulation.traffic.collectives.cutting import strides
from emulation.traffic.schedule.goals import Goal
from emulation.traffic.schedule.schedule import Combine, Schedule, Transfer

__all__ = ["broadcast", "combine", "dispatch", "experts", "reduce", "tree"]

Hop = tuple[int, int, int]
"""Level, 0 nearest to the root, and the two ranks, the one nearer to the root first."""


def tree(dims: Sequence[int], root: int, targets: Collection[int]) -> list[Hop]:
    """From the root along the last dimension first: one copy to each other place of it, and so on inside."""
    stride = strides(dims)
    hops: list[Hop] = []

    def place(rank: int, d: int) -> int:
        return rank // stride[d] % dims[d]

    def fan_out(d: int, sender: int, members: Collection[int]) -> None:
        if not members:
            return
        groups: dict[int, list[int]] = defaultdict(list)
        for member in sorted(members):
            groups[place(member, d)].append(member)
        for where, group in sorted(groups.items()):
            leader = sender
            if where != place(sender, d):
                leader = min(
                    group, key=lambda rank: sum(place(rank, e) != place(sender, e) for e in range(len(dims)))
                )
                hops.append((len(dims) - 1 - d, sender, leader))
            if d:
                fan_out(d - 1, leader, [member for member in group if member != leader])

    fan_out(len(dims) - 1, root, set(targets) - {root})
    return hops


def broadcast(dims: Sequence[int], elements: int, root: int = 0, *, direct: bool = False) -> Schedule:
    """The root's array to all ranks; `direct`: by sends from the root to each, which the fabric forwards."""
    schedule = _many(dims, elements, {root: range(prod(dims))}, elements, Combine.COPY, direct)
    return Schedule(f"broadcast-{_shape(dims)}", schedule.ranks, elements, schedule.transfers, schedule.goals)


def reduce(dims: Sequence[int], elements: int, root: int = 0, *, direct: bool = False) -> Schedule:
    """The sum of all ranks' arrays to the root, each line's reduced there first; the others keep what is
    left.
    """
    schedule = _many(dims, elements, {root: range(prod(dims))}, elements, Combine.REDUCE, direct)
    return Schedule(f"reduce-{_shape(dims)}", schedule.ranks, elements, schedule.transfers, schedule.goals)


def dispatch(
    dims: Sequence[int], block: int, chosen: Mapping[int, Collection[int]], *, direct: bool = False
) -> Schedule:
    """Tokens to experts: block r of rank r to the ranks `chosen[r]`, as block r there."""
    name = f"dispatch-{_shape(dims)}"
    schedule = _many(dims, block * prod(dims), chosen, block, Combine.COPY, direct)
    return Schedule(name, schedule.ranks, schedule.elements, schedule.transfers, schedule.goals)


def combine(
    dims: Sequence[int], block: int, chosen: Mapping[int, Collection[int]], *, direct: bool = False
) -> Schedule:
    """What the experts made of them back: block r of the ranks `chosen[r]` added to block r of rank r."""
    name = f"combine-{_shape(dims)}"
    schedule = _many(dims, block * prod(dims), chosen, block, Combine.REDUCE, direct)
    return Schedule(name, schedule.ranks, schedule.elements, schedule.transfers, schedule.goals)


def experts(ranks: int, count: int, seed: int = 1) -> dict[int, tuple[int, ...]]:
    """For each rank `count` others, drawn without favour."""
    if not 1 <= count < ranks:
        raise EmulationError(f"{count} experts of {ranks} ranks", remedy=f"take 1 to {ranks - 1}")
    chosen = {}
    for rank in range(ranks):
        others = [other for other in range(ranks) if other != rank]
        drawn = np.random.default_rng((seed, rank)).permutation(ranks - 1)[:count]
        chosen[rank] = tuple(sorted(others[place] for place in drawn))
    return chosen


def _many(
    dims: Sequence[int],
    elements: int,
    chosen: Mapping[int, Collection[int]],
    block: int,
    op: Combine,
    direct: bool,
) -> Schedule:
    """A tree a root, all at once; several roots each have the block of their number."""
    ranks = prod(dims)
    if len(dims) < 1 or min(dims) < 1 or ranks < 2:
        raise EmulationError(f"mesh of dimensions {tuple(dims)}: it takes two ranks or more")
    levels = 1 if direct else len(dims)
    transfers: list[Transfer] = []
    goals: list[Goal] = []
    for root, targets in chosen.items():
        if not {root, *targets} <= set(range(ranks)):
            raise EmulationError(f"root {root} and {sorted(targets)}: ranks are 0 to {ranks - 1}")
        offset = root * block if elements > block else 0
        others = sorted(set(targets) - {root})
        hops = [(0, root, rank) for rank in others] if direct else tree(dims, root, others)
        for level, near, far in hops:
            if op is Combine.COPY:
                transfers.append(Transfer(level, near, far, offset, block, op))
            else:
                transfers.append(Transfer(levels - 1 - level, far, near, offset, block, op))
        kind = "broadcast" if op is Combine.COPY else "reduce"
        goals.append(Goal(kind, (root, *others), (((offset, block),),), root=root, end=levels))
    return Schedule("trees", ranks, elements, tuple(transfers), tuple(goals))


def _shape(dims: Sequence[int]) -> str:
    return "x".join(map(str, dims))
