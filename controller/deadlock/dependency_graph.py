# SPDX-License-Identifier: Apache-2.0
"""Channel dependency graph of routes, and a search for a cycle in it (UB-Mesh, All-Path-Routing).

A channel is one VL of one direction of a link. A frame that holds a channel waits for the next channel of its
path: routes can deadlock only when these waits form a cycle (Dally and Seitz).

A SuperPod has over a million channels, so a graph is stored as arrays of channel numbers. A cycle is returned
with the names of its links and nodes.
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
    """Channels in use, and the dependencies between them.

    `used` is a mask of the channels of `hops` that are in use. Dependency i means: a frame that holds channel
    `before[i]` may wait for channel `after[i]`. All dependencies are distinct.
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
        """Channels for which each channel waits, by name. Use it for small fabrics only."""
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
    """Return the dependency graph of frames entering each path on each of `entry_vls`.

    Raises:
        PlanError: The rules forbid a turn of a path.
    """
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
    """Return the graph of dependencies; a dependency is the number before * hops.channels + after."""
    both = np.array(sorted(pairs), dtype=np.int64)
    before, after = np.divmod(both, hops.channels)
    return DependencyGraph(hops, used, before.astype(np.int32), after.astype(np.int32))


def permitted_graph(
    fabric: Fabric, rules: RuleSet, *, entry_vls: Sequence[int] = ENTRY_VLS, u_turns: bool = True
) -> DependencyGraph:
    """Return the graph of all permitted turns; if it has no cycle, no routes deadlock.

    A frame may enter at every node, on one of `entry_vls`. The graph includes U-turns by default, as tables
    cannot recognise a frame that goes back to its previous node; simple paths have no U-turns.
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
    # Mark the channels that channels in use may wait for, until no more are added.
    in_use = used[all_before]
    while not used[all_after[in_use]].all():
        used[all_after[in_use]] = True
        in_use = used[all_before]
    return DependencyGraph(hops, used, all_before[in_use], all_after[in_use])


def _hop_pairs(hops: Hops, u_turns: bool) -> tuple[Numbers, Numbers]:
    """Return all pairs of hops, arriving and leaving, at the same node; `u_turns` includes U-turns."""
    # `leaving` lists the hops sorted by tail; the hops that leave node n start at `leaving[first[n]]`.
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
    """Return the channels of a cycle in waiting order; empty if the graph has no cycle.

    The result is a shortest cycle through the first channel that is on any cycle, in the order of the
    fabric's links. Equal graphs have equal results.
    """
    if is_acyclic(graph.before, graph.after, graph.hops.channels):
        return ()
    from scipy.sparse.csgraph import breadth_first_order, connected_components

    matrix = graph._matrix()
    count, component = connected_components(matrix, directed=True, connection="strong")
    if count == graph.hops.channels:
        return ()
    # No channel waits for itself, so a channel is on a cycle if its strong component has other members.
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
    """Return whether a graph of `size` vertices, with edges from `before[i]` to `after[i]`, has no cycle.

    Each round removes the vertices that have no incoming edges, with all their edges. The graph has no cycle
    if no edge is left.
    """
    order = np.argsort(before, kind="stable")
    waiting = np.bincount(after, minlength=size)
    after = after[order]
    # The edges from vertex v lead to `after[first[v] : first[v + 1]]`.
    first = np.searchsorted(before[order], np.arange(size + 1))
    free = np.flatnonzero(waiting == 0)
    left = len(after)
    while len(free):
        counts = first[free + 1] - first[free]
        ends = np.cumsum(counts)
        left -= int(ends[-1])
        positions = np.arange(ends[-1]) + np.repeat(first[free] - ends + counts, counts)
        reached, times = np.unique(after[positions], return_counts=True)
        waiting[reached] -= times
        free = reached[waiting[reached] == 0]
    return not left


def check_acyclic(graph: DependencyGraph, *, what: str = "these routes") -> None:
    """Raise DeadlockError with a cycle if the graph has one; `what` is the subject of the message."""
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
