# SPDX-License-Identifier: Apache-2.0
"""Hierarchical broadcast and reduce, and token dispatch and combine of a mixture of experts.

UB-Mesh: token dispatch and combine are overlapping broadcasts and reduces by levels. A broadcast sends a
single copy to each board or line, which fans out inside; a reduce adds up inside first. The
receiver of the copy, the leader, is chosen by this testbed: the target in the group that shares most
coordinates with the sender. So ranks that are no targets hold no data.
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
"""Level, 0 nearest to the root, and two ranks, the rank nearer to the root first."""


def tree(dims: Sequence[int], root: int, targets: Collection[int]) -> list[Hop]:
    """Return the hops of a tree from the root to the targets.

    The root sends a copy to a leader in each group of targets with the same last coordinate. The root and
    each leader fan out inside their groups along the next lower dimension.
    """
    stride = strides(dims)
    hops: list[Hop] = []

    def coordinate(rank: int, d: int) -> int:
        return rank // stride[d] % dims[d]

    def fan_out(d: int, sender: int, members: Collection[int]) -> None:
        if not members:
            return
        groups: dict[int, list[int]] = defaultdict(list)
        for member in sorted(members):
            groups[coordinate(member, d)].append(member)
        for where, group in sorted(groups.items()):
            leader = sender
            if where != coordinate(sender, d):
                leader = min(
                    group,
                    key=lambda rank: sum(
                        coordinate(rank, e) != coordinate(sender, e) for e in range(len(dims))
                    ),
                )
                hops.append((len(dims) - 1 - d, sender, leader))
            if d:
                fan_out(d - 1, leader, [member for member in group if member != leader])

    fan_out(len(dims) - 1, root, set(targets) - {root})
    return hops


def broadcast(dims: Sequence[int], elements: int, root: int = 0, *, direct: bool = False) -> Schedule:
    """Return a broadcast of the root's array along the hops of tree().

    With `direct`, the root sends the array to each rank itself.
    """
    schedule = _many(dims, elements, {root: range(prod(dims))}, elements, Combine.COPY, direct)
    return Schedule(f"broadcast-{_shape(dims)}", schedule.ranks, elements, schedule.transfers, schedule.goals)


def reduce(dims: Sequence[int], elements: int, root: int = 0, *, direct: bool = False) -> Schedule:
    """Return a reduce of all arrays to the root, over the hops of tree() in reverse.

    With `direct`, each rank sends its array to the root itself. At the end, only the root's array is defined.
    """
    schedule = _many(dims, elements, {root: range(prod(dims))}, elements, Combine.REDUCE, direct)
    return Schedule(f"reduce-{_shape(dims)}", schedule.ranks, elements, schedule.transfers, schedule.goals)


def dispatch(
    dims: Sequence[int], block: int, chosen: Mapping[int, Collection[int]], *, direct: bool = False
) -> Schedule:
    """Return a dispatch of tokens to experts: block r of rank r goes to the ranks `chosen[r]`.

    A block has `block` elements. With `direct`, rank r sends it to each of these ranks itself.
    """
    name = f"dispatch-{_shape(dims)}"
    schedule = _many(dims, block * prod(dims), chosen, block, Combine.COPY, direct)
    return Schedule(name, schedule.ranks, schedule.elements, schedule.transfers, schedule.goals)


def combine(
    dims: Sequence[int], block: int, chosen: Mapping[int, Collection[int]], *, direct: bool = False
) -> Schedule:
    """Return a combine of expert results: block r of the ranks `chosen[r]` is added to block r of rank r.

    A block has `block` elements. With `direct`, each of these ranks sends it to rank r itself.
    """
    name = f"combine-{_shape(dims)}"
    schedule = _many(dims, block * prod(dims), chosen, block, Combine.REDUCE, direct)
    return Schedule(name, schedule.ranks, schedule.elements, schedule.transfers, schedule.goals)


def experts(ranks: int, count: int, seed: int = 1) -> dict[int, tuple[int, ...]]:
    """Return, for each rank, `count` other ranks in ascending order, drawn at random."""
    if not 1 <= count < ranks:
        raise EmulationError(
            f"{count} experts do not fit {ranks} ranks", remedy=f"give 1 to {ranks - 1} experts"
        )
    chosen = {}
    for rank in range(ranks):
        others = [other for other in range(ranks) if other != rank]
        drawn = np.random.default_rng((seed, rank)).permutation(ranks - 1)[:count]
        chosen[rank] = tuple(sorted(others[index] for index in drawn))
    return chosen


def _many(
    dims: Sequence[int],
    elements: int,
    chosen: Mapping[int, Collection[int]],
    block: int,
    op: Combine,
    direct: bool,
) -> Schedule:
    """Return one schedule in which every root r uses a tree to its targets `chosen[r]`, all at the same time.

    The tree of root r carries block r of the array; if `block` equals `elements`, the whole array.
    """
    ranks = prod(dims)
    if len(dims) < 1 or min(dims) < 1 or ranks < 2:
        raise EmulationError(
            f"a mesh of dimensions {tuple(dims)} has fewer than two ranks; give larger dimensions"
        )
    levels = 1 if direct else len(dims)
    transfers: list[Transfer] = []
    goals: list[Goal] = []
    for root, targets in chosen.items():
        if not {root, *targets} <= set(range(ranks)):
            raise EmulationError(
                f"root {root} or a target of {sorted(targets)} is not a rank from 0 to {ranks - 1}"
            )
        offset = root * block if elements > block else 0
        others = sorted(set(targets) - {root})
        hops = [(0, root, rank) for rank in others] if direct else tree(dims, root, others)
        for level, upper, lower in hops:
            if op is Combine.COPY:
                transfers.append(Transfer(level, upper, lower, offset, block, op))
            else:
                transfers.append(Transfer(levels - 1 - level, lower, upper, offset, block, op))
        kind = "broadcast" if op is Combine.COPY else "reduce"
        goals.append(Goal(kind, (root, *others), (((offset, block),),), root=root, end=levels))
    return Schedule("trees", ranks, elements, tuple(transfers), tuple(goals))


def _shape(dims: Sequence[int]) -> str:
    return "x".join(map(str, dims))
