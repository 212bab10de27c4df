# SPDX-License-Identifier: Apache-2.0
"""Numbers of circuits by spine, Pod and Pod, shape (H, P, P): use of free ports, matchings, detours."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from itertools import pairwise

import networkx as nx
import numpy as np

from controller.circuits.baselines.uniform import allocate_uniform
from papers.flow_level.rates import Ints

__all__ = ["at_most", "filled", "matched", "ways"]

# Largest number of Pods for which all perfect matchings are enumerated: 945 for ten Pods.
_FEW_PODS = 10


def filled(counts: Ints, ports: int) -> Ints:
    """Return the circuits after joining the free ports of each spine.

    Each step joins, on each spine, the Pod with most free ports to the Pod with fewest circuits to it on this
    spine. Ties go to the pair with fewest circuits on all spines of `counts`, then to the Pod with most free
    ports.
    """
    counts = counts.copy()
    spines = len(counts)
    left = ports - counts.sum(axis=2)
    all_spines = np.arange(spines)
    between = counts.sum(axis=0)
    while True:
        pod = left.argmax(axis=1)
        # Rank Pods by fewest circuits to `pod` on this spine, then on all spines, then by most free ports.
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
    """Return the detours from Pod i to Pod j over the fewest Pods, at most one for each spine.

    A detour is the spine, the Pods from i to j, and the number of circuits of the narrowest hop.
    """
    result = []
    for spine, count in enumerate(counts):
        paths = nx.single_source_shortest_path(nx.from_numpy_array(count > 0, create_using=nx.DiGraph), i)
        if j in paths:
            result.append((spine, paths[j], min(int(count[hop]) for hop in pairwise(paths[j]))))
    least = min((len(pods) for _, pods, _ in result), default=0)
    return [way for way in result if len(way[1]) == least]


def at_most(asked: Ints, own: Ints | int) -> Ints:
    """Return a symmetric demand lowered until no row adds up to more than `own` of the row.

    Each step lowers the largest entry of the row with the largest excess, and the mirrored entry.
    """
    asked = asked.copy()
    while ((over := asked.sum(axis=1) - own) > 0).any():
        leaf = int(over.argmax())
        other = int(asked[leaf].argmax())
        asked[[leaf, other], [other, leaf]] -= 1
    return asked


def matched(wanted: Ints, spines: int, ports: int) -> Ints:
    """Return the circuits of uniform wiring for a demand (P, P): a matching on each optical switch.

    Each switch in turn takes the matching of greatest weight; a pair with unmet demand weighs as much as the
    unmet demands of both Pods together. Up to `_FEW_PODS` Pods the matchings are perfect, and switches
    without unmet demand take rounds of a round-robin tournament. Switch k belongs to spine k modulo `spines`.
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
    """Return all perfect matchings of an even number of Pods as two arrays with a row for each matching.

    The first array has the lower Pod of each pair, the second array the higher Pod.
    """

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
