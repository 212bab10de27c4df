# SPDX-License-Identifier: Apache-2.0
"""UB-Mesh's collectives, measured: every one is run packet by packet on the embedded testbed.

The paper describes the mechanisms (§5.1) and gives no times; rings, bounds and times are derived here,
in D/B:
arrays over a link's rate.
"""

from __future__ import annotations

import tempfile
from functools import partial
from pathlib import Path

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
from harness.run.prepare import Prepared, prepare
from harness.run.runner import observe
from harness.scenario.loader import load
from papers.claims import Check, Measured, Progress, Values
from papers.claims.declare import between, changed, derived
from papers.claims.runs import right

__all__ = ["CHECKS"]

_derived = partial(derived, place="UB-Mesh §5.1, Fig. 13; figures derived here")

_K8 = """\
topology: {{name: full-mesh, dims: [{nodes}]}}
collective: {{elements: 1048576, payload_bytes: 4096}}
routing: {{strategy: shortest}}
variants:
  - {{name: 7-rings, collective: {{algorithm: rings}}}}
  - {{name: 6-rings, collective: {{algorithm: bidirectional-rings}}}}
  - {{name: direct, collective: {{algorithm: direct}}}}
"""

_RACK = """\
topology: {{name: ub-rack}}
collective: {{algorithm: {algorithm}, elements: 1048576, payload_bytes: 4096}}
routing: {{strategy: shortest}}
"""

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


def _runs(text: str, note: Progress) -> dict[str, tuple[Prepared, Observation]]:
    """Run the variants of a scenario's text, so that a value equals the result of a scenario file."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "scenario.yaml")
        path.write_text("name: claim\n" + text, encoding="utf-8")
        ready = prepare(*load(path))
    result = {}
    for place, item in enumerate(ready):
        note(f"running {item.sliced.schedule.name}", place / len(ready))
        result[item.variant.name] = item, right(item, observe(item, 1))
    return result


def _arrays(ready: Prepared, seen: Observation) -> float:
    """Completion in D/B, with the rate of the slowest link for B."""
    rate = min(link.rate_bps for link in ready.fabric.links)
    return seen.completion_ps / 10**12 * rate / (8 * ready.variant.collective.data_bytes)


_SEVEN = changed("a board of 7", nodes=7)

RINGS = (
    _derived("cycles", "links of a board of 8 in edge-disjoint rings, of 28", 24, "links", _SEVEN),
    _derived("left", "links of a board of 8 that these rings leave over", 4, "links", _SEVEN),
    _derived(
        "both", "channels of a board of 8 in 6 directed rings, each once, of 56", 48, "channels", _SEVEN
    ),
    _derived(
        "directed", "channels of a board of 8 in 7 directed rings, each once, of 56", 56, "channels", _SEVEN
    ),
    _derived(
        "sizes",
        "sizes of 3 to 16 NPUs with n - 1 directed rings, n - 2 on 4 and 6",
        14,
        "sizes",
        changed("n - 1 expected everywhere", fewer=()),
    ),
    _derived(
        "rack",
        "channels of a rack of 8 x 8 in rings of lines and rings of idle links, each once, of 896",
        896,
        "channels",
        changed("idle links not borrowed", borrowing=False),
    ),
    _derived(
        "rack-load",
        "busiest channel of an AllReduce by these rings; bound of the ports 0.140625 D",
        between(0.140625, 0.1407),
        "D",
        changed("idle links not borrowed", borrowing=False),
    ),
)


def _rings(
    note: Progress, nodes: int = 8, fewer: tuple[int, ...] = (4, 6), *, borrowing: bool = True
) -> Values:
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


BOARD = tuple(
    _derived(
        name,
        f"AllReduce on 8 NPUs, {name.replace('-', ' ')}; ideal {ideal:.4f} D/B",
        between(ideal, 1.05 * ideal),
        "D/B",
        changed("a board of 4", nodes=4),
    )
    for name, ideal in (("7-rings", 1 / 4), ("6-rings", 7 / 24), ("direct", 1 / 4))
)


def _board(note: Progress, nodes: int = 8) -> Values:
    return {name: _arrays(*run) for name, run in _runs(_K8.format(nodes=nodes), note).items()}


BORROWED = (
    *(
        _derived(
            f"rings-{count}",
            f"AllReduce on 8 NPUs by {count} of 7 rings with idle links borrowed, time over the solved split",
            between(1, 1.1),
            "x",
            changed("idle links not borrowed", strategy="shortest"),
        )
        for count in range(1, 6)
    ),
    _derived(
        "sooner",
        "the same with and without idle links, longest of 1 to 5 rings",
        between(0.2, 0.9),
        "x",
        changed("idle links not borrowed", strategy="shortest"),
    ),
)


def _borrowed(note: Progress, strategy: str = "all-path") -> Values:
    """Each number of rings on its own links alone, and with the idle ones; six rings leave next to none."""
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


RACK = (
    _derived(
        "halves",
        "AllReduce on the rack of 8 x 8 in two halves; ideal 0.1406 D/B",
        between(0.140625, 1.1 * 0.140625),
        "D/B",
        changed("one half", algorithm="dimension-order"),
    ),
)


def _rack(note: Progress, algorithm: str = "bidirectional-dimension-order") -> Values:
    ((ready, seen),) = _runs(_RACK.format(algorithm=algorithm), note).values()
    return {"halves": _arrays(ready, seen)}


BALANCE = tuple(
    _derived(
        name,
        f"busiest link of a dimension-wise AllReduce on {words}, over the least possible",
        between(1, 1.0001),
        "x",
        changed("one order of dimensions", single=True),
    )
    for name, words in (("rack", "8 x 8"), ("pod", "8 x 8 x 4 x 4"))
)


def _balance(note: Progress, *, single: bool = False) -> Values:
    from math import prod

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


EXCHANGE = tuple(
    derived(
        f"{name}-{size}",
        f"all-to-all on {size} x {size}: bytes on a channel, {name}",
        between(0.99 * size, 1.01 * size),
        "m",
        changed("frames of 256 bytes", payload=256),
        place="UB-Mesh §5.1, Fig. 14; the load is derived here",
        reason="m: bytes of a pair; headers and acknowledgements are included",
    )
    for size in (8, 4)
    for name in ("least", "most")
)


def _exchange(note: Progress, payload: int = 8192) -> Values:
    result: dict[str, Measured | float] = {}
    for size, block in ((8, 16384), (4, 32768)):
        text = _EXCHANGE.format(size=size, elements=size * size * block // 4, payload=payload)
        ((_, seen),) = _runs(text, note).values()
        each = [way / block for pair in seen.link_bytes.values() for way in pair]
        result |= {f"least-{size}": min(each), f"most-{size}": max(each)}
    return result


DISPATCH = (
    _derived(
        "ratio",
        "tokens to 16 of 64 NPUs by levels: bytes between boards over those one by one",
        between(0.4, 0.5),
        "x",
        changed("one by one", algorithm="direct"),
    ),
)


def _dispatch(note: Progress, algorithm: str = "hierarchical") -> Values:
    runs = _runs(_DISPATCH.format(algorithm=algorithm), note)
    crossed = {
        name: sum(sum(seen.link_bytes[link.name]) for link in ready.fabric.links if link.dimension == 1)
        for name, (ready, seen) in runs.items()
    }
    return {"ratio": crossed["by-levels"] / crossed["one-by-one"]}


CHECKS = (
    Check("rings", "ub-mesh", "rings that share no link", RINGS, _rings),
    Check("allreduce-board", "ub-mesh", "AllReduce on a board by rings and direct", BOARD, _board),
    Check("rings-borrow", "ub-mesh", "idle links borrowed by rings", BORROWED, _borrowed),
    Check("allreduce-rack", "ub-mesh", "AllReduce on the rack", RACK, _rack),
    Check("allreduce-balance", "ub-mesh", "AllReduce by dimensions, links balanced", BALANCE, _balance),
    Check("all-to-all", "ub-mesh", "all-to-all in two partitions", EXCHANGE, _exchange),
    Check("moe-dispatch", "ub-mesh", "tokens to experts by levels", DISPATCH, _dispatch),
)
