# SPDX-License-Identifier: Apache-2.0
"""Search for a cycle among the permitted turns of a rule set, for a whole fabric at once.

`permitted_graph` has an edge for every pair of hops at a node: many millions if switches have many ports. The
graph of this module is smaller: all hops with the same direction at a node share a vertex. Rules depend on
directions only, so each cycle of one graph is a closed walk in the other graph.
"""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from controller.deadlock.channels import VLS, Hops
from controller.deadlock.dependency_graph import is_acyclic
from controller.deadlock.turn_rules import ENTRY_VLS, RuleSet
from controller.plan.path_columns import ragged
from topologies import Fabric

__all__ = ["permits_no_cycle"]

Integers = NDArray[np.int64]


def permits_no_cycle(fabric: Fabric, rules: RuleSet, *, entry_vls: Sequence[int] = ENTRY_VLS) -> bool:
    """Return whether the dependency graph of all permitted turns has no cycle.

    The graph is that of `permitted_graph`, U-turns included, but only its reachable part is built.
    """
    hops = Hops(fabric, rules)
    if not len(hops):
        return True
    ways = len(hops.directions)
    arriving, arrival = np.unique(_keys(hops.heads, hops.ways, ways), return_inverse=True)
    leaving, departure = np.unique(_keys(hops.tails, hops.ways, ways), return_inverse=True)
    # Vertices: (node, direction of arrival, VL), then (node, direction of departure, VL).
    departures = len(arriving) * VLS
    before, after, size = list[Integers](), list[Integers](), departures + len(leaving) * VLS
    for vl in range(VLS):
        before.append(departures + departure * VLS + vl)
        after.append(arrival * VLS + vl)
    turns = np.array(hops.turns, np.int64)
    comes, goes = _joined(arriving // ways, leaving // ways)
    for vl in range(VLS):
        leaves = turns[arriving[comes] % ways, vl, leaving[goes] % ways]
        allowed = leaves >= 0
        before.append(comes[allowed] * VLS + vl)
        after.append(departures + goes[allowed] * VLS + leaves[allowed])
    tails, heads = np.concatenate(before), np.concatenate(after)
    used = np.zeros(size, np.bool_)
    for vl in entry_vls:
        used[departures + vl :: VLS] = True
    in_use = used[tails]
    while not used[heads[in_use]].all():
        used[heads[in_use]] = True
        in_use = used[tails]
    return is_acyclic(tails[in_use], heads[in_use], size)


def _keys(nodes: NDArray[np.int32], way: NDArray[np.int32], ways: int) -> Integers:
    return nodes.astype(np.int64) * ways + way


def _joined(nodes: Integers, others: Integers) -> tuple[Integers, Integers]:
    """Return all pairs (i, j) with `nodes[i] == others[j]`, as two arrays; both inputs are ascending."""
    return ragged(np.searchsorted(others, nodes), np.searchsorted(others, nodes, side="right"))
