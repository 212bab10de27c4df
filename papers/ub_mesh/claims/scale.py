# SPDX-License-Identifier: Apache-2.0
"""UB-Mesh at its full size: what a Pod and a SuperPod ask of planning, of the tables and of the testbed."""

from __future__ import annotations

import resource
import time
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from papers.claims import Progress
from papers.claims.findings import Finding, FindingsCheck

if TYPE_CHECKING:
    from controller import Plan
    from topologies import Fabric

__all__ = ["CHECKS", "job_peers"]

EXPERIMENTS = Path(__file__).resolve().parents[3] / "experiments"

_MOST_BOOT_SECONDS = 60.0
_MOST_MEBIBYTES = 8192

# What a plan of the SuperPod may take on a machine of two cores, and what its entries may, of a flat table's.
_MOST_SECONDS = 120.0
_MOST_SHARE = 0.01


def job_peers(fabric: Fabric) -> list[tuple[str, str]]:
    """Pairs of a job of TP 8, SP 8, DP 16 and PP 8 on a SuperPod of 8 x 8 x 4 x 4 x 8.

    TP along a board, SP across boards, DP over the racks of a Pod, a dimension after the other, PP from Pod
    to Pod: the highest demand on the nearest links (UB-Mesh, topology-aware parallelisation).
    """
    from topologies import NodeKind

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


def _superpod(note: Progress) -> Sequence[Finding]:
    from controller import make_plan
    from topologies.families.ub_mesh.fabrics import ub_superpod

    note("generating the SuperPod", 0.0)
    fabric = ub_superpod()
    began = time.perf_counter()
    peers = job_peers(fabric)
    note("planning", 0.1)
    plan = make_plan(fabric, peers=peers)  # refuses what could deadlock
    seconds = time.perf_counter() - began
    note("counting entries", 0.9)
    npus = sum(node.kind == "npu" for node in fabric.nodes)
    tables: Counter[str] = Counter(entry.table for entry in plan.entries["npu0"])
    forwarding = _most(fabric, plan, ("segment", "linear"))
    steered = _most(fabric, plan, ("all_path",))
    flat = npus - 1
    return (
        Finding(
            "planning and deadlock check of a job of TP 8, SP 8, PP 8, DP 16 on 8,192 NPUs",
            "derived here",
            f"at most {_MOST_SECONDS:.0f} s (our target)",
            f"{seconds:.0f} s, {len(plan.routes):,} pairs, "
            f"{sum(map(len, plan.entries.values())):,} entries, no cycle",
            "holds" if seconds <= _MOST_SECONDS else "differs",
            "" if seconds <= _MOST_SECONDS else "this machine is slower than the one it was set on",
        ),
        _entries("segments with linear lookup, entries an NPU", forwarding, flat, "an entry a destination"),
        _entries(
            f"paths for the job's {tables['all_path'] // 16} peers of npu0, most entries an NPU",
            steered,
            flat * 16,
            "16 paths a destination",
        ),
    )


def _most(fabric: Fabric, plan: Plan, tables: tuple[str, ...]) -> int:
    """Return the largest number of entries that an NPU has in `tables`."""
    npus = (node.name for node in fabric.nodes if node.kind == "npu")
    return max(sum(entry.table in tables for entry in plan.entries[name]) for name in npus)


def _entries(claim: str, ours: int, flat: int, what: str) -> Finding:
    share = ours / flat
    return Finding(
        claim,
        "UB-Mesh, structured addressing",
        "small tables; no figure. At most 1 % of a flat table (our target)",
        f"{ours:,} of {flat:,} ({what}): {100 * share:.2f} %",
        "holds" if share <= _MOST_SHARE else "differs",
    )


def _pod(note: Progress) -> Sequence[Finding]:
    from lab.run.prepare import prepare
    from lab.run.runner import run
    from lab.scenario.loader import load

    note("planning", 0.0)
    scenario, document = load(EXPERIMENTS / "10_pod" / "scenario.yaml")
    prepared = prepare(scenario, document)

    def progress(variant: str, stage: str, share: float) -> None:
        note(f"{variant}: {stage}", (share + (variant != prepared[0].variant.name)) / 2)

    done = run(prepared, scenario.seed, progress)
    mebibytes = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    boot = max(seconds["boot"] for seconds in done.seconds.values())
    entries = max(variant.observation.table_entries for variant in done.runs.values())
    findings = [
        Finding(
            "boot of a Pod and installation of all entries",
            "derived here",
            f"at most {_MOST_BOOT_SECONDS:.0f} s and {_MOST_MEBIBYTES:,} MiB (our target)",
            f"{boot:.1f} s, {entries:,} entries in 2,208 switches, {mebibytes:,.0f} MiB in all",
            "holds" if boot <= _MOST_BOOT_SECONDS and mebibytes <= _MOST_MEBIBYTES else "differs",
        )
    ]
    for name, variant in done.runs.items():
        seen = variant.observation
        findings.append(
            Finding(
                f"AllReduce over all NPUs of a Pod, {scenario.variant(name).label}",
                "UB-Mesh, Pod",
                "right data",
                f"{seen.correct_nodes:,} of {seen.nodes:,} right in {seen.completion_ps / 10**6:.2f} us, "
                f"{seen.traffic.lost_with_link} frames lost, {seen.traffic.retransmitted} sent again",
                "holds" if seen.correct_nodes == seen.nodes else "differs",
            )
        )
    return tuple(findings)


CHECKS = (
    FindingsCheck("pod-run", "ub-mesh", "An AllReduce over 1,024 NPUs", _pod, long=True),
    FindingsCheck("superpod-plan", "ub-mesh", "Planning for 8,192 NPUs", _superpod, long=True),
)
