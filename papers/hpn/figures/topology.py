# SPDX-License-Identifier: Apache-2.0
"""HPN's sizes, counted port by port; frames that change planes; switches that choose by hash."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import permutations
from typing import Any

from controller import make_plan
from controller.path_probing import PathProbe
from controller.plan.plan import Plan
from papers.claims import Measured, Progress, Values
from papers.hpn.figures.runs import small
from topologies import Fabric, NodeKind, dcn_plus, hpn
from topologies.model.checks import check, lane_audit
from topologies.model.places import plane_of

# The paper's Pod of 15,360 GPUs.
_FULL: Mapping[str, Any] = {"segments": 15, "hosts": 128, "rails": 8, "backup": 8, "aggs": 60, "cores": 8}


def sizes(note: Progress, **shape: Any) -> Values:
    """Build HPN's fabric at full size, or with other values of `hpn`; count its nodes, ports and lanes."""
    note("building 15,360 GPUs", 0.0)
    fabric = hpn(**{**_FULL, **shape})
    note("checking", 0.5)
    if not shape:
        check(fabric)
    kinds = Counter(node.kind for node in fabric.nodes)
    tor, agg = _ports(fabric, "tor0.0.0"), _ports(fabric, "agg0.0")
    host = [fabric.neighbours(f"gpu{rank}") for rank in range(fabric.dims[0])]
    ends = [node for node in fabric.endpoints if node.coordinates[2] == 0]
    work = sum(node.kind.member for node in ends)
    over = tor[NodeKind.GPU] * fabric.link_between("gpu0", "tor0.0.0").rate_bps
    over /= tor[NodeKind.SPINE] * fabric.link_between("tor0.0.0", "agg0.0").rate_bps
    audit = lane_audit(fabric)
    return {
        "gpus": kinds[NodeKind.GPU],
        "segment-gpus": work,
        "segment-backup": len(ends) - work,
        "segment-tors": sum(node.name.startswith("tor0.") for node in fabric.nodes),
        "host-tors": len({name for names in host for name in names if name.startswith("tor")}),
        "tors": kinds[NodeKind.RAIL],
        "aggs": kinds[NodeKind.SPINE],
        "tor-down": tor[NodeKind.GPU],
        "tor-backup": tor[NodeKind.SPARE],
        "tor-up": tor[NodeKind.SPINE],
        "agg-down": agg[NodeKind.RAIL],
        "agg-up": agg[NodeKind.CORE],
        "tor-lanes": audit["tor0.0.0"].used,
        "agg-lanes": audit["agg0.0"].used,
        "tor-over": over,
        "agg-over": agg[NodeKind.RAIL] / agg[NodeKind.CORE],
    }


def planes(note: Progress, planes: int = 2, other: int = 1) -> Values:
    """Measure the share of flows that change planes, and count the frames that change planes in a run."""
    result: dict[str, Measured | float] = {}
    for name, number in (("flows", planes), ("typical", other)):
        note(f"planes: {number}", number % 2 / 2)
        ready, seen = small(f"topology: {{name: hpn, hosts: 2, rails: 4, aggs: 4, planes: {number}}}")
        left, flows = left_their_plane(ready.plan, ready.members)
        result[name] = Measured(100 * left / flows, detail=f"{left:,} of {flows:,} flows")
        if name == "flows":
            crossed = float(seen.cross_plane_frames or 0)
            result["frames"] = Measured(crossed, detail=f"of {seen.traffic.sent:,} sent")
    return result


def choices(note: Progress, planes: int = 2, aggs: int = 60) -> Values:
    """Count the switches on a flow's path that choose by hash, from the installed entries."""
    note("planning", 0.0)
    result: dict[str, Measured | float] = {}
    for name, fabric in (
        ("hpn", hpn(2, 2, 2, aggs=aggs, planes=planes)),
        ("typical", hpn(2, 2, 2, aggs=aggs, planes=1)),
        ("dcn-plus", dcn_plus(2, 2, 1, 2)),
    ):
        last = [node.name for node in fabric.nodes if node.kind.member][-2]
        plan = make_plan(fabric, strategy="hashed", peers=[("gpu0", last)])
        chosen = PathProbe(plan).group_sizes("gpu0", last)
        result[name] = Measured(float(len(chosen)), detail=f"of {', then '.join(map(str, chosen))} ways")
        if name == "hpn":
            result["ways"] = float(chosen[0])
    return result


def left_their_plane(plan: Plan, members: Sequence[str]) -> tuple[int, int]:
    """Return the numbers of flows that change planes and of all flows.

    A flow has a source, a destination and a value of the header field lb.
    """
    planes, search = plane_of(plan.fabric), PathProbe(plan)
    left = flows = 0
    for source, destination in permutations(members, 2):
        for path, lbs in search.lbs_by_path(source, destination).items():
            tors = [planes[name] for name in path if name in planes]
            flows += len(lbs)
            left += len(lbs) * (bool(tors) and tors[0] != tors[-1])
    return left, flows


def _ports(fabric: Fabric, switch: str) -> Counter[str]:
    """Count the ports of a switch by kind of the neighbour."""
    return Counter(fabric.node(neighbour).kind for neighbour in fabric.neighbours(switch))
