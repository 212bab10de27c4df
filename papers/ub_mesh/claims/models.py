# SPDX-License-Identifier: Apache-2.0
"""UB-Mesh's figures that a closed formula gives: counts, cables, cost, availability, linearity."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from papers.claims import Progress
from papers.claims.figures import computing, finding
from papers.claims.findings import Finding, FindingsCheck

if TYPE_CHECKING:
    from papers.claims.model_figure import Figure

__all__ = ["CHECKS"]


def _counts() -> Sequence[Figure]:
    from papers.ub_mesh.networks import saved_figures
    from papers.ub_mesh.structure import count_figures

    return (*count_figures(), *saved_figures())


def _run_cables(note: Progress) -> Sequence[Finding]:
    """Table 2 by the formula, and the formula held against the fabric that the generator makes."""
    from papers.ub_mesh.structure import SUPERPOD, cable_figures, fabric_cable_lanes
    from topologies.families.ub_mesh.fabrics import ub_superpod

    note("generating the SuperPod", 0.0)
    created = fabric_cable_lanes(ub_superpod())
    same = all(lanes == SUPERPOD.cable_lanes[kind] for kind, lanes in created.items())
    counted = ", ".join(f"{lanes:,} ({kind})" for kind, lanes in created.items())
    held = Finding(
        "lanes of cable of the generated SuperPod",
        "derived here",
        "-",
        f"{counted}: {'as' if same else 'not as'} the formula has it",
        "holds" if same else "differs",
        "" if same else f"the formula has {dict(SUPERPOD.cable_lanes)}",
    )
    return (*(finding(figure) for figure in cable_figures()), held)


def _cost() -> Sequence[Figure]:
    from papers.ub_mesh.cost import capex_figures, efficiency_figures, opex_figures

    return (*capex_figures(), *opex_figures(), *efficiency_figures())


def _cost_picture() -> str:
    from papers.claims.picture import ratios_svg

    return ratios_svg(_cost())


def _availability() -> Sequence[Figure]:
    from papers.ub_mesh.availability import availability_figures, mtbf_figures

    return (*availability_figures(), *mtbf_figures())


def _linearity() -> Sequence[Figure]:
    from papers.ub_mesh.linearity import linearity_figures

    return linearity_figures()


CHECKS = (
    FindingsCheck("parts", "ub-mesh", "NPUs, lanes and switches; HRS and optics saved", computing(_counts)),
    FindingsCheck("cables", "ub-mesh", "the mix of cables of Table 2", _run_cables),
    FindingsCheck(
        "cost",
        "ub-mesh",
        "CapEx, OpEx and cost-efficiency of Fig. 21",
        computing(_cost),
        picture=_cost_picture,
    ),
    FindingsCheck("availability", "ub-mesh", "MTBF and availability of 8,192 NPUs", computing(_availability)),
    FindingsCheck("linearity", "ub-mesh", "performance of an NPU at scale, Fig. 22", computing(_linearity)),
)
