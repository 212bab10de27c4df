# SPDX-License-Identifier: Apache-2.0
"""Circuits by spine, Pod and Pod, (H, P, P): what ports are left over for, matchings, and ways around."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from itertools import pairwise

import numpy as np

from controller.circuits.baselines.uniform import allocate_uniform
from papers.flow_level.rates import Ints

__all__ = ["at_most", "filled", "matched", "ways"]

# Pods whose matchings are still looked through one by one: 945 for ten.
_FEW_PODS = 10


def filled(counts: Ints, ports: int) -> Ints:
    """Return circuits with the free ports of each spine joined as well.

    Repeatedly, the Pod with most free ports is joined to the Pod that has fewest circuits to it; among
    equals, to the Pod with most free ports.
    """
    counts = counts.copy()
    spines = len(counts)
    left = ports - counts.sum(axis=2)
    all_spines = np.arange(spines)
    between = counts.sum(axis=0)
    while True:
        pod = left.argmax(axis=1)
        # First who has fewest circuits to it here, then in all spines, then who has most ports left.
        few = (counts[all_spines, pod] * (between.max() + 1) + between[pod]) * (ports + 1) - left
        few[left < 1] = np.iinfo(np.int64).max
        few[all_spines, pod] = np.iinfo(np.int64).max
        other = few.argmin(axis=1)
        go = (left[all_spines, pod] > 0) & (left[all_spines, other] > 0) & (pod != other)
        if not go.any():
            return counts
        h, i, j = all_spines[go], pod[go], other[go]
        counts[h, i, j] += 1
        counts[h, j, i] += 1
        left[h, i] -= 1
        left[h, j] -= 1


def ways(counts: Ints, i: int, j: int) -> list[tuple[int, list[int], int]]:
    """Spine, Pods from i to j and fewest circuits between two of these, for spines where Pods are fewest."""
    result = []
    for spine, count in enumerate(counts):
        before = {i: i}
        node = [i]
        while node and j not in before:
            further = []
            for pod in node:
                for neighbour in np.flatnonzero(count[pod]).tolist():
                    if neighbour not in before:
                        before[neighbour] = pod
                        further.append(neighbour)
            node = further
        if j in before:
            pods = [j]
            while pods[-1] != i:
                pods.append(before[pods[-1]])
            pods.reverse()
            result.append((spine, pods, min(int(count[x, y]) for x, y in pairwise(pods))))
    least = min((len(pods) for _, pods, _ in result), default=0)
    return [way for way in result if len(way[1]) == least]


def at_most(asked: Ints, own: Ints | int) -> Ints:
    """Lowered where a row asks for more than it has, the largest entry first."""
    asked = asked.copy()
    while ((over := asked.sum(axis=1) - own) > 0).any():
        leaf = int(over.argmax())
        other = int(asked[leaf].argmax())
        asked[[leaf, other], [other, leaf]] -= 1
    return asked


def matched(wanted: Ints, spines: int, ports: int) -> Ints:
    """Return the circuits that uniform wiring serves of a demand (P, P): one matching on each optical switch.

    The heaviest each time, where Pods that still want more weigh more; then Pods that are left dark.
    Switches are dealt to spines in turn.
    """
    pods = len(wanted)
    if pods > _FEW_PODS:
        _, maps = allocate_uniform(wanted, spines * ports, "greedy")
        i, j = np.nonzero(maps >= 0)
        counts = np.zeros((spines, pods, pods), np.int64)
        np.add.at(counts, (i % spines, j, maps[i, j]), 1)
        return counts
    low, high = _matchings(pods + pods % 2)
    left = np.zeros((pods + pods % 2,) * 2, np.int64)
    left[:pods, :pods] = wanted
    counts = np.zeros((spines, *left.shape), np.int64)
    for switch in range(spines * ports):
        wants = left.sum(axis=1)
        if wants.any():
            weight = (wants[:, None] + wants) * (left > 0)
            best = int(weight[low, high].sum(axis=1).argmax())
            a, b = low[best], high[best]
        else:
            a, b = _round(len(left), switch)
        i, j = np.concatenate([a, b]), np.concatenate([b, a])
        left[i, j] = np.maximum(left[i, j] - 1, 0)
        counts[switch % spines, i, j] += 1
    return counts[:, :pods, :pods]


def _round(pods: int, number: int) -> tuple[Ints, Ints]:
    """Return a round of a round-robin tournament of an even number of Pods, as two arrays of opponents."""
    number %= pods - 1
    turn = np.arange(1, pods // 2)
    a, b = (number + turn) % (pods - 1), (number - turn) % (pods - 1)
    return np.append(a, number), np.append(b, pods - 1)


@cache
def _matchings(pods: int) -> tuple[Ints, Ints]:
    """All perfect matchings of an even number of Pods: rows of lower and of higher ends."""

    def of(free: tuple[int, ...]) -> Iterator[tuple[tuple[int, int], ...]]:
        if not free:
            yield ()
            return
        for other in free[1:]:
            rest = tuple(pod for pod in free[1:] if pod != other)
            for more in of(rest):
                yield ((free[0], other), *more)

    every = np.array(list(of(tuple(range(pods)))))
    return every[:, :, 0], every[:, :, 1]
