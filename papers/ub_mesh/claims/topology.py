# SPDX-License-Identifier: Apache-2.0
"""UB-Mesh's fabrics, generated and counted: nodes, links, distances, lanes."""

from __future__ import annotations

from collections import Counter
from functools import partial
from typing import Any

from papers.claims import Check, Measured, Progress, Values
from papers.claims.declare import at_least, changed, derived, identity, stated
from topologies import (
    Fabric,
    NodeKind,
    TopologyError,
    ub_pod,
    ub_rack_1dfm_a,
    ub_rack_1dfm_b,
    ub_rack_clos,
    ub_rack_lrs,
    ub_superpod,
)
from topologies.families.ub_mesh.dcn import dcn_clos
from topologies.model.checks import check, lane_audit
from topologies.model.distance import longest_way
from topologies.model.places import planes, racks

__all__ = ["CHECKS"]

# Parameters of the generator that the paper gives, read back from the fabric.
_identity = partial(identity, reason="a parameter of the generator, read back")


def _kind(fabric: Fabric, kind: NodeKind) -> list[str]:
    return [node.name for node in fabric.nodes if node.kind is kind]


def _used(fabric: Fabric, kind: NodeKind) -> Measured:
    """Return the fewest lanes on links of the nodes of a kind."""
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
    plane_of = {node.name: number for number, plane in enumerate(planes(fabric)) for node in plane}
    out: Counter[int] = Counter()
    for link in fabric.links:
        sides = {plane_of[end.node] for end in (link.a, link.b) if end.node in plane_of}
        if len(sides) == 2 or fabric.node(link.b.node).kind == "hrs":
            out.update(dict.fromkeys(sides, link.lanes))
    return Measured(min(out.values()), detail=f"{len(out) // len(racks(fabric))} planes a rack")


_SMALL_RACK = changed("a rack of 4 x 4", dims=(4, 4))

RACK = (
    _identity("npus", "NPUs of a rack", 64, "NPUs", place="UB-Mesh §3.3.1"),
    _identity("spares", "spare NPUs of a rack", 1, "NPU", place="UB-Mesh §3.3.2"),
    derived(
        "links", "links along X and Y", 448, "links", _SMALL_RACK, place="UB-Mesh §3.3.1: 16 full meshes of 8"
    ),
    derived("peers", "peers of an NPU, fewest", 14, "NPUs", _SMALL_RACK, place="UB-Mesh §3.3.1: 7 and 7"),
    derived(
        "diameter",
        "longest shortest path along X and Y",
        2,
        "links",
        changed("half of the links along X cut", cut=True),
        place="UB-Mesh §3.3.1",
    ),
    stated("lrs-plane", "LRS of a plane", 18, "LRS", _SMALL_RACK, place="UB-Mesh §3.3.1"),
    derived(
        "lanes",
        "lanes of an NPU on links, fewest",
        72,
        "lanes",
        changed("x3 to peers", lanes=3),
        place="UB-Mesh §3.2.1: x72",
    ),
)


def _rack(note: Progress, *, cut: bool = False, **parameters: Any) -> Values:
    import networkx

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
    _identity("npus", "NPUs of a Pod", 1024, "NPUs", place="UB-Mesh §3.3.3"),
    derived(
        "pairs",
        "pairs of racks that are linked",
        48,
        "pairs",
        _ONE_ROW,
        place="UB-Mesh §3.3.3: rows and columns of 4",
    ),
    stated(
        "lanes",
        "lanes between two such racks, fewest",
        128,
        "lanes",
        changed("x8 of an NPU out of its rack", uplink_lanes=8),
        place="UB-Mesh §3.3.3",
    ),
    derived(
        "peers",
        "racks that a rack is linked to, fewest",
        6,
        "racks",
        _ONE_ROW,
        place="UB-Mesh §3.3.3: 3 and 3",
    ),
    derived(
        "longest",
        "longest shortest path between NPUs of a Pod",
        6,
        "links",
        _ONE_ROW,
        place="NPU, two LRS, those of two more racks, NPU",
    ),
)


def _pod(note: Progress, **parameters: Any) -> Values:
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
    _identity("npus", "NPUs of a SuperPod", 8192, "NPUs", place="UB-Mesh §3.3.4"),
    _identity("racks", "racks of a SuperPod", 128, "racks", place="UB-Mesh §6.2"),
    derived(
        "hrs",
        "HRS of a SuperPod",
        64,
        "HRS",
        changed("one HRS an LRS", hrs_per_lrs=1),
        place="UB-Mesh §3.3.4: x256 a rack to x512",
    ),
    derived("npu", "lanes of an NPU on links, fewest", 72, "lanes", _THIN, place="UB-Mesh Table 3: x72"),
    derived(
        "lrs",
        "lanes of an LRS on links, fewest",
        72,
        "lanes",
        changed("one HRS an LRS", hrs_per_lrs=1),
        place="UB-Mesh §3.2.1: x72",
    ),
    derived(
        "hrs-lanes", "lanes of an HRS on links, fewest", 512, "lanes", _HALF, place="UB-Mesh §3.2.1: x512"
    ),
    derived(
        "cpu",
        "lanes of a CPU on links, fewest",
        32,
        "lanes",
        changed("two CPUs a rack", cpus=2),
        place="UB-Mesh §3.2.1: x32",
    ),
    stated(
        "plane",
        "lanes that a plane puts out, fewest",
        256,
        "lanes",
        changed("one HRS an LRS", hrs_per_lrs=1),
        place="UB-Mesh §3.3.1: four x256",
    ),
)


def _superpod(note: Progress, **parameters: Any) -> Values:
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


_BUILT = {
    "1d-fm-a": ("1D-FM-A", "1D-FM-B", 36, 4),
    "1d-fm-b": ("1D-FM-B", "Clos", 16, 8),
    "clos": ("Clos", "1D-FM-A", 72, 0),
}
_FIRST = "UB-Mesh §6.2, first version"

ALTERNATIVES = tuple(
    claim
    for name, (title, other, lrs, hrs) in _BUILT.items()
    for claim in (
        stated(
            f"{name}-lrs",
            f"LRS of a rack as {title}",
            lrs,
            "LRS",
            changed(f"built as {other}", swapped=True),
            place=_FIRST,
        ),
        _identity(f"{name}-hrs", f"HRS of a rack as {title}", hrs, "HRS", place=_FIRST),
    )
)


def _alternatives(note: Progress, *, swapped: bool = False) -> Values:
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
    stated(
        "npus",
        "NPUs that a two-level Clos of HRS joins, most",
        at_least(100_000),
        "NPUs",
        changed("switches of x72", switch_lanes=72),
        place="UB-Mesh §3.3.4",
        reason="what a SuperPod puts out is a stand-in, x8 a rack",
    ),
)


def _dcn(note: Progress, switch_lanes: int = 512) -> Values:
    """Add SuperPods until two levels of switches no longer reach them all."""
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
