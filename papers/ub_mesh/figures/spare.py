# SPDX-License-Identifier: Apache-2.0
"""UB-Mesh's backup NPU, 64+1: hops to it, and paths through it."""

from __future__ import annotations

from collections import Counter
from itertools import permutations

from controller.forwarding.next_hop import table_path
from controller.planner import make_plan
from controller.recovery.spare import takeover
from controller.schemes.registry import scheme_of
from papers.claims import Measured, Progress, Values
from topologies import ub_rack_lrs
from topologies.transform.spares import Replacement

_FAILED = "npu9"
_SPARE = "spare0"


def spare_ways(note: Progress, watched: str = _SPARE, *, failed: bool = True) -> Values:
    """Measure the paths of a rack with a backup NPU: hops to it, paths through it, unreachable endpoints.

    Args:
        watched: node for which the paths through it are counted.
        failed: whether the backup NPU has replaced a failed NPU.
    """
    note("a rack with a spare in service", 0.0)
    rack = ub_rack_lrs()
    plan = make_plan(rack)
    updates = {}
    if failed:
        plan, updates = takeover(plan, Replacement({_FAILED: _SPARE}))
    note("all paths there", 0.6)
    scheme = scheme_of(plan)
    goal = _SPARE if failed else _FAILED
    ends = [
        node.name
        for node in plan.fabric.nodes
        if not node.is_switch and node.name != (_FAILED if failed else _SPARE)
    ]
    peers = [name for name in ends if name.startswith("npu") and name != goal]
    tables = {pair: table_path(scheme, *pair) for pair in permutations(ends, 2)}
    routes = [path for paths in plan.routes.values() for path in paths]
    hops = [len(path) - 1 for peer in peers for path in (tables[peer, goal], *plan.routes[peer, goal])]
    kinds = Counter(
        "-".join(plan.fabric.node(name).kind for name in path)
        for peer in peers
        for path in plan.routes[peer, goal]
    )
    written = sum(map(len, updates.values()))
    return {
        "hops": Measured(max(hops), detail=f"{', '.join(kinds)}; {written:,} table entries written"),
        "through": sum(watched in path[1:-1] for path in (*routes, *tables.values())),
        "apart": sum(path[-1] != target for (_, target), path in tables.items()),
    }
