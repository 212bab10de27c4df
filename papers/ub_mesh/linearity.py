# SPDX-License-Identifier: Apache-2.0
"""Share of its performance that an NPU keeps at scale (UB-Mesh, §6.5, Fig. 22, equation 2).

Linearity is an NPU's performance at scale over that at the base scale. The model holds every NPU's work and
parallelisation still and asks one thing: how much longer the traffic that is not hidden behind computing
takes once data parallelism spans more than a Pod, more than a SuperPod. It cannot exceed 100 %. The paper's
does, up to 32 times the base, since there a larger system is also searched for a better parallelisation.

Traffic by kind is Table 1's as recalled, not read. Lanes an NPU has at each level are those of
`structure.SuperPod`. How much of an iteration is unhidden traffic at the base the paper does not say: it is
the model's open parameter, and what the model gives is how large it may be.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import final

from papers.ub_mesh.structure import SUPERPOD, SuperPod
from topologies.errors import RailyardError

__all__ = ["TABLE_1", "Traffic", "largest_exposed", "linearity"]

# Percent of an iteration's traffic, MoE-2T (UB-Mesh, Table 1; recalled, but that tensor and sequence
# parallelism make 97 % of it, which the text says).
TABLE_1 = {"tensor": 52.9, "sequence": 44.08, "expert": 1.54, "pipeline": 0.14, "data": 1.34}

# The base of GPT4-2T and Dense-1T.
BASE_NPUS = 1024


@final
@dataclass(frozen=True, slots=True)
class Traffic:
    """Shares of an iteration's bytes by level: the rack, the Pod, and what data parallelism spans."""

    rack: float
    pod: float
    data: float

    @classmethod
    def of(cls, shares: Mapping[str, float]) -> Traffic:
        return cls(
            shares["tensor"] + shares["sequence"], shares["expert"] + shares["pipeline"], shares["data"]
        )


def linearity(
    npus: int,
    exposed: float,
    *,
    base: int = BASE_NPUS,
    traffic: Traffic | None = None,
    pod: SuperPod = SUPERPOD,
) -> float:
    """Share of its performance at `base` that an NPU keeps at `npus`.

    `exposed` is the share of the base iteration that is traffic not hidden behind computing. RailyardError
    when it is no share, or the scale is below the base.
    """
    if not 0 <= exposed <= 1:
        raise RailyardError(f"exposed: {exposed:g} is no share", remedy="give one from 0 to 1")
    if npus < base:
        raise RailyardError(f"npus: {npus} is below the base of {base}", remedy="give at least as many")
    return 1 / (1 + exposed * _longer(npus, base, traffic or Traffic.of(TABLE_1), pod))


def largest_exposed(
    npus: int,
    at_least: float,
    *,
    base: int = BASE_NPUS,
    traffic: Traffic | None = None,
    pod: SuperPod = SUPERPOD,
) -> float:
    """Return the largest `exposed`, at most 1, at which an NPU at `npus` keeps the share `at_least`."""
    longer = _longer(npus, base, traffic or Traffic.of(TABLE_1), pod)
    return min(1.0, (1 / at_least - 1) / longer) if longer else 1.0


def _longer(npus: int, base: int, traffic: Traffic, pod: SuperPod) -> float:
    """Return by what share the traffic of an iteration takes longer than at the base."""
    before = _time(base, traffic, pod)
    return _time(npus, traffic, pod) / before - 1


def _time(npus: int, traffic: Traffic, pod: SuperPod) -> float:
    """Bytes over lanes, level after level; scale changes the lanes of data parallelism, not its bytes."""
    rack = pod.npu_lanes - pod.uplink_lanes
    inter_rack = _pod_lanes(pod)
    return traffic.rack / rack + traffic.pod / inter_rack + traffic.data / _lanes(npus, pod)


def _lanes(npus: int, pod: SuperPod) -> float:
    """Lanes an NPU has at the level that so many NPUs span."""
    if npus <= pod.npus_per_rack * pod.racks_per_pod:
        return _pod_lanes(pod)
    to_hrs = pod.hrs_lanes_per_rack / pod.npus_per_rack
    return to_hrs if npus <= pod.npus else to_hrs * pod.far_lanes_per_hrs_lane


def _pod_lanes(pod: SuperPod) -> float:
    return (pod.rack_output_lanes - pod.hrs_lanes_per_rack) / pod.npus_per_rack
