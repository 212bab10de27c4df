# SPDX-License-Identifier: Apache-2.0
"""HPN's sizes, counted port by port; frames that change planes; switches that choose by hash."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import permutations

from controller import Exact, Lpm, make_plan
from controller.path_probing import PathProbe
from controller.plan.entry import Entry
from controller.plan.plan import Plan
from papers.claims import Measured, Progress, Values
from papers.hpn.figures.runs import small
from topologies import Fabric, NodeKind, dcn_plus, hpn
from topologies.model.checks import lane_audit, problems
from topologies.model.places import nic_ports, plane_of


def sizes(note: Progress, more: bool = False) -> Values:
    """Build HPN's fabric at full size, and count the fabric's nodes, ports and lanes."""
    note("building 15,360 GPUs", 0.0)
    if more:
        # The mutation grows all sizes but the rails: 7 instead of 8, so the numbers of ToRs change too.
        fabric = hpn(segments=17, hosts=144, rails=7, backup=9, aggs=68, cores=9)
    else:
        fabric = hpn(segments=15, hosts=128, rails=8, backup=8, aggs=60, cores=8)
    note("checking", 0.5)
    if not more and (wrong := problems(fabric)):
        raise ValueError(
            f"the fabric has {len(wrong)} problems, the first is {wrong[0]}; correct the generator"
        )
    kinds = Counter(node.kind for node in fabric.nodes)
    tor, agg = _ports(fabric, "tor0.0.0"), _ports(fabric, "agg0.0")
    tors = {_far(fabric, node.name, port) for node in fabric.nodes for port in nic_ports(node)}
    own = {
        _far(fabric, f"gpu{rank}", port)
        for rank in range(7 if more else 8)
        for port in nic_ports(fabric.node(f"gpu{rank}"))
    }
    ends = [node for node in fabric.endpoints if node.coordinates[2] == 0]
    work = sum(node.kind.member for node in ends)
    over = tor[NodeKind.GPU] * fabric.link_between("gpu0", "tor0.0.0").rate_bps
    over /= tor[NodeKind.SPINE] * fabric.link_between("tor0.0.0", "agg0.0").rate_bps
    audit = lane_audit(fabric)
    counts = {
        "gpus": kinds[NodeKind.GPU],
        "segment-gpus": work,
        "segment-backup": len(ends) - work,
        "segment-tors": sum(name.startswith("tor0.") for name in tors),
        "host-tors": len(own),
        "tors": kinds[NodeKind.RAIL],
        "aggs": kinds[NodeKind.SPINE],
        "tor-down": tor[NodeKind.GPU],
        "tor-backup": tor[NodeKind.SPARE],
        "tor-up": tor[NodeKind.SPINE],
        "agg-down": agg[NodeKind.RAIL],
        "agg-up": agg[NodeKind.CORE],
        "tor-lanes": audit["tor0.0.0"].used,
        "agg-lanes": audit["agg0.0"].used,
    }
    ratios = {"tor-over": over, "agg-over": agg[NodeKind.RAIL] / agg[NodeKind.CORE]}
    return {name: float(value) for name, value in {**counts, **ratios}.items()}


def planes(note: Progress, planes: int = 2, other: int = 1) -> Values:
    """Measure the share of flows that change planes, and count the frames that change planes in a run."""
    result: dict[str, Measured | float] = {}
    for name, number in (("flows", planes), ("typical", other)):
        note(f"planes: {number}", number % 2 / 2)
        ready, seen = small(f"topology: {{name: hpn, hosts: 2, rails: 4, aggs: 4, planes: {number}}}")
        left, flows = left_their_plane(ready.plan, ready.members)
        right = seen.correct_nodes == seen.nodes
        share = 100 * left / flows if right else float("nan")
        result[name] = Measured(share, detail=f"{left:,} of {flows:,} flows")
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
        chosen = choice_points(plan, "gpu0", last)
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


def choice_points(plan: Plan, source: str, destination: str) -> tuple[int, ...]:
    """Return the number of next hops at each switch with a choice, from a flow's first ToR on."""
    fabric = plan.fabric
    path = plan.routes[source, destination][0]
    address = fabric.node(destination).address
    here, result = path[1], []
    while here != destination:
        ports = sorted(set(_installed(plan.entries[here], address)))
        if len(ports) > 1:
            result.append(len(ports))
        neighbour = fabric.peer(here, ports[0])
        assert neighbour is not None
        here = neighbour.node
    return tuple(result)


def _installed(entries: Sequence[Entry], address: int) -> Iterator[int]:
    """Yield the ports by which the tables of a switch may send frames for an address."""
    tables: dict[str, dict[int, Entry]] = {"linear": {}, "multipath": {}}
    best, length = None, -1
    for entry in entries:
        match = dict(entry.match)
        if entry.table == "segment":
            prefix = match.get("dcna", Lpm(0, 0))
            assert isinstance(prefix, Lpm)
            if (address ^ prefix.value) >> (16 - prefix.prefix) == 0 and prefix.prefix > length:
                best, length = entry, prefix.prefix
        elif entry.table in tables:
            (number,) = match.values()  # index of the array entry, or number of the group
            assert isinstance(number, Exact)
            tables[entry.table][number.value] = entry
    assert best is not None
    where = _values(best)
    entry = tables["linear"][where["base"] + (address >> where["shift"] & where["mask"])]
    if entry.action == "set_port":
        yield _values(entry)["port"]
        return
    for member in tables["multipath"][_values(entry)["group"]].members:
        yield dict(member)["port"]


def _values(entry: Entry) -> Mapping[str, int]:
    return dict(entry.params)


def _ports(fabric: Fabric, switch: str) -> Counter[str]:
    """Count the ports of a switch by kind of the neighbour."""
    return Counter(fabric.node(neighbour).kind for neighbour in fabric.neighbours(switch))


def _far(fabric: Fabric, node: str, port: int) -> str:
    neighbour = fabric.peer(node, port)
    assert neighbour is not None
    return neighbour.node
