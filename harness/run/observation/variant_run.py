# SPDX-License-Identifier: Apache-2.0
"""The run of a variant as its metrics see it."""

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
    """The run of one variant: its observation, the bound of its collective, and the rates of its links.

    `fidelity` is None in virtual time, which is exact; `traffic` is None where no report needs it. Work of
    accelerators is counted until `horizon_ps`, not at all when that is 0. `bounds` gives, by job, the
    bounds of its collective in ps, by what each is.
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
        """True if the times may be those of the machine that ran it."""
        return self.fidelity is not None and not self.fidelity.trustworthy


def busy_share(run: VariantRun) -> dict[str, tuple[float, float]]:
    """Return the share of the run during which each link was sending, from its first end and back.

    Computed once a run: a report shows it in several places.
    """
    if not run._busy:
        seconds, rates = run.observation.completion_ps / 10**12, run.rates_bps
        for link, (there, back) in run.observation.link_usage.items():
            whole = rates[link] * seconds
            run._busy[link] = 8 * there.bytes / whole, 8 * back.bytes / whole
    return run._busy


def us(ps: int) -> float:
    """Return a time in us."""
    return ps / 10**6
