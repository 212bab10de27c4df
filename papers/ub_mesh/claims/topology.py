# SPDX-License-Identifier: Apache-2.0
"""UB-Mesh's fabrics, generated and counted: nodes, links, distances, lanes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING

from papers.claims import Progress
from papers.claims.findings import Finding, FindingsCheck

if TYPE_CHECKING:
    from topologies import Fabric, NodeKind

__all__ = ["CHECKS"]

DERIVED = "derived here"


def _finding(claim: str, source: str, paper: object, ours: object, *, unsaid: str = "") -> Finding:
    """Exact figures, as text; `unsaid`: the paper gives none, and this is what it follows from."""
    shown = str(ours)
    holds = shown == str(paper)
    return Finding(
        claim, source, "-" if unsaid else str(paper), shown, "holds" if holds else "differs", unsaid
    )


def _kind(fabric: Fabric, kind: NodeKind) -> list[str]:
    return [node.name for node in fabric.nodes if node.kind is kind]


def _used(fabric: Fabric, kind: NodeKind) -> str:
    """Lanes on links of the nodes of a kind, and those they have."""
    from topologies.model.checks import lane_audit

    audit = lane_audit(fabric)
    result = sorted({(audit[name].used, audit[name].available) for name in _kind(fabric, kind)})
    return ", ".join(f"{used} of {available}" for used, available in result)


def _between_racks(fabric: Fabric) -> Counter[tuple[tuple[int, ...], tuple[int, ...]]]:
    """Lanes between each two racks that are linked."""
    result: Counter[tuple[tuple[int, ...], tuple[int, ...]]] = Counter()
    for link in fabric.links:
        ends = fabric.node(link.a.node), fabric.node(link.b.node)
        racks = sorted(node.coordinates[2:] for node in ends)
        if not any(node.kind == "hrs" for node in ends) and racks[0] != racks[1]:
            result[racks[0], racks[1]] += link.lanes
    return result


def _out_of_planes(fabric: Fabric) -> str:
    """Lanes that leave each plane for other racks and HRS, as 4 x 256: planes of a rack, lanes of one."""
    from topologies.model.places import planes, racks

    plane_of = {node.name: number for number, plane in enumerate(planes(fabric)) for node in plane}
    out: Counter[int] = Counter()
    for link in fabric.links:
        sides = {plane_of[end.node] for end in (link.a, link.b) if end.node in plane_of}
        if len(sides) == 2 or fabric.node(link.b.node).kind == "hrs":
            out.update(dict.fromkeys(sides, link.lanes))
    lanes = ", ".join(map(str, sorted(set(out.values()))))
    return f"{len(out) // len(racks(fabric))} x {lanes}"


def _rack(note: Progress) -> Sequence[Finding]:
    import networkx

    from topologies import NodeKind, ub_rack_lrs
    from topologies.model.checks import check

    note("a rack with its switches", 0.0)
    fabric = ub_rack_lrs()
    check(fabric)
    npus = _kind(fabric, NodeKind.NPU)
    mesh = fabric.graph().subgraph(npus)
    degrees = {degree for _, degree in mesh.degree}
    spare = _kind(fabric, NodeKind.SPARE)
    return (
        _finding("NPUs of a rack, and spare ones", "UB-Mesh, rack", "64 + 1", f"{len(npus)} + {len(spare)}"),
        _finding("links along X and Y", DERIVED, 448, mesh.number_of_edges(),
                 unsaid="8 x 28 on boards and 8 x 28 between them"),
        _finding("peers of an NPU", DERIVED, 14, ", ".join(map(str, sorted(degrees))),
                 unsaid="7 of its board, 7 of its slot"),
        _finding("longest way along X and Y, in links", DERIVED, 2, networkx.diameter(mesh),
                 unsaid="one of each"),
        _finding("LRS of a plane", "UB-Mesh, rack", 18, len(_kind(fabric, NodeKind.LRS)) // 4),
        _finding("lanes of an NPU on links", DERIVED, "72 of 72", _used(fabric, NodeKind.NPU),
                 unsaid="14 x 4 to peers, the paper's x16 to switches"),
        _lrs_of_a_rack(fabric),
    )  # fmt: skip


def _lrs_of_a_rack(fabric: Fabric) -> Finding:
    from topologies import NodeKind

    ours = len(_kind(fabric, NodeKind.LRS))
    return Finding(
        "LRS of a rack",
        "UB-Mesh, first version",
        "48",
        str(ours),
        "holds" if ours == 48 else "differs",
        "18 LRS of x72 make a plane that is full with x4 of each NPU; x16 take four planes",
        known=True,
    )


def _pod(note: Progress) -> Sequence[Finding]:
    from topologies import NodeKind, ub_pod
    from topologies.model.checks import check
    from topologies.model.distance import longest_way

    note("a Pod", 0.0)
    fabric = ub_pod()
    check(fabric)
    npus = _kind(fabric, NodeKind.NPU)
    joined = _between_racks(fabric)
    ends = Counter(rack for pair in joined for rack in pair)
    lanes = ", ".join(f"x{count}" for count in sorted(set(joined.values())))
    note("distances in a Pod", 0.5)
    return (
        _finding("NPUs of a Pod", "UB-Mesh, Pod", 1024, len(npus)),
        _finding("pairs of racks that are linked", DERIVED, 48, len(joined),
                 unsaid="6 in each of 4 rows and 4 columns"),
        _finding("lanes between two such racks", "UB-Mesh, Pod", "x128", lanes),
        _finding("racks that a rack is linked to", DERIVED, 6, ", ".join(map(str, set(ends.values()))),
                 unsaid="3 of its row, 3 of its column"),
        _finding("longest way between NPUs of a Pod, in links", DERIVED, 6, longest_way(fabric, npus),
                 unsaid="NPU, two LRS, those of two more racks, NPU"),
    )  # fmt: skip


def _superpod(note: Progress) -> Sequence[Finding]:
    from topologies import NodeKind, ub_superpod
    from topologies.model.checks import check

    note("a SuperPod", 0.0)
    fabric = ub_superpod()
    note("its lanes", 0.5)
    check(fabric)
    npus = _kind(fabric, NodeKind.NPU)
    racks = {fabric.node(name).coordinates[2:] for name in npus}
    closes = "the paper gives how many there are; every one is used"
    return (
        _finding("NPUs of a SuperPod", "UB-Mesh, SuperPod", 8192, len(npus)),
        _finding("racks of a SuperPod", "UB-Mesh, evaluation", 128, len(racks)),
        _finding("HRS of a SuperPod", DERIVED, 64, len(_kind(fabric, NodeKind.HRS)),
                 unsaid="128 racks of x256 towards HRS, x512 each"),
        _finding("lanes of an NPU", DERIVED, "72 of 72", _used(fabric, NodeKind.NPU), unsaid=closes),
        _finding("lanes of an LRS", DERIVED, "72 of 72", _used(fabric, NodeKind.LRS), unsaid=closes),
        _finding("lanes of an HRS", DERIVED, "512 of 512", _used(fabric, NodeKind.HRS), unsaid=closes),
        _finding("lanes of a CPU", DERIVED, "32 of 32", _used(fabric, NodeKind.CPU), unsaid=closes),
        _finding("what a rack puts out", "UB-Mesh, rack", "4 x 256", _out_of_planes(fabric)),
    )  # fmt: skip


def _alternatives(note: Progress) -> Sequence[Finding]:
    from topologies import NodeKind, ub_rack_1dfm_a, ub_rack_1dfm_b, ub_rack_clos
    from topologies.model.checks import check

    result: list[Finding] = []
    racks = (
        ("1D-FM-A", ub_rack_1dfm_a, "36 LRS, 4 HRS", "UB-Mesh, first version"),
        ("1D-FM-B", ub_rack_1dfm_b, "16 LRS, 8 HRS", "UB-Mesh, first version"),
        ("Clos", ub_rack_clos, "72 LRS, 0 HRS", "UB-Mesh, first version"),
    )
    for number, (name, make, paper, source) in enumerate(racks):
        note(f"a rack as {name}", number / len(racks))
        fabric = make()
        check(fabric)
        switches = f"{len(_kind(fabric, NodeKind.LRS))} LRS, {len(_kind(fabric, NodeKind.HRS))} HRS"
        result.append(_finding(f"switches of a rack as {name}", source, paper, switches))
        result.append(
            Finding(f"lanes of an NPU of {name}", DERIVED, "-", _used(fabric, NodeKind.NPU), "not judged")
        )
    return tuple(result)


def _dcn(note: Progress) -> Sequence[Finding]:
    from topologies.families.ub_mesh.dcn import dcn_clos

    note("SuperPods under a Clos", 0.0)
    dcn = dcn_clos(13)
    size = f"{dcn.npus} NPUs on {dcn.leaves} + {dcn.spines} HRS, {dcn.links} links"
    verdict = "holds" if dcn.npus >= 100_000 else "differs"
    reason = "two levels of HRS over 13 SuperPods that put out x8 a rack, which is a stand-in"
    return (Finding("NPUs under a DCN", "UB-Mesh, DCN", "at least 100,000", size, verdict, reason),)


CHECKS = (
    FindingsCheck("rack", "ub-mesh", "Nodes, links, degree, distance and lanes of a rack", _rack),
    FindingsCheck("pod", "ub-mesh", "Racks of a Pod and the links between them", _pod),
    FindingsCheck("superpod", "ub-mesh", "A SuperPod, all its lanes counted", _superpod),
    FindingsCheck("rack-alternatives", "ub-mesh", "The rack built in other ways (Fig. 16)", _alternatives),
    FindingsCheck("dcn", "ub-mesh", "The network above SuperPods, as numbers", _dcn),
)
