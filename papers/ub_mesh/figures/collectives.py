# SPDX-License-Identifier: Apache-2.0
"""UB-Mesh's collectives, measured packet by packet on the embedded testbed.

The paper describes the mechanisms (§5.1) but gives no times. Rings, bounds and times are derived here. The
unit of time is D/B, the size of the array divided by the rate of a link.
"""

from __future__ import annotations

from math import prod

from emulation.traffic.collectives import (
    arcs_of,
    balanced,
    balanced_rings,
    borrowing_rings,
    check_rings,
    load_of,
    mesh_multi_ring,
    mesh_rings,
    rings,
    walecki,
)
from emulation.traffic.schedule.schedule import demand
from harness.run.observation.values import Observation
from harness.run.prepare import Prepared
from papers.claims import Measured, Progress, Values
from papers.claims.runs import Runs, ran, right

_EXCHANGE = """\
topology: {{name: full-mesh, dims: [{size}, {size}]}}
collective: {{kind: all-to-all, elements: {elements}, payload_bytes: {payload}}}
routing: {{strategy: shortest}}
"""

_BORROW = """\
topology: {name: full-mesh, dims: [8]}
collective: {algorithm: rings, elements: 524288, payload_bytes: 4096}
variants:
"""

_DISPATCH = """\
topology: {{name: ub-rack}}
collective: {{kind: dispatch, elements: 131072, experts: 16}}
routing: {{strategy: shortest}}
variants:
  - {{name: by-levels, collective: {{algorithm: {algorithm}}}}}
  - {{name: one-by-one, collective: {{algorithm: direct}}}}
"""


def _runs(text: str, note: Progress) -> Runs:
    """Run the variants of a scenario in YAML text; RailyardError if the data of a variant is wrong."""
    return {name: (item, right(item, seen)) for name, (item, seen) in ran(text, note).items()}


def _arrays(ready: Prepared, seen: Observation) -> float:
    """Return the completion time in D/B: bytes of an array divided by the rate of the slowest link."""
    rate = min(link.rate_bps for link in ready.fabric.links)
    return seen.completion_ps / 10**12 * rate / (8 * ready.variant.collective.data_bytes)


def rings_figures(
    note: Progress, nodes: int = 8, fewer: tuple[int, ...] = (4, 6), *, borrowing: bool = True
) -> Values:
    """Count the links used by the rings of a full mesh, and by the rings of a rack with borrowed idle links.

    `nodes` is the size of the mesh; a mesh of a size in `fewer` has one directed ring less than other meshes.
    """
    note("making rings", 0.0)
    cycles, matching = walecki(nodes)
    undirected, directed = rings(nodes, "undirected"), rings(nodes)
    check_rings(undirected)
    check_rings(directed)
    sizes = 0
    for n in range(3, 17):
        result = rings(n)
        check_rings(result)
        sizes += len(result) == (n - 2 if n in fewer else n - 1)
    rack = borrowing_rings((8, 8)) if borrowing else mesh_rings((8, 8), "undirected")
    elements = 1 << 20
    loads = demand(mesh_multi_ring(rack, elements), [str(rank) for rank in range(64)], 1)
    return {
        "cycles": len({frozenset(arc) for cycle in cycles for arc in arcs_of(cycle)}),
        "left": len({frozenset(pair) for pair in matching}),
        "both": len({arc for ring in undirected for arc in arcs_of(ring)}),
        "directed": len({arc for ring in directed for arc in arcs_of(ring)}),
        "sizes": sizes,
        "rack": len(set(rack.arcs())),
        "rack-load": max(loads.values()) / elements,
    }


def rings_borrow(note: Progress, strategy: str = "all-path") -> Values:
    """Measure times of 1 to 5 rings that borrow idle links, relative to solved times and to no borrowing.

    Six rings leave few idle links.
    """
    variants = "".join(
        f"  - {{name: {name}-{count}, collective: {{rings: {count}}}, routing: {{strategy: {way}}}}}\n"
        for count in range(1, 6)
        for name, way in (("alone", "shortest"), ("together", strategy))
    )
    runs = _runs(_BORROW + variants, note)
    result: dict[str, Measured | float] = {}
    ratios = []
    for count in range(1, 6):
        alone, together = _arrays(*runs[f"alone-{count}"]), _arrays(*runs[f"together-{count}"])
        solved = balanced_rings(rings(8)[:count], detours=True).time
        ratios.append(together / alone)
        ready, seen = runs[f"together-{count}"]
        busiest = max(map(max, seen.link_bytes.values())) / ready.variant.collective.data_bytes
        words = f"{together:.4f} D/B, alone {alone:.4f}, solved {solved:.4f}; busiest channel {busiest:.3f} D"
        result[f"rings-{count}"] = Measured(together / solved, detail=words)
    return {**result, "sooner": max(ratios)}


def allreduce_balance(note: Progress, *, single: bool = False) -> Values:
    """Return the busiest link's load in an AllReduce by dimensions, divided by the least possible load.

    The array is shared among orders of dimensions; with `single`, the first order has the whole array.
    """
    result: dict[str, Measured] = {}
    for name, dims in (("rack", (8, 8)), ("pod", (8, 8, 4, 4))):
        note(f"solving for {dims}", 0.0)
        shares = balanced(dims)
        if single:
            shares = {next(iter(shares)): 1}
        total = sum(shares.values())
        busiest = max(
            sum(share * load_of(dims, order)[d] for order, share in shares.items()) / total
            for d in range(len(dims))
        )
        bound = 2 * (1 - 1 / prod(dims)) / sum(size - 1 for size in dims)
        result[name] = Measured(busiest / bound, detail=f"{busiest:.5f} D in {len(shares)} orders")
    return result


def all_to_all(note: Progress, payload: int = 8192) -> Values:
    """Measure the least and the largest load of a link direction in an All-to-All on two square meshes.

    The unit is the block that an NPU sends to each NPU; `payload` is the bytes of a frame's payload.
    """
    result: dict[str, Measured | float] = {}
    for size, block in ((8, 16384), (4, 32768)):
        text = _EXCHANGE.format(size=size, elements=size * size * block // 4, payload=payload)
        ((_, seen),) = _runs(text, note).values()
        each = [way / block for pair in seen.link_bytes.values() for way in pair]
        result |= {f"least-{size}": min(each), f"most-{size}": max(each)}
    return result


def moe_dispatch(note: Progress, algorithm: str = "hierarchical") -> Values:
    """Return the bytes between boards in a dispatch by `algorithm`, divided by those in a direct dispatch."""
    runs = _runs(_DISPATCH.format(algorithm=algorithm), note)
    crossed = {
        name: sum(sum(seen.link_bytes[link.name]) for link in ready.fabric.links if link.dimension == 1)
        for name, (ready, seen) in runs.items()
    }
    return {"ratio": crossed["by-levels"] / crossed["one-by-one"]}
