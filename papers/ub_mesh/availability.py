# SPDX-License-Identifier: Apache-2.0
"""Failures a year and availability of the network of 8,192 NPUs (UB-Mesh, §6.6, equation 3).

MTBF = 365 x 24 / AFR, availability = MTBF / (MTBF + MTTR); AFR is the failures a year of all parts together.
The paper's table of failure rates of parts was not available, so there are two sets of rates:

    fitted     a rate of switches and a rate of optical lanes, solved from the paper's two MTBFs
    predicted  rates that HPN's operator measured (SIGCOMM 2024, doi 10.1145/3651890.3672265): 0.057 % of
               optical links and 0.051 % of switches fail in a month

In both, copper never fails.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import final

import numpy as np

from papers.claims import Values
from papers.ub_mesh.networks import CLOS_LANES, Parts, clos, ub_mesh
from papers.ub_mesh.structure import SuperPod
from topologies.errors import RailyardError

__all__ = ["Rates", "availability", "failures_a_year", "figures", "fit_rates", "mtbf_hours"]

HOURS_A_YEAR = 365 * 24
LANES_PER_LINK = 4

# UB-Mesh, §6.6.
CLOS_MTBF, UB_MESH_MTBF = 13.8, 98.5
MTTR_HOURS, MONITORED_MTTR_HOURS = 75 / 60, 13 / 60


@final
@dataclass(frozen=True, slots=True)
class Rates:
    """Failures a year: of a switch (LRS or HRS), and of a lane of optical cable with its modules."""

    switch: float
    optical_lane: float


HPN_RATES = Rates(switch=12 * 0.051e-2, optical_lane=12 * 0.057e-2 / LANES_PER_LINK)


def mtbf_hours(failures: float) -> float:
    """Return the hours between failures, from the failures a year; RailyardError if these are not above 0."""
    if failures <= 0:
        raise RailyardError(
            f"{failures:g} failures a year were given; expected a rate above 0", remedy="give a rate above 0"
        )
    return HOURS_A_YEAR / failures


def availability(mtbf: float, mttr: float) -> float:
    """Return the availability, 0 to 1, from the hours between failures and the hours of a repair."""
    return mtbf / (mtbf + mttr)


def failures_a_year(parts: Parts, rates: Rates) -> float:
    """Return the expected failures a year of all switches and optical lanes."""
    return (parts.lrs + parts.hrs) * rates.switch + parts.optical_lanes * rates.optical_lane


def fit_rates() -> Rates:
    """Fit the failure rates to the paper's MTBFs of x64T Clos and UB-Mesh."""
    counts = np.array([[parts.lrs + parts.hrs, parts.optical_lanes] for parts in (clos(), ub_mesh())], float)
    switch, lane = np.linalg.solve(counts, [HOURS_A_YEAR / CLOS_MTBF, HOURS_A_YEAR / UB_MESH_MTBF])
    return Rates(float(switch), float(lane))


def figures(lanes: int = CLOS_LANES, uplink_lanes: int = 16, repairs: float = 1) -> Values:
    """Return availability in percent, failures a year and hours between failures of x64T Clos and UB-Mesh.

    Args:
        lanes: lanes of an NPU on the Clos.
        uplink_lanes: lanes of an NPU out of its rack on UB-Mesh.
        repairs: factor of the time of repairs.
    """
    fit = fit_rates()
    result = {
        "clos": 100 * availability(CLOS_MTBF, repairs * MTTR_HOURS),
        "ub-mesh": 100 * availability(UB_MESH_MTBF, repairs * MTTR_HOURS),
        "monitored": 100 * availability(UB_MESH_MTBF, repairs * MONITORED_MTTR_HOURS),
    }
    for name, parts in (("clos", clos(lanes)), ("ub-mesh", ub_mesh(SuperPod(uplink_lanes=uplink_lanes)))):
        result[f"failures-{name}"] = failures_a_year(parts, fit)
        result[f"mtbf-{name}"] = mtbf_hours(failures_a_year(parts, HPN_RATES))
    return result
