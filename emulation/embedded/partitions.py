# SPDX-License-Identifier: Apache-2.0
"""Partitions of a fabric for parallel runs: similar work in each, few and long links between partitions.

The least delay of a link between partitions bounds the time that a partition runs on its own. A thread of a
large fabric runs several partitions, one after the other: the data of `HOSTS` hosts stay in the processor's
cache better than the data of all hosts. A frame that leaves its partition costs a copy of its payload, so a
single thread has several partitions only if most of the traffic stays within them.
"""

from collections import Counter
from collections.abc import Mapping, Sequence

from topologies import Fabric

__all__ = ["HOSTS", "partition_count", "partitions", "partitions_for"]

HOSTS = 64
"""Least mean number of hosts of a partition, if a thread runs several partitions."""

# Most partitions, unless there are more threads: more partitions take longer to merge into one event order.
_MOST = 32

# Work of a node's host, as a number of links: hosts take half of the processor time of a collective.
_HOST_WORK = 16

# Largest work of a partition, as a multiple of the mean. Uneven work is accepted, because it permits cuts at
# links of longer delay only, and partitions then wait for each other less often.
_UNEVEN = 1.15

# Largest share of the bytes that may cross partitions, if a single thread runs several partitions.
_MOST_CROSSING = 1 / 8


def partitions_for(fabric: Fabric, threads: int, demand: Mapping[tuple[str, str], float]) -> Sequence[int]:
    """Return the partition number of each node, in node order; `demand` is bytes by pair of nodes."""
    parts = partitions(fabric, partition_count(fabric, threads))
    if threads == 1:
        part = dict(zip((node.name for node in fabric.nodes), parts, strict=True))
        crossing = sum(size for (source, target), size in demand.items() if part[source] != part[target])
        if crossing > _MOST_CROSSING * sum(demand.values()):
            return partitions(fabric, 1)
    return parts


def partition_count(fabric: Fabric, threads: int) -> int:
    """Return the number of partitions for `threads` threads: a multiple of `threads`."""
    wanted = min(len(fabric.host_ends()) // HOSTS, _MOST)
    return threads * max(1, wanted // threads)


def partitions(fabric: Fabric, count: int) -> Sequence[int]:
    """Return the partition number, below `count`, of each node, in node order.

    Nodes joined by a link with a delay below a threshold are in one partition. The threshold is the longest
    delay that gives all partitions similar work. A partition may be empty. Partitions do not change results.
    """
    nodes = len(fabric.nodes)
    if count == 1:
        return [0] * nodes
    best: Sequence[int] = [0] * nodes
    loads = _work(fabric)
    most = _UNEVEN * sum(loads) / count
    delays = sorted({link.delay_ps for link in fabric.links if link.delay_ps > 0}, reverse=True)
    for delay_ps in delays:
        groups = _joined(fabric, delay_ps)
        if len(set(groups)) < count or (delay_ps > delays[-1] and _largest(groups, loads) > most):
            continue
        best = _apportion(fabric, groups, loads, count)
        if len(set(best)) == count and _largest(best, loads) <= most:
            break
    return best


def _largest(parts: Sequence[int], loads: Sequence[int]) -> int:
    """Return the largest work of a part; `parts` and `loads` have a value for each node."""
    work = Counter[int]()
    for part, load in zip(parts, loads, strict=True):
        work[part] += load
    return max(work.values())


def _joined(fabric: Fabric, delay_ps: int) -> list[int]:
    """Return a group number for each node; links with a delay below `delay_ps` join nodes to a group."""
    number = {node.name: index for index, node in enumerate(fabric.nodes)}
    group = list(range(len(fabric.nodes)))

    def root(node: int) -> int:
        while group[node] != node:
            group[node] = group[group[node]]
            node = group[node]
        return node

    for link in fabric.links:
        if link.delay_ps < delay_ps:
            group[root(number[link.a.node])] = root(number[link.b.node])
    return [root(node) for node in range(len(group))]


def _work(fabric: Fabric) -> list[int]:
    links = Counter(end.node for link in fabric.links for end in (link.a, link.b))
    hosts = {end.node for end in fabric.host_ends().values()}
    return [links[node.name] + (_HOST_WORK if node.name in hosts else 1) for node in fabric.nodes]


def _apportion(fabric: Fabric, groups: Sequence[int], loads: Sequence[int], count: int) -> list[int]:
    """Return the partition number of each node; METIS partitions the graph of the groups."""
    import pymetis  # imported here because it is slow to import

    vertex = {group: index for index, group in enumerate(dict.fromkeys(groups))}
    of_node = {node.name: vertex[group] for node, group in zip(fabric.nodes, groups, strict=True)}
    work = [0] * len(vertex)
    for group, load in zip(groups, loads, strict=True):
        work[vertex[group]] += load
    links: list[Counter[int]] = [Counter() for _ in vertex]
    for link in fabric.links:
        a, b = of_node[link.a.node], of_node[link.b.node]
        if a != b:
            links[a][b] += 1
            links[b][a] += 1
    starts, neighbours, weights = [0], [], []
    for own in links:
        neighbours += own
        weights += own.values()
        starts.append(len(neighbours))
    graph = pymetis.CSRAdjacency(starts, neighbours)
    _, parts = pymetis.part_graph(count, graph, eweights=weights, vweights=work)
    return [parts[of_node[node.name]] for node in fabric.nodes]
