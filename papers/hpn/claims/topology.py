# SPDX-License-Identifier: Apache-2.0
"""HPN's sizes, counted port by port, and what its two planes leave to chance."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import permutations
from typing import TYPE_CHECKING

from papers.claims import Progress
from papers.claims.findings import Finding, FindingsCheck

if TYPE_CHECKING:
    from controller.plan import Entry, Plan
    from topologies import Fabric

__all__ = ["CHECKS", "choice_points", "left_their_plane"]

_STRUCTURE = "HPN, structure"
_DERIVED = "derived here from HPN's ports"


def run_sizes(note: Progress) -> Sequence[Finding]:
    """Build the fabric at full size, node by node, and count its parts."""
    from topologies import NodeKind, hpn
    from topologies.model.checks import problems
    from topologies.model.places import nic_ports

    note("building 15,360 GPUs", 0.0)
    fabric = hpn(segments=15, hosts=128, rails=8, backup=8, aggs=60, cores=8)
    note("checking", 0.5)
    wrong = problems(fabric)
    kinds = Counter(node.kind for node in fabric.nodes)
    tor, agg = _ports(fabric, "tor0.0.0"), _ports(fabric, "agg0.0")
    tors = {_far(fabric, node.name, port) for node in fabric.nodes for port in nic_ports(node)}
    segment = {name for name in tors if name.startswith("tor0.")}
    own = {_far(fabric, f"gpu{rank}", port) for rank in range(8) for port in nic_ports(fabric.node("gpu0"))}
    down, up = tor[NodeKind.GPU], tor[NodeKind.SPINE]
    over_tor = down * fabric.link_between("gpu0", "tor0.0.0").rate_bps
    over_tor /= up * fabric.link_between("tor0.0.0", "agg0.0").rate_bps
    rows = (
        ("GPUs at work", "15,360", f"{kinds[NodeKind.GPU]:,}", _STRUCTURE),
        ("of one segment, and its backup", "1,024 + 64", _of_segment(fabric), _STRUCTURE),
        ("ToRs of a segment", "16", str(len(segment)), _STRUCTURE),
        ("ToRs that a host leads to", "16", str(len(own)), _STRUCTURE),
        ("ToRs", "240", str(kinds[NodeKind.RAIL]), _DERIVED),
        ("aggregation switches", "120", str(kinds[NodeKind.SPINE]), _DERIVED),
        (
            "ports of a ToR: hosts, backup, up",
            "128 + 8 + 60",
            f"{down} + {tor[NodeKind.SPARE]} + {up}",
            _STRUCTURE,
        ),
        (
            "ports of an aggregation switch: down, up",
            "120 + 8",
            f"{agg[NodeKind.RAIL]} + {agg[NodeKind.CORE]}",
            _DERIVED,
        ),
        ("oversubscription of a ToR", "1.067", f"{over_tor:.3f}", _STRUCTURE),
        (
            "oversubscription towards the core",
            "15",
            f"{agg[NodeKind.RAIL] / agg[NodeKind.CORE]:g}",
            _STRUCTURE,
        ),
        ("lanes of 200 Gbit/s in use of 256, ToR and agg", "256 and 256", _lanes(fabric), _DERIVED),
        ("problems of the fabric", "0", str(len(wrong)), "what can be built at all"),
    )
    return tuple(
        Finding(what, source, paper, ours, "holds" if paper == ours else "differs")
        for what, paper, ours, source in rows
    )


def run_planes(note: Progress) -> Sequence[Finding]:
    """Frames that change planes, by the counters of a run, and by the path of every flow."""
    from lab.run.crossings import plane_of
    from papers.hpn.claims.runs import small

    result: list[Finding] = []
    for planes, words in ((2, "two planes"), (1, "one plane, a typical Clos")):
        note(words, planes % 2 / 2)
        ready, seen = small(f"topology: {{name: hpn, hosts: 2, rails: 4, aggs: 4, planes: {planes}}}")
        fabric, plan = ready.fabric, ready.plan
        known = plane_of(fabric)
        joining = [
            node.name
            for node in fabric.nodes
            if node.tier
            and len({known[neighbour] for neighbour in fabric.neighbours(node.name) if neighbour in known})
            > 1
        ]
        left, flows = left_their_plane(plan, ready.members)
        right = seen.correct_nodes == seen.nodes
        wanted = (not left and not seen.cross_plane_frames) if planes == 2 else left > 0
        result.append(
            Finding(
                f"{words}: flows that leave by another port than they entered by, frames that changed planes",
                "HPN, dual-plane" if planes == 2 else "derived here",
                "0 and 0" if planes == 2 else "about half of those between segments",
                f"{left:,} of {flows:,} flows, {seen.cross_plane_frames} of {seen.traffic.sent:,} frames; "
                f"{len(joining)} switches join planes",
                "holds" if wanted and right else "differs",
                ""
                if planes == 2
                else "counters tell net changes of planes only; flows are followed one by one",
            )
        )
    return tuple(result)


def run_choices(note: Progress) -> Sequence[Finding]:
    """Switches of a Pod that choose by hash, in what the tables hold."""
    from controller import make_plan
    from topologies import dcn_plus, hpn

    note("planning", 0.0)
    cases = (
        ("HPN", hpn(2, 2, 2, aggs=60), "1, of 60 ways", 1, "HPN, dual-plane"),
        ("one plane, a typical Clos", hpn(2, 2, 2, aggs=60, planes=1), "2 or more", 2, "derived here"),
        ("DCN+, from Pod to Pod", dcn_plus(2, 2, 1, 2), "3 or more", 3, "derived here"),
    )
    result: list[Finding] = []
    for name, fabric, paper, least, source in cases:
        last = [node.name for node in fabric.nodes if node.kind.member][-2]
        plan = make_plan(fabric, strategy="hashed", peers=[("gpu0", last)])
        chosen = choice_points(plan, "gpu0", last)
        holds = chosen == (60,) if least == 1 else len(chosen) >= least
        ours = f"{len(chosen)}, of {', then '.join(map(str, chosen))} ways"
        result.append(
            Finding(
                f"{name}: choices by hash of an inter-segment flow once its port is chosen",
                source,
                paper,
                ours,
                "holds" if holds else "differs",
            )
        )
    return tuple(result)


def left_their_plane(plan: Plan, members: Sequence[str]) -> tuple[int, int]:
    """Count flows, one a pair and value of lb, and the flows that arrive by another plane."""
    from controller.routing.path_probing import PathProbe
    from lab.run.crossings import plane_of

    planes, search = plane_of(plan.fabric), PathProbe(plan)
    left = flows = 0
    for source, destination in permutations(members, 2):
        for path, lbs in search.lbs_by_path(source, destination).items():
            tors = [planes[name] for name in path if name in planes]
            flows += len(lbs)
            left += len(lbs) * (bool(tors) and tors[0] != tors[-1])
    return left, flows


def choice_points(plan: Plan, source: str, destination: str) -> tuple[int, ...]:
    """Return the next hops of each switch with a choice after a flow's first ToR, from installed entries."""
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
    """Yield the ports to which the tables of a switch may send an address."""
    from controller import Exact, Lpm

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
            (number,) = match.values()  # of the array or of the group
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
    """Ports of a switch, by the kind of what they lead to."""
    return Counter(fabric.node(neighbour).kind for neighbour in fabric.neighbours(switch))


def _far(fabric: Fabric, node: str, port: int) -> str:
    neighbour = fabric.peer(node, port)
    assert neighbour is not None
    return neighbour.node


def _of_segment(fabric: Fabric) -> str:
    ends = [node for node in fabric.nodes if not node.tier and node.coordinates[2] == 0]
    work = sum(node.kind.member for node in ends)
    return f"{work:,} + {len(ends) - work}"


def _lanes(fabric: Fabric) -> str:
    from topologies.model.checks import lane_audit

    audit = lane_audit(fabric)
    return f"{audit['tor0.0.0'].used} and {audit['agg0.0'].used}"


CHECKS = (
    FindingsCheck("sizes", "hpn", "The Pod of 15,360 GPUs, port by port", run_sizes),
    FindingsCheck("planes", "hpn", "No frame changes planes", run_planes),
    FindingsCheck("choices", "hpn", "One choice is left to a hash", run_choices),
)
