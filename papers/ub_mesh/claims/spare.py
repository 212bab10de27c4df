# SPDX-License-Identifier: Apache-2.0
"""UB-Mesh's backup NPU, 64+1: how far it is, what goes by way of it, what results a rack has with it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from functools import partial
from itertools import count, permutations

from controller.forwarding.next_hop import table_path
from controller.planner import make_plan
from controller.recovery.spare import takeover
from controller.schemes.registry import scheme_of
from harness.files import EXPERIMENTS
from harness.report.metrics import figure
from harness.run.observation.variant_run import VariantRun
from harness.run.prepare import prepare
from harness.run.runner import observe
from harness.scenario.loader import load
from harness.scenario.study import Study
from harness.sweeps.conduct import results_of
from harness.sweeps.plan import plan_study
from harness.sweeps.table import Record, record_of
from papers.claims import Check, Measured, Progress, Values
from papers.claims.declare import changed, derived, shifted, stated
from topologies import ub_rack_lrs
from topologies.transform.spares import Replacement

__all__ = ["CHECKS"]

_PAPER = "UB-Mesh §3.3.2, Fig. 9"
_SCENARIO = EXPERIMENTS / "09_spare" / "scenario.yaml"
_FAILED = "npu9"
_SPARE = "spare0"

_stated = partial(stated, place=_PAPER)
_derived = partial(derived, place=_PAPER)

WAYS = (
    _stated(
        "hops",
        "hops from the 63 others to the address of a failed NPU, most",
        2,
        "hops",
        changed("no NPU replaced", failed=False),
        expected=3,
        reason="two LRS are in series: of a plane's 18 LRS one has links to the spare, and that of a board to"
        " the board's NPUs; with the one LRS of the paper's figure it would be 2",
    ),
    _derived(
        "through",
        "routes and table paths by way of the spare",
        0,
        "paths",
        changed("paths by way of npu1 counted", watched="npu1"),
    ),
    _derived("apart", "pairs of endpoints that tables do not join", 0, "pairs", shifted(1)),
)


def _run_ways(note: Progress, watched: str = _SPARE, *, failed: bool = True) -> Values:
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


TAKEOVER = (
    _derived(
        "right",
        "arrays right in an AllReduce that loses an NPU, the same as in a healthy run",
        64,
        "arrays",
        changed("compared with another input", seed=2),
    ),
    _derived(
        "through",
        "frames by way of the spare, by counters of links and of its program",
        0,
        "frames",
        shifted(1),
    ),
    _derived(
        "time",
        "from the failure until the spare is in its place: detection, processing, migration",
        1.4,
        "us",
        changed("a migration of 2 µs", migrate_us=2.0),
        reason="the paper's minutes are times of people; the scenario states 0.2, 0.2 and 1 us",
    ),
)


def _run_takeover(note: Progress, seed: int = 1, migrate_us: float = 1.0) -> Values:
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


EACH = (
    _derived("npus", "NPUs failed in turn, of 64: right results with the spare", 64, "NPUs", shifted(-1)),
    _derived(
        "switches",
        "LRS failed in turn, of 72: right results, or a stop that says what was cut off",
        72,
        "LRS",
        shifted(-1),
    ),
)


def _run_each(note: Progress) -> Values:
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
    plan = plan_study(_SCENARIO, Study(cut_each=(kind,)), (kind,))
    ended = count(1)
    results = results_of(
        plan, note=lambda done: note(done.run.name, start + 0.5 * next(ended) / len(plan.runs))
    )
    return [record for record in map(record_of, results) if record["failed"]]


CHECKS = (
    Check("spare-ways", "ub-mesh", "paths to the spare NPU of a rack", WAYS, _run_ways),
    Check("spare-takeover", "ub-mesh", "an AllReduce that loses an NPU", TAKEOVER, _run_takeover),
    Check(
        "spare-each", "ub-mesh", "an AllReduce that loses each NPU, each switch", EACH, _run_each, long=True
    ),
)
