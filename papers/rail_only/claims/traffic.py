# SPDX-License-Identifier: Apache-2.0
"""Traffic of Rail-only: PXN across rails, and training traffic along rails."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import permutations
from typing import TYPE_CHECKING

from papers.claims import Progress
from papers.claims.findings import Finding, FindingsCheck
from papers.claims.runs import observed

if TYPE_CHECKING:
    from topologies import Fabric

__all__ = ["CHECKS"]

_ROUTING = "Rail-only, routing"
_TRAFFIC = "Rail-only, traffic of training"

# Megatron-LM's 1T, from memory of its publication: TP 8, DP 6 and PP 64 on 3,072 GPUs.
_LARGE = (8, 6, 64)


def _pxn(note: Progress) -> Sequence[Finding]:
    from topologies import rail_only

    fabrics = {
        "4 domains of 8": rail_only(4, 8),
        "16 domains of 4, rails of two tiers": rail_only(16, 4, radix=8),
        "8 domains of 4 with a switch inside": rail_only(8, 4, inside="switch"),
    }
    findings = []
    for place, (name, fabric) in enumerate(fabrics.items()):
        note(name, place / 4)
        findings.append(_ways(name, fabric))
    findings.append(_traced(fabrics["4 domains of 8"]))
    note("a direct All-to-All", 3 / 4)
    ((_, seen),) = observed("11_rails/rail-only.yaml", note, {"pxn"}).values()
    right = seen.correct_nodes == seen.nodes
    ours = f"{seen.cross_rail_frames}, with {seen.traffic.sent:,} data frames sent"
    findings.append(
        Finding(
            f"direct All-to-All of {seen.nodes} GPUs: frames that a rail switch saw for another rail",
            _ROUTING,
            "0",
            f"{ours}; {seen.correct_nodes} correct",
            "holds" if right and seen.cross_rail_frames == 0 else "differs",
        )
    )
    return findings


def _ways(name: str, fabric: Fabric) -> Finding:
    """Check the paths of all pairs on different rails and in different domains, by tables and by routes."""
    from controller import make_plan
    from controller.routing.paths import PathFinder
    from controller.tables.next_hop import table_path
    from topologies import NodeKind

    gpus = [node for node in fabric.nodes if node.kind is NodeKind.GPU]
    pairs = [
        (permutation.name, other.name)
        for permutation, other in permutations(gpus, 2)
        if all(a != b for a, b in zip(permutation.coordinates, other.coordinates, strict=True))
    ]
    routes = make_plan(fabric, strategy="shortest").routes
    finder = PathFinder(fabric)
    good = sum(
        all(_by_pxn(fabric, path) for path in (table_path(finder, *pair), *routes[pair])) for pair in pairs
    )
    return Finding(
        f"{name}, pairs across rails: one hop inside to the destination's rail, then only that rail",
        _ROUTING,
        f"{len(pairs):,} of {len(pairs):,}",
        f"{good:,} of {len(pairs):,}, by tables and by source routes",
        "holds" if good == len(pairs) else "differs",
    )


def _by_pxn(fabric: Fabric, path: tuple[str, ...]) -> bool:
    """Return whether exactly the source's neighbour on the destination's rail forwards."""
    from controller.tables.rails import rail_of
    from topologies import NodeKind

    nodes = [fabric.node(name) for name in path]
    relays = [place for place, node in enumerate(nodes[1:-1], 1) if node.kind is NodeKind.GPU]
    rank = nodes[-1].coordinates[0]
    if len(relays) != 1 or nodes[relays[0]].coordinates != (rank, nodes[0].coordinates[1]):
        return False
    inside, over = path[1 : relays[0]], path[relays[0] + 1 : -1]
    rails = [rail_of(fabric, name) for name in over]
    stays = len(inside) <= 1 and not any(rail_of(fabric, name) for name in inside)
    return stays and bool(rails) and all(rail is not None and rail.value == rank for rail in rails)


def _traced(fabric: Fabric) -> Finding:
    from controller import make_plan
    from emulation.traffic.frames.layers import LPH, NTH, Ether, mac
    from lab.frames.walk import walk
    from topologies import HOST_PORT, End

    source, neighbour = "gpu0", "gpu19"
    scna, dcna = fabric.node(source).address, fabric.node(neighbour).address
    frame = Ether(dst=mac(dcna), src=mac(scna)) / LPH() / NTH(scna=scna, dcna=dcna)
    journey = walk(make_plan(fabric, strategy="shortest"), bytes(frame), End(source, HOST_PORT))
    ours = " - ".join(hop.node for hop in journey.hops)
    expected = "gpu0 - gpu3 - rail3 - gpu19"
    return Finding(
        f"a frame from {source} to {neighbour} of rank 3, hop by hop on the testbed",
        _ROUTING,
        expected,
        ours,
        "holds" if journey.arrived and ours == expected else "differs",
    )


def _placements(note: Progress) -> Sequence[Finding]:
    from lab.report.figures.heat_map import traffic_matrix

    findings = []
    for name, (ready, seen) in observed("12_placements/scenario.yaml", note).items():
        control = name == "experts"
        crossed = seen.cross_rail_frames or 0
        right = seen.correct_nodes == seen.nodes
        findings.append(
            Finding(
                f"{ready.variant.label}: frames from rail to rail, as switches count them",
                "derived here, to show what the counters see" if control else _TRAFFIC,
                "some" if control else "0",
                f"{crossed:,}, with {seen.traffic.sent:,} data frames sent; {seen.correct_nodes} correct",
                "holds" if right and bool(crossed) == control else "differs",
                str(traffic_matrix([ready.sliced.schedule], ready.fabric, ready.members)),
            )
        )
    note("a placement on 3,072 GPUs", 0.9)
    return (*findings, *_shares())


def _shares() -> Sequence[Finding]:
    """Compute the share of pairs of a large job that exchange data, without a run."""
    from lab.run.collective import schedule_of
    from lab.scenario.schema import Collective, Part
    from topologies import NodeKind, rail_only

    tensor, data, pipeline = _LARGE
    fabric = rail_only(data * pipeline, tensor)
    members = [node.name for node in fabric.nodes if node.kind is NodeKind.GPU]
    parts = (
        Part(kind="allreduce", share=75, over=(0,)),
        Part(kind="p2p", share=2, over=(2,)),
        Part(kind="allreduce", share=23, over=(1,)),
    )
    job = Collective(kind="mixture", algorithm="sequential", grid=_LARGE, parts=parts)
    schedule = schedule_of(fabric, members, job)
    pairs = {(transfer.source, transfer.target) for transfer in schedule.transfers}
    every = len(members) * (len(members) - 1)
    inside = sum(pair // tensor == other // tensor for pair, other in pairs)
    where = f"{len(members):,} GPUs, TP {tensor}, DP {data}, PP {pipeline}"
    silent = 1 - len(pairs) / every
    return (
        Finding(
            f"pairs of GPUs that send nothing, {where}",
            _TRAFFIC,
            "more than 99 %",
            f"{100 * silent:.2f} %",
            "holds" if silent > 0.99 else "differs",
            "Megatron-LM's layout of 1T, from memory; the paper's own is not known here",
        ),
        Finding(
            f"pairs of GPUs that send for TP, {where}",
            _TRAFFIC,
            "less than 0.04 %",
            f"{100 * inside / every:.3f} %",
            "not judged",
            f"{tensor - 1} of a GPU's {len(members) - 1:,} peers: for the paper's share it takes more than "
            f"{(tensor - 1) / 0.0004:,.0f} GPUs",
        ),
    )


CHECKS = (
    FindingsCheck("pxn", "rail-only", "ways across rails", _pxn),
    FindingsCheck("placements", "rail-only", "what TP, PP and DP send along rails", _placements),
)
