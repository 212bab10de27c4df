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

from papers.ub_mesh.networks import CLOS_LANES, Parts, clos, ub_mesh
from papers.ub_mesh.structure import SUPERPOD, SuperPod
from topologies.errors import RailyardError

__all__ = [
    "Rates",
    "availability",
    "failures_a_year",
    "fit_rates",
    "mtbf_hours",
]

HOURS_A_YEAR = 365 * 24
LANES_PER_LINK = 4

# UB-Mesh, §6.6.
CLOS_MTBF, UB_MESH_MTBF = 13.8, 98.5
MTTR_HOURS, MONITORED_MTTR_HOURS = 75 / 60, 13 / 60


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
        raise RailyardError(
            f"{failures:g} failures a year were given; expected a rate above 0", remedy="give a rate above 0"
        )
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
