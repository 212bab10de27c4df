# SPDX-License-Identifier: Apache-2.0
"""Nodes, links, distances and lanes of generated UB-Mesh fabrics."""

from __future__ import annotations

from collections import Counter
from typing import Any

from papers.claims import Measured, Progress, Values
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


def _kind(fabric: Fabric, kind: NodeKind) -> list[str]:
    return [node.name for node in fabric.nodes if node.kind is kind]


def _used(fabric: Fabric, kind: NodeKind) -> Measured:
    """Return the fewest lanes used by a node of a kind."""
    audit = lane_audit(fabric)
    used = [audit[name].used for name in _kind(fabric, kind)]
    available = {audit[name].available for name in _kind(fabric, kind)}
    return Measured(min(used), detail=f"at most {max(used)}, of {', '.join(map(str, sorted(available)))}")


def _between_racks(fabric: Fabric) -> Counter[tuple[tuple[int, ...], tuple[int, ...]]]:
    """Return the lanes between racks, by pair of racks with a link."""
    result: Counter[tuple[tuple[int, ...], tuple[int, ...]]] = Counter()
    for link in fabric.links:
        ends = fabric.node(link.a.node), fabric.node(link.b.node)
        racks = sorted(node.coordinates[2:] for node in ends)
        if not any(node.kind == "hrs" for node in ends) and racks[0] != racks[1]:
            result[racks[0], racks[1]] += link.lanes
    return result


def _out_of_planes(fabric: Fabric) -> Measured:
    """Return the fewest lanes from a plane to other racks and HRS."""
    plane_of = {node.name: number for number, plane in enumerate(planes(fabric)) for node in plane}
    out: Counter[int] = Counter()
    for link in fabric.links:
        sides = {plane_of[end.node] for end in (link.a, link.b) if end.node in plane_of}
        if len(sides) == 2 or fabric.node(link.b.node).kind == "hrs":
            out.update(dict.fromkeys(sides, link.lanes))
    return Measured(min(out.values()), detail=f"{len(out) // len(racks(fabric))} planes a rack")


def rack(note: Progress, *, cut: bool = False, **parameters: Any) -> Values:
    """Count the nodes, mesh links, neighbours and lanes of a generated rack, and measure its diameter.

    `cut` removes half of the mesh links along a dimension; `parameters` are those of `ub_rack_lrs`.
    """
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


def pod(note: Progress, **parameters: Any) -> Values:
    """Count the NPUs, joined racks and lanes between racks of a generated Pod, and the longest distance.

    `parameters` are those of `ub_pod`.
    """
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


def superpod(note: Progress, **parameters: Any) -> Values:
    """Count the nodes of a generated SuperPod, and the fewest lanes used by a node of each kind.

    `parameters` are those of `ub_superpod`.
    """
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


def rack_alternatives(note: Progress, *, swapped: bool = False) -> Values:
    """Count the LRS and HRS of racks as 1D-FM-A, 1D-FM-B and Clos; `swapped` exchanges the racks."""
    racks = {"1d-fm-a": ub_rack_1dfm_a, "1d-fm-b": ub_rack_1dfm_b, "clos": ub_rack_clos}
    builders = list(racks.values())
    result: dict[str, Measured | float] = {}
    for number, name in enumerate(racks):
        note(f"a rack as {name}", number / len(racks))
        fabric = builders[(number + swapped) % len(racks)]()
        check(fabric)
        words = f"an NPU uses {_used(fabric, NodeKind.NPU).value:g} lanes"
        for kind in (NodeKind.LRS, NodeKind.HRS):
            result[f"{name}-{kind.value}"] = Measured(len(_kind(fabric, kind)), detail=words)
    return result


def dcn(note: Progress, switch_lanes: int = 512) -> Values:
    """Return the number of NPUs of the most SuperPods that two levels of switches can connect."""
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
