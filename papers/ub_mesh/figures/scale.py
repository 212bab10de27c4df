# SPDX-License-Identifier: Apache-2.0
"""UB-Mesh at its full size: what a Pod and a SuperPod ask of planning, of the tables and of the testbed."""

from __future__ import annotations

import resource
import time
from collections import Counter

from controller import Plan, make_plan
from harness.files import EXPERIMENTS
from harness.run.prepare import prepare
from harness.run.runner import Pace, run
from harness.scenario.loader import load
from papers.claims import Measured, Progress, Values
from topologies import Fabric, NodeKind
from topologies.families.ub_mesh.fabrics import ub_superpod

__all__ = ["pod_run", "superpod_plan"]


def job_peers(fabric: Fabric) -> list[tuple[str, str]]:
    """Pairs of a job of TP 8, SP 8, DP 16 and PP 8 on a SuperPod of 8 x 8 x 4 x 4 x 8.

    TP along a board, SP across boards, DP over the racks of a Pod, a dimension after the other, PP from Pod
    to Pod: the highest demand on the nearest links (UB-Mesh, topology-aware parallelisation).
    """
    npus = [node for node in fabric.nodes if node.kind is NodeKind.NPU]
    named = {node.coordinates: node.name for node in npus}
    peers: list[tuple[str, str]] = []
    for node in npus:
        for axis, size in enumerate(fabric.dims):
            here = node.coordinates[axis]
            stages = range(here + 1, min(here + 2, size)) if axis == 4 else range(size)
            for value in stages:
                if value != here:
                    neighbour = (*node.coordinates[:axis], value, *node.coordinates[axis + 1 :])
                    peers.append((node.name, named[neighbour]))
    return peers


def superpod_plan(note: Progress, flat: float = 1.0) -> Values:
    """`flat` scales the table of an entry, or 16 paths, for each destination."""
    note("generating the SuperPod", 0.0)
    fabric = ub_superpod()
    began = time.process_time()  # a busy machine changes nothing
    peers = job_peers(fabric)
    note("planning", 0.1)
    plan = make_plan(fabric, peers=peers)  # refuses what could deadlock
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
    """Return the largest number of entries that an NPU has in `tables`."""
    npus = (node.name for node in fabric.nodes if node.kind == "npu")
    return max(sum(entry.table in tables for entry in plan.entries[name]) for name in npus)


_POD_RUNS = ("healthy", "cut")


def pod_run(note: Progress) -> Values:
    """Return the figures of the check `pod-run`."""
    note("planning", 0.0)
    scenario, document = load(EXPERIMENTS / "10_pod" / "scenario.yaml")
    prepared = prepare(scenario, document)

    def progress(variant: str, stage: str, share: float, _: Pace | None = None, /) -> None:
        note(f"{variant}: {stage}", (share + (variant != prepared[0].variant.name)) / 2)

    done = run(prepared, scenario.seed, progress)
    result: dict[str, Measured] = {}
    for name, variant in zip(_POD_RUNS, done.runs.values(), strict=True):
        seen = variant.observation
        words = f"{seen.completion_ps / 10**6:.2f} us, {seen.traffic.retransmitted} frames sent again"
        result[name] = Measured(seen.correct_nodes, detail=words)
    entries = max(variant.observation.table_entries for variant in done.runs.values())
    boot = max(seconds["boot"] for seconds in done.seconds.values())
    mebibytes = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    return {
        **result,
        "boot": Measured(boot, detail=f"{entries:,} entries in 2,208 switches"),
        "memory": Measured(mebibytes, detail="the most that the process ever had"),
    }
