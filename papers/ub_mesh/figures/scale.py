# SPDX-License-Identifier: Apache-2.0
"""UB-Mesh at full size: planning time and table entries of a SuperPod."""

from __future__ import annotations

import time
from collections import Counter

from controller import Plan, make_plan
from papers.claims import Measured, Progress, Values
from papers.ub_mesh.figures.recovery import job_pairs
from topologies import Fabric
from topologies.families.ub_mesh.fabrics import ub_superpod


def superpod_plan(note: Progress, flat: float = 1.0) -> Values:
    """Measure planning time and table entries of an NPU, in percent of a flat table.

    A flat table has an entry, or 16 paths, for each destination; `flat` scales the number of destinations.
    """
    note("generating the SuperPod", 0.0)
    fabric = ub_superpod()
    began = time.process_time()  # unlike elapsed time, independent of other processes
    # TP on a board, SP across boards, DP over the racks of a Pod, PP between Pods: the highest demand has the
    # shortest links (UB-Mesh, topology-aware parallelisation).
    peers = job_pairs(fabric, pipeline=4)
    note("planning", 0.1)
    plan = make_plan(fabric, peers=peers)  # raises an error if the paths could deadlock
    seconds = time.process_time() - began
    note("counting entries", 0.9)
    others = flat * (sum(node.kind == "npu" for node in fabric.nodes) - 1)
    tables: Counter[str] = Counter(entry.table for entry in plan.entries["npu0"])
    forwarding = _most(fabric, plan, ("segment", "linear"))
    steered = _most(fabric, plan, ("all_path",))
    total = sum(map(len, plan.entries.values()))
    return {
        "seconds": Measured(seconds, detail=f"{len(plan.routes):,} pairs, {total:,} entries, no cycle"),
        "forwarding": Measured(100 * forwarding / others, detail=f"{forwarding} entries"),
        "steered": Measured(
            100 * steered / (16 * others),
            detail=f"{steered} entries, npu0 has {tables['all_path'] // 16} peers",
        ),
    }


def _most(fabric: Fabric, plan: Plan, tables: tuple[str, ...]) -> int:
    """Return the largest number of entries of an NPU in `tables`."""
    npus = (node.name for node in fabric.nodes if node.kind == "npu")
    return max(sum(entry.table in tables for entry in plan.entries[name]) for name in npus)
