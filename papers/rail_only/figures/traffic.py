# SPDX-License-Identifier: Apache-2.0
"""Traffic of Rail-only: PXN across rails, and training traffic along rails."""

from __future__ import annotations

from itertools import permutations
from typing import Literal

import numpy as np

from controller import make_plan
from controller.forwarding.next_hop import table_path
from controller.schemes.registry import scheme_for
from controller.tables.segments.rails import rail_of
from emulation.traffic.frames.values import mac
from harness.run.observation.traffic_matrix import traffic_matrix
from papers.claims import Measured, Progress, Values
from papers.claims.runs import observed, right
from topologies import HOST_PORT, End, Fabric, NodeKind, rail_only, rail_optimised

# Megatron-LM's 1T: TP 8, DP 6 and PP 64 on 3,072 GPUs, the paper's number of GPUs (section III-A).
_LARGE = (8, 6, 64)


def pxn(note: Progress, spines: bool = False) -> Values:
    """Measure the use of PXN between rails: percentage of GPU pairs, and frames that switches pass on.

    With `spines`, the fabrics are rail-optimised instead of rail-only.
    """
    create = rail_optimised if spines else rail_only
    fabrics = {"mesh": create(4, 8), "tiers": create(16, 4, radix=8), "switch": create(8, 4, inside="switch")}
    result: dict[str, Measured | float] = {}
    for number, (name, fabric) in enumerate(fabrics.items()):
        note(f"pairs, {name}", number / 4)
        result[name] = _by_pxn_share(fabric)
    result["frame"] = _traced(fabrics["mesh"])
    note("a direct All-to-All", 3 / 4)
    file, variant = ("rail-optimised", "spines") if spines else ("rail-only", "pxn")
    _, seen = observed(f"11_rails/{file}.yaml", note, {variant}, collective={"elements": 524288})[variant]
    result["direct"] = Measured(float(seen.cross_rail_frames or 0), detail=f"of {seen.traffic.sent:,} sent")
    result["right"] = float(seen.correct_nodes)
    return result


def _by_pxn_share(fabric: Fabric) -> Measured:
    """Return the percentage of GPU pairs whose table path and source routes all use PXN.

    Only pairs on different rails and in different domains count.
    """
    gpus = [node for node in fabric.nodes if node.kind is NodeKind.GPU]
    pairs = [
        (source.name, target.name)
        for source, target in permutations(gpus, 2)
        if all(a != b for a, b in zip(source.coordinates, target.coordinates, strict=True))
    ]
    routes = make_plan(fabric, strategy="shortest").routes
    scheme = scheme_for(fabric)
    good = sum(
        all(_by_pxn(fabric, path) for path in (table_path(scheme, *pair), *routes[pair])) for pair in pairs
    )
    return Measured(
        100 * good / len(pairs), detail=f"{good:,} of {len(pairs):,}, by tables and source routes"
    )


def _by_pxn(fabric: Fabric, path: tuple[str, ...]) -> bool:
    """Return whether the only relay is the GPU of the source's domain on the destination's rail."""
    nodes = [fabric.node(name) for name in path]
    relays = [index for index, node in enumerate(nodes[1:-1], 1) if node.kind is NodeKind.GPU]
    rank = nodes[-1].coordinates[0]
    if len(relays) != 1 or nodes[relays[0]].coordinates != (rank, nodes[0].coordinates[1]):
        return False
    inside, over = path[1 : relays[0]], path[relays[0] + 1 : -1]
    rails = [rail_of(fabric, name) for name in over]
    stays = len(inside) <= 1 and not any(rail_of(fabric, name) for name in inside)
    return stays and bool(rails) and all(rail is not None and rail.value == rank for rail in rails)


def _traced(fabric: Fabric) -> Measured:
    """Send a frame from rank 0 to rank 3 of another domain; count the hops on the expected path."""
    # These modules need Scapy, which is slow to import.
    from emulation.traffic.frames.layers import LPH, NTH, Ether
    from harness.frames.walk import walk

    source, target = "gpu0", "gpu19"
    scna, dcna = fabric.node(source).address, fabric.node(target).address
    frame = Ether(dst=mac(dcna), src=mac(scna)) / LPH() / NTH(scna=scna, dcna=dcna)
    journey = walk(make_plan(fabric, strategy="shortest"), bytes(frame), End(source, HOST_PORT))
    visited = [hop.node for hop in journey.hops]
    wanted = [source, "gpu3", "rail3", target]
    same = sum(a == b for a, b in zip(visited, wanted, strict=False))
    good = journey.arrived and len(visited) == len(wanted)
    return Measured(float(same if good else 0), detail=" - ".join(visited))


_LAYOUTS = ("tp8-pp2-dp4", "tp8-pp4-dp2")


def placements(
    note: Progress,
    experts: bool = False,
    algorithm: Literal["ring", "direct"] = "ring",
    grid: tuple[int, int, int] = _LARGE,
    direct: tuple[int, int, int] = _LARGE,
) -> Values:
    """Count frames across rails in training jobs, and the percentage of GPU pairs without or with TP traffic.

    Args:
        experts: run an All-to-All among all GPUs instead of the jobs.
        algorithm: collectives of TP and DP, for the percentages on 3,072 GPUs.
        grid: sizes of TP, DP and PP, for the percentages with `algorithm`.
        direct: sizes of TP, DP and PP, for the percentage with direct collectives.
    """
    runs = observed("12_placements/scenario.yaml", note, ("experts",) if experts else _LAYOUTS)
    result: dict[str, Measured | float] = {}
    for name in _LAYOUTS:
        ready, seen = runs["experts" if experts else name]
        words = str(traffic_matrix([ready.sliced.schedule], ready.fabric, ready.members))
        crossed = right(ready, seen).cross_rail_frames or 0
        result[name] = Measured(crossed, detail=f"of {seen.traffic.sent:,} sent; {words}")
    note("a placement on 3,072 GPUs", 0.9)
    silent, tensor = _shares(grid, algorithm)
    return {**result, "silent": silent, "tensor": tensor, "tensor-direct": _shares(direct, "direct")[1]}


def _shares(grid: tuple[int, int, int], algorithm: Literal["ring", "direct"]) -> tuple[float, float]:
    """Return the shares of ordered pairs of GPUs without traffic, and with TP traffic, in percent.

    TP and DP send to the next GPU of a ring, or directly to all GPUs of their group; PP sends to the next
    stage and to the stage before it.
    """
    tensor, data, pipeline = grid
    rank = np.arange(tensor * data * pipeline).reshape(pipeline, data, tensor)
    pairs = np.zeros((rank.size, rank.size), bool)  # by source and target
    inside = pairs.copy()
    for axis, size, sends in ((2, tensor, inside), (1, data, pairs)):
        for step in range(1, size if algorithm == "direct" else min(size, 2)):
            sends[rank, np.roll(rank, -step, axis)] = True
    pairs[rank[:-1], rank[1:]] = pairs[rank[1:], rank[:-1]] = True
    every = rank.size * (rank.size - 1)
    return 100 * (1 - float((pairs | inside).sum()) / every), 100 * float(inside.sum()) / every
