# SPDX-License-Identifier: Apache-2.0
"""Order of effect of a graph's operations: list order, but after the operations they wait for."""

from heapq import heappop, heappush

from emulation.traffic.graph.operations import Graph

__all__ = ["in_order"]


def in_order(graph: Graph) -> list[int]:
    """Return the indices of all operations in the order in which they take effect.

    The next operation is always the first in the list whose predecessors have all taken effect.
    """
    before = [set(indices) for indices in graph.waits()]
    after: list[list[int]] = [[] for _ in before]
    for index, indices in enumerate(before):
        for other in indices:
            after[other].append(index)
    missing = [len(indices) for indices in before]
    free = [index for index, count in enumerate(missing) if not count]
    ordered = []
    while free:
        index = heappop(free)
        ordered.append(index)
        for other in after[index]:
            missing[other] -= 1
            if not missing[other]:
                heappush(free, other)
    return ordered
