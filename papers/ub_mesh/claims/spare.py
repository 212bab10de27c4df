# SPDX-License-Identifier: Apache-2.0
"""UB-Mesh's backup NPU, 64+1: how far it is, what goes by way of it, what results a rack has with it."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Sequence
from itertools import permutations
from pathlib import Path
from typing import TYPE_CHECKING

from papers.claims import Progress
from papers.claims.findings import Finding, FindingsCheck

if TYPE_CHECKING:
    from lab.sweeps.failures import Failure, TargetKind

__all__ = ["CHECKS"]

_PAPER = "UB-Mesh, backup NPU (64+1)"
_DERIVED = "derived here"
_SCENARIO = Path(__file__).resolve().parents[3] / "experiments" / "09_spare" / "scenario.yaml"
_FAILED = "npu9"
_SPARE = "spare0"


def _exact(claim: str, source: str, expected: str, ours: str, reason: str = "") -> Finding:
    return Finding(claim, source, expected, ours, "holds" if expected == ours else "differs", reason)


def _run_ways(note: Progress) -> Sequence[Finding]:
    from controller.planner import make_plan
    from controller.recovery.spare import takeover
    from controller.routing.paths import PathFinder
    from controller.tables.next_hop import table_path
    from topologies import ub_rack_lrs
    from topologies.transform.spares import Replacement

    note("a rack with a spare in service", 0.0)
    rack = ub_rack_lrs()
    plan, updates = takeover(make_plan(rack), Replacement({_FAILED: _SPARE}))
    note("all ways there", 0.6)
    finder = PathFinder(plan.fabric, plan.failed)
    ends = [node.name for node in plan.fabric.nodes if not node.tier and node.name != _FAILED]
    peers = [name for name in ends if name.startswith("npu")]
    tables = {
        (permutation, neighbour): table_path(finder, permutation, neighbour)
        for permutation, neighbour in permutations(ends, 2)
    }
    routes = [path for paths in plan.routes.values() for path in paths]
    hops = {len(path) - 1 for peer in peers for path in (tables[peer, _SPARE], *plan.routes[peer, _SPARE])}
    kinds = Counter(
        "-".join(plan.fabric.node(name).kind for name in path)
        for peer in peers
        for path in plan.routes[peer, _SPARE]
    )
    through = sum(_SPARE in path[1:-1] for path in (*routes, *tables.values()))
    lost = sum(path[-1] != table for (_, table), path in tables.items())
    return (
        Finding(
            "hops from the 63 others to the address of a failed NPU",
            _PAPER,
            "2 (NPU-LRS-backup), one more than before",
            f"{_few(hops)}, all {len(peers)} peers, by tables and by routes",
            "holds" if hops == {2} else "differs",
            f"Two LRS are in series, {_few(kinds)}: of a plane's 18 LRS one has links to the spare, and "
            "that of a board to the board's NPUs. With the one LRS of the paper's figure it would be 2.",
            known=hops == {3},
        ),
        _exact("routes and ways of tables by way of the spare", _DERIVED, "0", str(through)),
        _exact("pairs of endpoints that tables do not join", _DERIVED, "0", str(lost)),
        Finding(
            "table entries that a takeover writes in a rack",
            "-",
            "-",
            f"{sum(map(len, updates.values())):,} of {sum(map(len, plan.entries.values())):,}",
            "not judged",
        ),
    )


def _few(values: object) -> str:
    return ", ".join(str(value) for value in values)  # type: ignore[attr-defined]


def _run_takeover(note: Progress) -> Sequence[Finding]:
    from lab.report.metrics import SPARE_METRICS, VariantRun
    from lab.run.prepare import prepare
    from lab.run.runner import observe
    from lab.scenario.loader import load

    note("planning a rack", 0.0)
    ready = {item.variant.name: item for item in prepare(*load(_SCENARIO))}
    note("an AllReduce that loses an NPU", 0.5)
    seen = observe(ready["npu"], 1)
    healthy = observe(ready["healthy"], 1)
    took = SPARE_METRICS["takeover_us"].of(VariantRun(seen, 1, {}))
    same = seen.checksum == healthy.checksum
    return (
        _exact(
            "AllReduce that loses an NPU: right arrays, the same as of a healthy run",
            _DERIVED,
            "64 of 64, the same",
            f"{seen.correct_nodes} of {seen.nodes}, {'the same' if same else 'others'}",
        ),
        _exact(
            "frames by way of the spare, by counters of links and of its program",
            _DERIVED,
            "0",
            str(seen.transit_frames),
        ),
        Finding(
            "from the failure until the spare is in its place",
            _PAPER,
            "3 min of migration after up to 10 min to find the fault",
            f"{took:g} us, of which {ready['npu'].variant.control.migrate_us:g} us stand for the migration",
            "not judged",
            "Times of people; a run lasts microseconds, so the scenario states its own.",
        ),
    )


def _run_each(note: Progress) -> Sequence[Finding]:
    npus = _each("npu", note, 0.0)
    switches = _each("switch", note, 0.6)
    taken = sum(npu.right and npu.spare == _SPARE for npu in npus)
    fine = sum(switch.right or switch.stopped for switch in switches)
    return (
        _exact(
            "every NPU failed in turn: right results with the spare",
            _DERIVED,
            "64 of 64",
            f"{taken} of {len(npus)}",
            "; ".join(npu.trouble for npu in npus if npu.trouble),
        ),
        _exact(
            "every LRS failed in turn: right results, or a stop that says what was cut off",
            _DERIVED,
            "72 of 72",
            f"{fine} of {len(switches)}",
            f"{sum(switch.right for switch in switches)} of them right",
        ),
    )


def _each(kind: TargetKind, note: Progress, start: float) -> Sequence[Failure]:
    from lab.sweeps.failures import failures, plan_failures

    _, planned = plan_failures(_SCENARIO, kind, None, kind)
    result: list[Failure] = []
    for failure in failures(planned, os.cpu_count() or 1):
        result.append(failure)
        note(f"{failure.target} failed", start + 0.5 * len(result) / len(planned.targets))
    return result


CHECKS = (
    FindingsCheck("spare-ways", "ub-mesh", "Ways to the spare NPU of a rack", _run_ways),
    FindingsCheck("spare-takeover", "ub-mesh", "An AllReduce that loses an NPU", _run_takeover),
    FindingsCheck(
        "spare-each", "ub-mesh", "An AllReduce that loses each NPU, each switch", _run_each, long=True
    ),
)
