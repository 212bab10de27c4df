# SPDX-License-Identifier: Apache-2.0
"""UB-Mesh's collectives, measured: every one is run packet by packet on the embedded testbed."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from papers.claims import Progress
from papers.claims.findings import Finding, FindingsCheck, FindingVerdict

if TYPE_CHECKING:
    from lab.run.observation import Observation
    from lab.run.prepare import Prepared

__all__ = ["CHECKS"]

_DERIVED = "derived here"
_RINGS = "UB-Mesh §5.1 has multi-ring AllReduce; its rings and times are derived here"

_K8 = """\
topology: {name: full-mesh, dims: [8]}
collective: {elements: 1048576, payload_bytes: 4096}
routing: {strategy: shortest}
variants:
  - {name: 7-rings, collective: {algorithm: rings}}
  - {name: 6-rings, collective: {algorithm: bidirectional-rings}}
  - {name: direct, collective: {algorithm: direct}}
"""
# What the algorithm takes of an ideal link, in arrays a link's rate (D/B).
_K8_IDEAL = {"7 rings": 1 / 4, "6 rings": 7 / 24, "direct": 1 / 4}

_RACK = """\
topology: {name: ub-rack}
collective: {algorithm: bidirectional-dimension-order, elements: 1048576, payload_bytes: 4096}
routing: {strategy: shortest}
"""

_EXCHANGE = """\
topology: {name: full-mesh, dims: [%d, %d]}
collective: {kind: all-to-all, elements: %d, payload_bytes: 8192}
routing: {strategy: shortest}
"""

_BORROW = """\
topology: {name: full-mesh, dims: [8]}
collective: {algorithm: rings, elements: 524288, payload_bytes: 4096}
variants:
"""

_DISPATCH = """\
topology: {name: ub-rack}
collective: {kind: dispatch, elements: 131072, experts: 16}
routing: {strategy: shortest}
variants:
  - {name: by-levels}
  - {name: one-by-one, collective: {algorithm: direct}}
"""

_MIX = """\
topology: {name: ub-rack}
collective:
  kind: mixture
  elements: 131072
  parts:
    - {kind: allreduce, over: [0], share: 52.9}
    - {kind: all-gather, over: [1], share: 44.08}
    - {kind: all-to-all, share: 1.54}
    - {kind: p2p, over: [1], share: 0.14}
    - {kind: allreduce, share: 1.34}
"""


def _runs(text: str, note: Progress) -> dict[str, tuple[Prepared, Observation]]:
    """Run the variants of a scenario's text, so that a claim equals the result of a scenario file."""
    from lab.run.prepare import prepare
    from lab.run.runner import observe
    from lab.scenario.loader import load

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "scenario.yaml")
        path.write_text("name: claim\n" + text, encoding="utf-8")
        ready = prepare(*load(path))
    seen = {}
    for place, item in enumerate(ready):
        note(f"running {item.sliced.schedule.name}", place / len(ready))
        seen[item.variant.name.replace("-", " ")] = item, observe(item, 1)
    return seen


def _verdict(holds: bool, seen: Observation) -> FindingVerdict:
    return "holds" if holds and seen.correct_nodes == seen.nodes else "differs"


def _arrays(ready: Prepared, seen: Observation) -> float:
    """Completion in D/B, with the rate of the slowest link for B."""
    rate = min(link.rate_bps for link in ready.fabric.links)
    return seen.completion_ps / 10**12 * rate / (8 * ready.variant.collective.data_bytes)


def _data(seen: Observation) -> str:
    return "" if seen.correct_nodes == seen.nodes else f"; wrong data: {seen.first_wrong}"


def _rings(note: Progress) -> Sequence[Finding]:
    from emulation.traffic.collectives import arcs_of, check_rings, rings, walecki

    note("making rings", 0.0)
    cycles, matching = walecki(8)
    edges = {frozenset(arc) for cycle in cycles for arc in arcs_of(cycle)}
    left = {frozenset(pair) for pair in matching}
    both, directed = rings(8, "undirected"), rings(8)
    check_rings(both)
    check_rings(directed)
    used = (
        {arc for ring in both for arc in arcs_of(ring)},
        {arc for ring in directed for arc in arcs_of(ring)},
    )
    good = (len(cycles), len(edges), len(left), len(edges | left)) == (3, 24, 4, 28)
    counts = []
    for n in range(3, 17):
        result = rings(n)
        check_rings(result)
        counts.append(len(result) == (n - 2 if n in (4, 6) else n - 1))
    return (
        Finding(
            "edge-disjoint rings of a board of 8",
            _RINGS,
            "exclusive paths",
            f"{len(cycles)} cycles on {len(edges)} of 28 links, {len(left)} links left over",
            "holds" if good else "differs",
        ),
        Finding(
            "directed rings of a board of 8, channels used once",
            _RINGS,
            "exclusive paths",
            f"{len(both)} on {len(used[0])} of 56, or {len(directed)} on {len(used[1])}",
            "holds" if [len(item) for item in used] == [48, 56] else "differs",
        ),
        Finding(
            "directed rings on 3 to 16 NPUs",
            f"{_DERIVED}, after Walecki and Tillson",
            "-",
            f"n - 1, but n - 2 on 4 and 6: {sum(counts)} of {len(counts)} sizes",
            "holds" if all(counts) else "differs",
        ),
    )


def _k8(note: Progress) -> Sequence[Finding]:
    return [
        Finding(
            f"AllReduce on 8 NPUs, {name}: within 5 % of {_K8_IDEAL[name]:.4f} D/B",
            _RINGS,
            "-",
            f"{_arrays(ready, seen):.4f} D/B{_data(seen)}",
            _verdict(1 <= _arrays(ready, seen) / _K8_IDEAL[name] <= 1.05, seen),
        )
        for name, (ready, seen) in _runs(_K8, note).items()
    ]


def _borrowed(note: Progress) -> Sequence[Finding]:
    """Each number of rings on its own links alone, and with the idle ones."""
    from emulation.traffic.collectives import balanced_rings, rings

    variants = "".join(
        f"  - {{name: {way}-{count}, collective: {{rings: {count}}}, routing: {{strategy: {way}}}}}\n"
        for count in range(1, 7)
        for way in ("shortest", "all-path")
    )
    runs = _runs(_BORROW + variants, note)
    findings = []
    for count in range(1, 7):
        alone, together = runs[f"shortest {count}"], runs[f"all path {count}"]
        solved = balanced_rings(rings(8)[:count], detours=True).time
        took = _arrays(*together)
        findings.append(
            Finding(
                f"AllReduce on 8 NPUs by {count} of 7 rings: sooner with idle links borrowed",
                "UB-Mesh §5.1 for the mechanism; times derived here",
                "-",
                f"{took:.4f} D/B, alone {_arrays(*alone):.4f}; solved for {solved:.4f}{_data(together[1])}",
                _verdict(took < _arrays(*alone), together[1]),
            )
        )
    return findings


def _rack(note: Progress) -> Sequence[Finding]:
    ((ready, seen),) = _runs(_RACK, note).values()
    took = _arrays(ready, seen)
    return (
        Finding(
            "AllReduce on the rack of 8 x 8 in two halves: within 10 % of 0.1406 D/B",
            _DERIVED,
            "-",
            f"{took:.4f} D/B{_data(seen)}",
            _verdict(1 <= took / 0.140625 <= 1.10, seen),
        ),
    )


def _pod(note: Progress) -> Sequence[Finding]:
    from math import prod

    from emulation.traffic.collectives import balanced, load_of

    findings = []
    for dims in ((8, 8), (8, 8, 4, 4)):
        note(f"solving for {dims}", 0.0)
        shares = balanced(dims)
        total = sum(shares.values())
        busiest = max(
            sum(share * load_of(dims, order)[d] for order, share in shares.items()) / total
            for d in range(len(dims))
        )
        bound = 2 * (1 - 1 / prod(dims)) / sum(size - 1 for size in dims)
        findings.append(
            Finding(
                f"busiest link of a dimension-wise AllReduce on {' x '.join(map(str, dims))}, equal links",
                _DERIVED,
                "-",
                f"{busiest:.5f} D in {len(shares)} orders of dimensions, the least possible is {bound:.5f} D",
                "holds" if busiest <= 1.0001 * bound else "differs",
            )
        )
    return findings


def _exchange(note: Progress) -> Sequence[Finding]:
    findings = []
    for size, block in ((8, 16384), (4, 32768)):
        elements = size * size * block // 4
        ((_, seen),) = _runs(_EXCHANGE % (size, size, elements), note).values()
        each = [way / block for pair in seen.link_bytes.values() for way in pair]
        findings.append(
            Finding(
                f"all-to-all on {size} x {size}: bytes on each of {len(each)} channels, m bytes a pair",
                "UB-Mesh §5.1 for the two partitions; the load is derived here",
                f"{size} m",
                f"{min(each):.3f} m to {max(each):.3f} m, headers and acknowledgements included{_data(seen)}",
                _verdict(0.99 * size <= min(each) <= max(each) <= 1.01 * size, seen),
            )
        )
    return findings


def _dispatch(note: Progress) -> Sequence[Finding]:
    runs = _runs(_DISPATCH, note)
    between = {
        name: sum(sum(seen.link_bytes[link.name]) for link in ready.fabric.links if link.dimension == 1)
        for name, (ready, seen) in runs.items()
    }
    ratio = between["by levels"] / between["one by one"]
    right = all(seen.correct_nodes == seen.nodes for _, seen in runs.values())
    return (
        Finding(
            "tokens to 16 of 64 NPUs by levels: fewer bytes between boards than one by one",
            "UB-Mesh §5.1 for the mechanism; the choice of who hands on is of this testbed",
            "-",
            f"{ratio:.2f} of them",
            "holds" if ratio < 1 and right else "differs",
        ),
    )


def _mix(note: Progress) -> Sequence[Finding]:
    ((ready, seen),) = _runs(_MIX, note).values()
    goals: dict[str, int] = {}
    for goal in ready.sliced.schedule.purpose:
        if goal.ranks[0] == 0:
            name = f"{goal.kind} of {len(goal.ranks)}"
            goals[name] = sum(length for piece in goal.pieces for _, length in piece)
    total = sum(goals.values())
    paper = dict(zip(goals, ("52.9 %", "44.08 %", "1.54 %", "0.14 %", "1.34 %"), strict=True))
    return [
        Finding(
            f"share of an MoE-2T iteration, scaled down: {name}",
            "recalled, UB-Mesh Table 1",
            paper[name],
            f"{100 * amount / total:.2f} %{_data(seen)}",
            _verdict(abs(100 * amount / total - float(paper[name][:-2])) < 0.1, seen),
        )
        for name, amount in goals.items()
    ]


CHECKS: tuple[FindingsCheck, ...] = (
    FindingsCheck("rings", "ub-mesh", "rings that share no link", _rings),
    FindingsCheck("allreduce-board", "ub-mesh", "AllReduce on a board by rings and direct", _k8),
    FindingsCheck("rings-borrow", "ub-mesh", "idle links borrowed by rings", _borrowed),
    FindingsCheck("allreduce-rack", "ub-mesh", "AllReduce on the rack", _rack),
    FindingsCheck("allreduce-balance", "ub-mesh", "AllReduce by dimensions, links balanced", _pod),
    FindingsCheck("all-to-all", "ub-mesh", "all-to-all in two partitions", _exchange),
    FindingsCheck("moe-dispatch", "ub-mesh", "tokens to experts by levels", _dispatch),
    FindingsCheck("moe-mix", "ub-mesh", "the traffic mix of an MoE-2T iteration", _mix),
)
