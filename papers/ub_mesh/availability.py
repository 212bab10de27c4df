# SPDX-License-Identifier: Apache-2.0
"""Failures a year and availability of the network of 8,192 NPUs (UB-Mesh, §6.6, equation 3).

MTBF = 365 x 24 / AFR, availability = MTBF / (MTBF + MTTR); AFR is failures a year, of all parts together. The
paper's table of the parts' rates was not seen, so the parts are done twice. Fitted: one rate a switch and one
a lane of optical cable, solved from the paper's two MTBFs. Predicted: the rates another operator measured,
HPN (SIGCOMM 2024, doi 10.1145/3651890.3672265): 0.057 % of optical links and 0.051 % of switches fail in a
month. Copper counts as never failing in both.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import final

import numpy as np

from papers.claims.model_figure import Figure, Kind
from papers.ub_mesh.networks import CLOS_LANES, Parts, clos, ub_mesh
from papers.ub_mesh.structure import SUPERPOD, SuperPod
from topologies.errors import RailyardError

__all__ = [
    "Rates",
    "availability",
    "availability_figures",
    "failures_a_year",
    "fit_rates",
    "mtbf_figures",
    "mtbf_hours",
]

HOURS_A_YEAR = 365 * 24
LANES_PER_LINK = 4

# UB-Mesh, §6.6.
CLOS_MTBF, UB_MESH_MTBF = 13.8, 98.5
CLOS_AVAILABLE, UB_MESH_AVAILABLE, MONITORED_AVAILABLE = 91.6, 98.8, 99.78
MTTR_HOURS, MONITORED_MTTR_HOURS = 75 / 60, 13 / 60
MTBF_RATIO, AVAILABILITY_GAINED = 7.14, 7.2


@final
@dataclass(frozen=True, slots=True)
class Rates:
    """Failures a year of one switch, LRS or HRS, and of one lane of optical cable with its modules."""

    switch: float
    optical_lane: float


HPN_RATES = Rates(switch=12 * 0.051e-2, optical_lane=12 * 0.057e-2 / LANES_PER_LINK)


def mtbf_hours(failures: float) -> float:
    """Hours between failures, for so many a year; RailyardError unless there are some."""
    if failures <= 0:
        raise RailyardError(f"failures a year: {failures:g}", remedy="give a rate above 0")
    return HOURS_A_YEAR / failures


def availability(mtbf: float, mttr: float) -> float:
    """Share of the time, from hours between failures and hours to repair one."""
    return mtbf / (mtbf + mttr)


def failures_a_year(parts: Parts, rates: Rates) -> float:
    """Return the expected failures a year of all switches and optical lanes."""
    return (parts.lrs + parts.hrs) * rates.switch + parts.optical_lanes * rates.optical_lane


def fit_rates(pod: SuperPod = SUPERPOD) -> Rates:
    """Solve the two rates that give x64T Clos and UB-Mesh the MTBFs of the paper."""
    both = (clos(CLOS_LANES, pod), ub_mesh(pod))
    counts = np.array([[parts.lrs + parts.hrs, parts.optical_lanes] for parts in both], dtype=float)
    switch, lane = np.linalg.solve(counts, [HOURS_A_YEAR / CLOS_MTBF, HOURS_A_YEAR / UB_MESH_MTBF])
    return Rates(float(switch), float(lane))


def availability_figures() -> tuple[Figure, ...]:
    """Return the paper's availabilities, computed from its own MTBFs and times to repair."""

    def share(name: str, said: float, mtbf: float, mttr: float, reason: str) -> Figure:
        ours = 100 * availability(mtbf, mttr)
        return Figure(name, "UB-Mesh, §6.6", said, ours, "%", Kind.recomputed, 0.1, reason)

    return (
        share("availability, Clos", CLOS_AVAILABLE, CLOS_MTBF, MTTR_HOURS, "13.8 h, 75 min to repair"),
        share(
            "availability, UB-Mesh", UB_MESH_AVAILABLE, UB_MESH_MTBF, MTTR_HOURS, "98.5 h, 75 min to repair"
        ),
        share(
            "availability, UB-Mesh monitored",
            MONITORED_AVAILABLE,
            UB_MESH_MTBF,
            MONITORED_MTTR_HOURS,
            "98.5 h, 10 min to locate and 3 to migrate",
        ),
        Figure(
            "availability gained",
            "UB-Mesh, §6.6",
            AVAILABILITY_GAINED,
            100 * (availability(UB_MESH_MTBF, MTTR_HOURS) - availability(CLOS_MTBF, MTTR_HOURS)),
            "%",
            Kind.recomputed,
            0.2,
            "the paper takes the difference of its printed, rounded figures",
        ),
        Figure(
            "MTBF, UB-Mesh to Clos",
            "UB-Mesh, §6.6",
            MTBF_RATIO,
            UB_MESH_MTBF / CLOS_MTBF,
            "x",
            Kind.recomputed,
            0.01,
        ),
    )


def mtbf_figures(pod: SuperPod = SUPERPOD) -> tuple[Figure, ...]:
    """Failures and MTBF from the parts: with fitted rates, and with rates measured elsewhere."""
    base, ours = clos(CLOS_LANES, pod), ub_mesh(pod)
    fit = fit_rates(pod)
    solved = (
        f"solved for: {fit.switch:.4f} failures a year of a switch, {fit.optical_lane:.5f} of an optical "
        f"lane, {LANES_PER_LINK * fit.optical_lane:.4f} of an optical link of x{LANES_PER_LINK}"
    )
    elsewhere = (
        f"HPN's rates: {HPN_RATES.switch:.4f} a year of a switch, "
        f"{LANES_PER_LINK * HPN_RATES.optical_lane:.4f} of an optical link. Its links fail more often than "
        "those the paper's MTBFs imply; its switches as often"
    )

    def afr(name: str, parts: Parts, mtbf: float) -> Figure:
        source, said = "derived here from UB-Mesh, §6.6", HOURS_A_YEAR / mtbf
        ours = failures_a_year(parts, fit)
        return Figure(
            f"failures a year, {name}", source, said, ours, "", Kind.fitted, reason=solved, digits=1
        )

    def predicted(name: str, parts: Parts, said: float) -> Figure:
        name, mtbf = f"MTBF, {name}, rates of HPN", mtbf_hours(failures_a_year(parts, HPN_RATES))
        return Figure(
            name, "UB-Mesh, §6.6", said, mtbf, "h", Kind.predicted, 0.1, elsewhere, known=True, digits=1
        )

    few, many = (failures_a_year(parts, HPN_RATES) for parts in (ours, base))
    return (
        afr("Clos", base, CLOS_MTBF),
        afr("UB-Mesh", ours, UB_MESH_MTBF),
        predicted("Clos", base, CLOS_MTBF),
        predicted("UB-Mesh", ours, UB_MESH_MTBF),
        Figure(
            "MTBF, UB-Mesh to Clos, rates of HPN",
            "UB-Mesh, §6.6",
            MTBF_RATIO,
            many / few,
            "x",
            Kind.predicted,
            0.1,
            "of the two MTBFs above: nothing went into it but HPN's rates and the counts of parts. Links "
            "that fail more often weigh on the Clos, which has 16 times the fibre",
            known=True,
        ),
    )
