# SPDX-License-Identifier: Apache-2.0
"""UB-Mesh's backup NPU, 64+1: hops to it, paths through it, and results of a rack after a takeover."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from itertools import count, permutations

from controller.forwarding.next_hop import table_path
from controller.planner import make_plan
from controller.recovery.spare import takeover
from controller.schemes.registry import scheme_of
from harness.files import EXPERIMENTS
from harness.report.measurement.metrics import figure
from harness.run.observation.variant_run import VariantRun
from harness.run.prepare import prepare
from harness.run.runner import observe
from harness.scenario.loader import load
from harness.scenario.study import Study
from harness.sweeps.conduct import results_of
from harness.sweeps.plan import plan_study
from harness.sweeps.table import Record, record_of
from papers.claims import Measured, Progress, Values
from topologies import ub_rack_lrs
from topologies.transform.spares import Replacement

_SCENARIO = EXPERIMENTS / "09_spare" / "scenario.yaml"
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


def spare_takeover(note: Progress, seed: int = 1, migrate_us: float = 1.0) -> Values:
    """Run an AllReduce that loses an NPU: count correct arrays and transit frames; time the takeover in µs.

    Args:
        seed: seed of the healthy run, whose result must be the same.
        migrate_us: time to move the NPU's work to the backup NPU, in µs.
    """
    note("planning a rack", 0.0)
    scenario, document = load(_SCENARIO)
    variants = [
        item.model_copy(update={"control": item.control.model_copy(update={"migrate_us": migrate_us})})
        for item in scenario.variants
    ]
    ready = {
        item.variant.name: item
        for item in prepare(scenario.model_copy(update={"variants": tuple(variants)}), document)
    }
    note("an AllReduce that loses an NPU", 0.5)
    seen, healthy = observe(ready["npu"], 1), observe(ready["healthy"], seed)
    return {
        "right": seen.correct_nodes if seen.checksum == healthy.checksum else 0,
        "through": seen.transit_frames,
        "time": figure("takeover_us", VariantRun(seen, 1, {})),
    }


def spare_each(note: Progress) -> Values:
    """Fail each NPU and each switch of a rack in turn; count the AllReduces that end as they should.

    After a failed NPU, the result is right with the backup NPU; after a failed switch, the result is right or
    the run stops.
    """
    npus = _each("npu", note, 0.0)
    switches = _each("switch", note, 0.6)
    trouble = "; ".join(npu["trouble"] for npu in npus if npu["trouble"])
    served = [npu for npu in npus if npu["status"] == "right" and npu["spare"] == _SPARE]
    right = [switch for switch in switches if switch["status"] == "right"]
    stopped = [switch for switch in switches if switch["status"] == "stopped"]
    return {
        "npus": Measured(len(served), detail=trouble),
        "switches": Measured(len(right) + len(stopped), detail=f"{len(right)} of them right"),
    }


def _each(kind: str, note: Progress, start: float) -> Sequence[Record]:
    """Return the records of the runs in which each node of a kind fails in turn."""
    plan = plan_study(_SCENARIO, Study(fail_each=(kind,)), (kind,))
    ended = count(1)
    results = results_of(
        plan, note=lambda done: note(done.run.name, start + 0.5 * next(ended) / len(plan.runs))
    )
    return [record for record in map(record_of, results) if record["failed"]]
