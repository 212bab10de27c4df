# SPDX-License-Identifier: Apache-2.0
"""Rail-only's figures that a closed formula gives: switches, cost, power, collectives, iteration time."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from papers.claims import Progress
from papers.claims.figures import computing, finding
from papers.claims.findings import Finding, FindingsCheck

if TYPE_CHECKING:
    from papers.claims.model_figure import Figure
    from papers.rail_only.parts import Parts
    from topologies import Fabric

__all__ = ["CHECKS"]


def _counts() -> Sequence[Figure]:
    from papers.rail_only.parts import count_figures

    return count_figures()


def _savings() -> Sequence[Figure]:
    from papers.rail_only.parts import said_figures, saving_figures

    return (*saving_figures(), *said_figures())


def _collectives() -> Sequence[Figure]:
    from papers.rail_only.collectives import collective_figures

    return collective_figures()


def _run_iterations(note: Progress) -> Sequence[Finding]:
    """Compare the paper's percentages, and check their order with any of the batches."""
    from papers.rail_only.iteration import BATCHES, ORDERS, PAPER, Cluster, iteration_figures, percentages

    note("searching layouts", 0.0)
    result = [finding(figure) for figure in iteration_figures()]
    ours = {batch: percentages(Cluster(), batch) for batch in BATCHES}
    for claim, more, less in ORDERS:
        pairs = [(values[more], values[less]) for values in ours.values()]
        result.append(
            Finding(
                claim,
                "Rail-only, evaluation",
                f"{PAPER[more]} % and {PAPER[less]} %",
                "; ".join(f"{pair:.1f} and {other:.1f} %" for pair, other in pairs),
                "holds" if all(pair > other for pair, other in pairs) else "differs",
                f"with batches of {', '.join(f'{batch:,}' for batch in ours)}",
            )
        )
    return tuple(result)


def _run_fabrics(note: Progress) -> Sequence[Finding]:
    """Compare the counts with generated fabrics, which addresses limit to fewer than 8,192 GPUs."""
    from papers.rail_only.parts import any_to_any, rail_only
    from topologies import any_to_any as make_any_to_any
    from topologies import rail_only as make_rail_only

    result: list[Finding] = []
    sizes = ((256, 8, 64), (256, 8, 32), (64, 8, 64), (128, 8, 16))
    for done, (domains, size, radix) in enumerate(sizes):
        note(f"generating {domains} domains of {size}", done / len(sizes))
        where = f"{domains} domains of {size}, radix {radix}"
        for name, created, counted in (
            ("any-to-any", make_any_to_any(domains, size, radix=radix), any_to_any(domains * size, radix)),
            ("rail-only", make_rail_only(domains, size, radix=radix), rail_only(domains * size, radix, size)),
        ):
            result.append(_as_generated(f"{name} as generated, {where}", created, counted))
    return tuple(result)


def _as_generated(name: str, fabric: Fabric, counted: Parts) -> Finding:
    switches = sum(1 for node in fabric.nodes if node.tier)
    cables = sum(link.lanes for link in fabric.links if link.dimension is None)
    same = (switches, 2 * cables) == (counted.switches, counted.transceivers)
    return Finding(
        name,
        "derived here",
        f"{counted.switches:,} switches, {counted.transceivers:,} transceivers",
        f"{switches:,} switches, {2 * cables:,} transceivers",
        "holds" if same else "differs",
        "" if same else "the formula and the generator count differently",
    )


CHECKS = (
    FindingsCheck("counts", "rail-only", "switches and transceivers of Table II", computing(_counts)),
    FindingsCheck("fabrics", "rail-only", "the same counts in fabrics that are generated", _run_fabrics),
    FindingsCheck(
        "savings", "rail-only", "cost and power of Table II, and what the text says", computing(_savings)
    ),
    FindingsCheck(
        "collectives",
        "rail-only",
        "All-to-All and AllReduce by the paper's equations",
        computing(_collectives),
    ),
    FindingsCheck("iteration", "rail-only", "iteration time by domain, bandwidth and NIC", _run_iterations),
)
