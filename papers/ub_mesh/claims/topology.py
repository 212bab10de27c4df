# SPDX-License-Identifier: Apache-2.0
"""UB-Mesh's fabrics, generated and counted: nodes, links, distances, lanes."""

from __future__ import annotations

from collections import Counter
from functools import partial
from typing import TYPE_CHECKING, Any

from papers.claims import (
    Check,
    Claim,
    Interval,
    Kind,
    Measured,
    Progress,
    Values,
    at_least,
    changed,
    exactly,
)

if TYPE_CHECKING:
    from topologies import Fabric, NodeKind

__all__ = ["CHECKS"]

_stated = partial(Claim, kind=Kind.stated)
_derived = partial(Claim, kind=Kind.derived)
# Parameters of the generator that the paper gives, read back from the fabric.
_identity = partial(
    Claim, kind=Kind.identity, mutation=None, reason="a parameter of the generator, read back"
)


def _kind(fabric: Fabric, kind: NodeKind) -> list[str]:
    return [node.name for node in fabric.nodes if node.kind is kind]


def _used(fabric: Fabric, kind: NodeKind) -> Measured:
    """Return the fewest lanes on links of the nodes of a kind."""
    from topologies.model.checks import lane_audit

    audit = lane_audit(fabric)
    used = [audit[name].used for name in _kind(fabric, kind)]
    available = {audit[name].available for name in _kind(fabric, kind)}
    return Measured(min(used), detail=f"at most {max(used)}, of {', '.join(map(str, sorted(available)))}")


def _between_racks(fabric: Fabric) -> Counter[tuple[tuple[int, ...], tuple[int, ...]]]:
    """Return the lanes between each two racks that are linked."""
    result: Counter[tuple[tuple[int, ...], tuple[int, ...]]] = Counter()
    for link in fabric.links:
        ends = fabric.node(link.a.node), fabric.node(link.b.node)
        racks = sorted(node.coordinates[2:] for node in ends)
        if not any(node.kind == "hrs" for node in ends) and racks[0] != racks[1]:
            result[racks[0], racks[1]] += link.lanes
    return result


def _out_of_planes(fabric: Fabric) -> Measured:
    """Return the fewest lanes that leave a plane for other racks and HRS."""
    from topologies.model.places import planes, racks

    plane_of = {node.name: number for number, plane in enumerate(planes(fabric)) for node in plane}
    out: Counter[int] = Counter()
    for link in fabric.links:
        sides = {plane_of[end.node] for end in (link.a, link.b) if end.node in plane_of}
        if len(sides) == 2 or fabric.node(link.b.node).kind == "hrs":
            out.update(dict.fromkeys(sides, link.lanes))
    return Measured(min(out.values()), detail=f"{len(out) // len(racks(fabric))} planes a rack")


_SMALL_RACK = changed("a rack of 4 x 4", dims=(4, 4))

RACK = (
    _identity(name="npus", text="NPUs of a rack", place="UB-Mesh §3.3.1", unit="NPUs", paper=exactly(64),
              holds=exactly(64)),
    _identity(name="spares", text="spare NPUs of a rack", place="UB-Mesh §3.3.2", unit="NPU",
              paper=exactly(1),
              holds=exactly(1)),
    _derived(name="links", text="links along X and Y", place="UB-Mesh §3.3.1: 16 full meshes of 8",
             unit="links",
             holds=exactly(448), mutation=_SMALL_RACK),
    _derived(name="peers", text="peers of an NPU, fewest", place="UB-Mesh §3.3.1: 7 and 7", unit="NPUs",
             holds=exactly(14), mutation=_SMALL_RACK),
    _derived(name="diameter", text="longest shortest path along X and Y", place="UB-Mesh §3.3.1",
             unit="links",
             holds=exactly(2), mutation=changed("half of the links along X cut", cut=True)),
    _stated(name="lrs-plane", text="LRS of a plane", place="UB-Mesh §3.3.1", unit="LRS", paper=exactly(18),
            holds=exactly(18), mutation=_SMALL_RACK),
    _derived(name="lanes", text="lanes of an NPU on links, fewest", place="UB-Mesh §3.2.1: x72", unit="lanes",
             holds=exactly(72), mutation=changed("x3 to peers", lanes=3)),
)  # fmt: skip


def _rack(note: Progress, *, cut: bool = False, **parameters: Any) -> Values:
    import networkx

    from topologies import NodeKind, ub_rack_lrs
    from topologies.model.checks import check

    note("a rack with its switches", 0.0)
    fabric = ub_rack_lrs(**parameters)
    check(fabric)
    npus = _kind(fabric, NodeKind.NPU)
    mesh = fabric.graph().subgraph(npus).copy()
    if cut:
        along = [link for link in fabric.links if link.dimension == 0]
        mesh.remove_edges_from((link.a.node, link.b.node) for link in along[::2])
    return {
        "npus": len(npus),
        "spares": len(_kind(fabric, NodeKind.SPARE)),
        "links": mesh.number_of_edges(),
        "peers": min(degree for _, degree in mesh.degree),
        "diameter": networkx.diameter(mesh),
        "lrs-plane": len(_kind(fabric, NodeKind.LRS)) / 4,
        "lanes": _used(fabric, NodeKind.NPU),
    }


_ONE_ROW = changed("a row of 4 racks", dims=(8, 8, 4, 1))

POD = (
    _identity(name="npus", text="NPUs of a Pod", place="UB-Mesh §3.3.3", unit="NPUs", paper=exactly(1024),
              holds=exactly(1024)),
    _derived(name="pairs", text="pairs of racks that are linked",
             place="UB-Mesh §3.3.3: rows and columns of 4",
             unit="pairs", holds=exactly(48), mutation=_ONE_ROW),
    _stated(name="lanes", text="lanes between two such racks, fewest", place="UB-Mesh §3.3.3", unit="lanes",
            paper=exactly(128), holds=exactly(128), mutation=changed("x8 of an NPU out of its rack",
            uplink_lanes=8)),
    _derived(name="peers", text="racks that a rack is linked to, fewest", place="UB-Mesh §3.3.3: 3 and 3",
             unit="racks", holds=exactly(6), mutation=_ONE_ROW),
    _derived(name="longest", text="longest shortest path between NPUs of a Pod", unit="links",
             place="NPU, two LRS, those of two more racks, NPU", holds=exactly(6), mutation=_ONE_ROW),
)  # fmt: skip


def _pod(note: Progress, **parameters: Any) -> Values:
    from topologies import NodeKind, ub_pod
    from topologies.model.checks import check
    from topologies.model.distance import longest_way

    note("a Pod", 0.0)
    fabric = ub_pod(**parameters)
    check(fabric)
    npus = _kind(fabric, NodeKind.NPU)
    joined = _between_racks(fabric)
    ends = Counter(rack for pair in joined for rack in pair)
    note("distances in a Pod", 0.5)
    return {
        "npus": len(npus),
        "pairs": len(joined),
        "lanes": Measured(min(joined.values()), detail=f"at most {max(joined.values())}"),
        "peers": min(ends.values()),
        "longest": longest_way(fabric, npus),
    }


_HALF = changed("4 Pods", dims=(8, 8, 4, 4, 4))
_THIN = changed("x3 to peers", lanes=3)

SUPERPOD = (
    _identity(name="npus", text="NPUs of a SuperPod", place="UB-Mesh §3.3.4", unit="NPUs",
              paper=exactly(8192),
              holds=exactly(8192)),
    _identity(name="racks", text="racks of a SuperPod", place="UB-Mesh §6.2", unit="racks",
              paper=exactly(128),
              holds=exactly(128)),
    _derived(name="hrs", text="HRS of a SuperPod", place="UB-Mesh §3.3.4: x256 a rack to x512", unit="HRS",
             holds=exactly(64), mutation=changed("one HRS an LRS", hrs_per_lrs=1)),
    _derived(name="npu", text="lanes of an NPU on links, fewest", place="UB-Mesh Table 3: x72", unit="lanes",
             holds=exactly(72), mutation=_THIN),
    _derived(name="lrs", text="lanes of an LRS on links, fewest", place="UB-Mesh §3.2.1: x72", unit="lanes",
             holds=exactly(72), mutation=changed("one HRS an LRS", hrs_per_lrs=1)),
    _derived(name="hrs-lanes", text="lanes of an HRS on links, fewest", place="UB-Mesh §3.2.1: x512",
             unit="lanes",
             holds=exactly(512), mutation=_HALF),
    _derived(name="cpu", text="lanes of a CPU on links, fewest", place="UB-Mesh §3.2.1: x32", unit="lanes",
             holds=exactly(32), mutation=changed("two CPUs a rack", cpus=2)),
    _stated(name="plane", text="lanes that a plane puts out, fewest", place="UB-Mesh §3.3.1: four x256",
            unit="lanes", paper=exactly(256), holds=exactly(256), mutation=changed("one HRS an LRS",
            hrs_per_lrs=1)),
)  # fmt: skip


def _superpod(note: Progress, **parameters: Any) -> Values:
    from topologies import NodeKind, ub_superpod
    from topologies.model.checks import check

    note("a SuperPod", 0.0)
    fabric = ub_superpod(**parameters)
    note("its lanes", 0.5)
    check(fabric)
    npus = _kind(fabric, NodeKind.NPU)
    return {
        "npus": len(npus),
        "racks": len({fabric.node(name).coordinates[2:] for name in npus}),
        "hrs": len(_kind(fabric, NodeKind.HRS)),
        "npu": _used(fabric, NodeKind.NPU),
        "lrs": _used(fabric, NodeKind.LRS),
        "hrs-lanes": _used(fabric, NodeKind.HRS),
        "cpu": _used(fabric, NodeKind.CPU),
        "plane": _out_of_planes(fabric),
    }


ALTERNATIVES = tuple(
    Claim(
        name=f"{name}-{kind}",
        text=f"{kind.upper()} of a rack as {title}",
        place="UB-Mesh §6.2, first version",
        kind=Kind.identity if kind == "hrs" else Kind.stated,
        unit=kind.upper(),
        paper=exactly(count),
        holds=exactly(count),
        reason="a parameter of the generator, read back" if kind == "hrs" else "",
        mutation=None if kind == "hrs" else changed(f"built as {other}", swapped=True),
    )
    for name, title, other, switches in (
        ("1d-fm-a", "1D-FM-A", "1D-FM-B", {"lrs": 36, "hrs": 4}),
        ("1d-fm-b", "1D-FM-B", "Clos", {"lrs": 16, "hrs": 8}),
        ("clos", "Clos", "1D-FM-A", {"lrs": 72, "hrs": 0}),
    )
    for kind, count in switches.items()
)


def _alternatives(note: Progress, *, swapped: bool = False) -> Values:
    from topologies import NodeKind, ub_rack_1dfm_a, ub_rack_1dfm_b, ub_rack_clos
    from topologies.model.checks import check

    racks = {"1d-fm-a": ub_rack_1dfm_a, "1d-fm-b": ub_rack_1dfm_b, "clos": ub_rack_clos}
    names = list(racks)
    result: dict[str, Measured | float] = {}
    for number, name in enumerate(names):
        note(f"a rack as {name}", number / len(names))
        fabric = racks[names[(number + swapped) % len(names)]]()
        check(fabric)
        words = f"an NPU uses {_used(fabric, NodeKind.NPU).value:g} lanes"
        for kind in (NodeKind.LRS, NodeKind.HRS):
            result[f"{name}-{kind.value}"] = Measured(len(_kind(fabric, kind)), detail=words)
    return result


DCN = (
    _stated(name="npus", text="NPUs that a two-level Clos of HRS joins, most", place="UB-Mesh §3.3.4",
            unit="NPUs",
            paper=Interval(low=100_000), holds=at_least(100_000),
            mutation=changed("switches of x72", switch_lanes=72),
            reason="what a SuperPod puts out is a stand-in, x8 a rack"),
)  # fmt: skip


def _dcn(note: Progress, switch_lanes: int = 512) -> Values:
    """Add SuperPods until two levels of switches no longer reach them all."""
    from topologies import TopologyError
    from topologies.families.ub_mesh.dcn import dcn_clos

    most = None
    for superpods in range(1, 1024):
        note("SuperPods under a Clos", superpods / 1024)
        try:
            most = dcn_clos(superpods, switch_lanes=switch_lanes)
        except TopologyError:
            break
    if most is None:
        return {"npus": 0}
    return {"npus": Measured(most.npus, detail=f"{most.leaves} + {most.spines} HRS, {most.links:,} links")}


CHECKS = (
    Check("rack", "ub-mesh", "nodes, links, degree, distance and lanes of a rack", RACK, _rack),
    Check("pod", "ub-mesh", "racks of a Pod and the links between them", POD, _pod),
    Check("superpod", "ub-mesh", "a SuperPod, all its lanes counted", SUPERPOD, _superpod),
    Check(
        "rack-alternatives", "ub-mesh", "the rack built in other ways (Fig. 16)", ALTERNATIVES, _alternatives
    ),
    Check("dcn", "ub-mesh", "the network above SuperPods, as numbers", DCN, _dcn),
)
