# SPDX-License-Identifier: Apache-2.0
"""The run of a variant, with all values from which its metrics are computed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import final

from emulation.fidelity import Fidelity
from harness.run.observation.traffic_matrix import TrafficMatrix
from harness.run.observation.values import Observation

__all__ = ["Figure", "VariantRun", "busy_share", "us"]

Figure = int | float


@final
@dataclass(frozen=True, slots=True)
class VariantRun:
    """Outcome of the run of one variant: the observation, with bounds and traffic to compare it with.

    Attributes:
        observation: Observation of the run.
        bound_ps: Lower bound of the time until all jobs end.
        rates_bps: Rates of the links by name.
        fidelity: Judgement on the times of a run in real time; None in virtual time, which is exact.
        traffic: Traffic matrix of the jobs; None for a variant without jobs.
        horizon_ps: Time until which computation of accelerators is counted; 0 counts none.
        bounds: Lower bounds of each job's collective in ps, by job and a description of the bound.
    """

    observation: Observation
    bound_ps: int
    rates_bps: Mapping[str, int]
    fidelity: Fidelity | None = None
    traffic: TrafficMatrix | None = None
    horizon_ps: int = 0
    bounds: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    _busy: dict[str, tuple[float, float]] = field(default_factory=dict, init=False, repr=False, compare=False)

    @property
    def doubtful(self) -> bool:
        """True if the times may reflect the load of the machine instead of the emulated fabric."""
        return self.fidelity is not None and not self.fidelity.trustworthy


def busy_share(run: VariantRun) -> dict[str, tuple[float, float]]:
    """Return each link's sending time as a share of the run, for both directions of the link.

    The first value is from the first end to the second. The shares are cached, as a report uses them often.
    """
    if not run._busy:
        seconds, rates = run.observation.completion_ps / 10**12, run.rates_bps
        for link, (there, back) in run.observation.link_usage.items():
            whole = rates[link] * seconds
            run._busy[link] = 8 * there.bytes / whole, 8 * back.bytes / whole
    return run._busy


def us(ps: int) -> float:
    """Return a time in us, from ps."""
    return ps / 10**6
