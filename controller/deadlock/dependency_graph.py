# SPDX-License-Identifier: Apache-2.0
"""The channel dependency graph of routes, and the cycle in it if there is one (UB-Mesh, All-Path-Routing).

A channel is one VL of one direction of a link. A frame that holds a channel waits for the next one of its
path: routes can deadlock only when these waits close a circle (Dally and Seitz).

Channels are numbers and graphs arrays, for a SuperPod has over a million channels; a cycle has names.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, final

import numpy as np
from numpy.typing import NDArray

from controller.deadlock.channels import VLS, Channel, Hops, Numbers
from controller.deadlock.turn_rules import ENTRY_VLS, RuleSet
from controller.errors import DeadlockError, PlanError
from controller.plan.entry import Path
from topologies import Fabric

if TYPE_CHECKING:
    from scipy.sparse import csr_array

__all__ = [
    "Channel",
    "DependencyGraph",
    "check_acyclic",
    "find_cycle",
    "graph_of_pairs",
    "is_acyclic",
    "path_graph",
    "permitted_graph",
]


@final
@dataclass(frozen=True, slots=True, eq=False)
class DependencyGraph:
    """Channels in use, and those that a frame holding one may wait for.

    `used` says of each channel of `hops` whether it is in use; a frame that holds channel `before[i]` may
    wait for `after[i]`, and no such pair comes twice.
    """

    hops: Hops
    used: NDArray[np.bool_]
    before: Numbers
    after: Numbers

    @property
    def channels(self) -> int:
        """Number of channels in use."""
        return int(self.used.sum())

    @property
    def dependencies(self) -> int:
        """Number of dependencies between channels."""
        return len(self.before)

    @property
    def waits(self) -> dict[Channel, frozenset[Channel]]:
        """The graph with names, for small fabrics: the channels that each channel waits for."""
        waiting: dict[int, set[Channel]] = {int(number): set() for number in np.flatnonzero(self.used)}
        for before, after in zip(self.before.tolist(), self.after.tolist(), strict=True):
            waiting[before].add(self.hops.channel(after))
        return {self.hops.channel(number): frozenset(after) for number, after in waiting.items()}

    def _matrix(self) -> "csr_array":
        from scipy.sparse import coo_array

        size = self.hops.channels
        there = np.ones(len(self.before), dtype=np.int8)
        return coo_array((there, (self.before, self.after)), shape=(size, size)).tocsr()


def path_graph(
    fabric: Fabric, paths: Iterable[Path], rules: RuleSet, *, entry_vls: Sequence[int] = ENTRY_VLS
) -> DependencyGraph:
    """Return the graph of these paths; PlanError names the first path with a forbidden turn."""
    hops = Hops(fabric, rules)
    size = hops.channels
    used = np.zeros(size, dtype=np.bool_)
    pairs: set[int] = set()
    for path in paths:
        for entry_vl in entry_vls:
            held, refused_at = hops.channels_along(path, entry_vl)
            if refused_at:
                raise PlanError(
                    f"path {' '.join(path)}: rules {rules.name} do not allow the turn at {refused_at}",
                    remedy="leave the path out or choose other rules",
                )
            used[held] = True
            pairs.update(before * size + after for before, after in pairwise(held))
    return graph_of_pairs(hops, used, pairs)


def graph_of_pairs(hops: Hops, used: NDArray[np.bool_], pairs: Iterable[int]) -> DependencyGraph:
    """Return the graph of pairs of channels, each as before * hops.channels + after."""
    both = np.array(sorted(pairs), dtype=np.int64)
    before, after = np.divmod(both, hops.channels)
    return DependencyGraph(hops, used, before.astype(np.int32), after.astype(np.int32))


def permitted_graph(
    fabric: Fabric, rules: RuleSet, *, entry_vls: Sequence[int] = ENTRY_VLS, u_turns: bool = True
) -> DependencyGraph:
    """Return the graph of every turn that the rules allow; without a cycle in it, no routes deadlock.

    A frame may enter at every node, on one of `entry_vls`. The tables cannot tell a frame that goes back
    where it came from, so U-turns belong to it; no simple path has any.
    """
    hops = Hops(fabric, rules)
    turns = np.array(hops.turns, dtype=np.int32)
    comes, goes = _hop_pairs(hops, u_turns)
    arriving, leaves = hops.ways[comes], hops.ways[goes]
    before, after = [], []
    for vl in range(VLS):
        leaving = turns[arriving, vl, leaves]
        allowed = leaving >= 0
        before.append(comes[allowed] * np.int32(VLS) + np.int32(vl))
        after.append(goes[allowed] * np.int32(VLS) + leaving[allowed])
    all_before, all_after = np.concatenate(before), np.concatenate(after)
    used = np.zeros(hops.channels, dtype=np.bool_)
    for vl in entry_vls:
        used[vl::VLS] = True
    # What a channel in use may wait for is in use: until that adds nothing more.
    in_use = used[all_before]
    while not used[all_after[in_use]].all():
        used[all_after[in_use]] = True
        in_use = used[all_before]
    return DependencyGraph(hops, used, all_before[in_use], all_after[in_use])


def _hop_pairs(hops: Hops, u_turns: bool) -> tuple[Numbers, Numbers]:
    """Return all pairs of hops of which the second begins where the first ends."""
    # The hops that leave a node stand side by side in `leaving`, from `first` of the node on.
    leaving = np.argsort(hops.tails, kind="stable").astype(np.int32)
    count = np.bincount(hops.tails, minlength=len(hops.nodes))
    first = np.cumsum(count) - count
    choices = count[hops.heads]
    comes = np.repeat(np.arange(len(hops), dtype=np.int32), choices)
    ends = np.cumsum(choices)
    within = np.arange(len(comes)) - np.repeat(ends - choices, choices)
    goes = leaving[first[hops.heads[comes]] + within]
    if not u_turns:
        onward = hops.heads[goes] != hops.tails[comes]
        comes, goes = comes[onward], goes[onward]
    return comes, goes


def find_cycle(graph: DependencyGraph) -> tuple[Channel, ...]:
    """Return the channels of a cycle in waiting order, the same cycle every time; empty without a cycle.

    The cycle is a shortest cycle through the first channel on any cycle, by the order of the fabric's links.
    """
    if is_acyclic(graph.before, graph.after, graph.hops.channels):
        return ()
    from scipy.sparse.csgraph import breadth_first_order, connected_components

    matrix = graph._matrix()
    count, component = connected_components(matrix, directed=True, connection="strong")
    if count == graph.hops.channels:
        return ()
    # No channel waits for itself, so one is on a cycle when its strong component has others.
    first = int(np.flatnonzero(np.bincount(component)[component] > 1)[0])
    members = np.flatnonzero(component == component[first])
    inner = matrix[members][:, members]
    order, predecessors = breadth_first_order(inner, 0, directed=True)
    waiting_for_first = set(inner[:, [0]].nonzero()[0].tolist())
    at = next(int(member) for member in order if int(member) in waiting_for_first)
    way = [at]
    while at != 0:
        at = int(predecessors[at])
        way.append(at)
    return tuple(graph.hops.channel(int(members[member])) for member in reversed(way))


def is_acyclic(before: NDArray[np.integer], after: NDArray[np.integer], size: int) -> bool:
    """Return whether a graph of edges from `before[i]` to `after[i]`, of `size` vertices, has no cycle.

    Vertices to which no edge leads are removed with their edges, round after round: without a cycle no edge
    is left.
    """
    order = np.argsort(before, kind="stable")
    waiting = np.bincount(after, minlength=size)
    after = after[order]
    # Edges by the vertex before: those of vertex v are `after[first[v] : first[v + 1]]`.
    first = np.searchsorted(before[order], np.arange(size + 1))
    free = np.flatnonzero(waiting == 0)
    left = len(after)
    while len(free):
        counts = first[free + 1] - first[free]
        ends = np.cumsum(counts)
        left -= int(ends[-1])
        places = np.arange(ends[-1]) + np.repeat(first[free] - ends + counts, counts)
        reached, times = np.unique(after[places], return_counts=True)
        waiting[reached] -= times
        free = reached[waiting[reached] == 0]
    return not left


def check_acyclic(graph: DependencyGraph, *, what: str = "these routes") -> None:
    """Raise DeadlockError naming a cycle if the graph has one."""
    cycle = find_cycle(graph)
    if cycle:
        shown = [f"{channel.link} to {channel.to} on VL {channel.vl}" for channel in cycle[:4]]
        more = [f"{len(cycle) - 4} more"] if len(cycle) > 4 else []
        raise DeadlockError(
            f"{what} can deadlock: {len(cycle)} channels wait for each other in a circle: "
            f"{', '.join(shown + more)}",
            cycle,
            remedy="use rules T2-G, or switch the check off to see the deadlock happen",
        )
