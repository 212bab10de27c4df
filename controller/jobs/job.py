# SPDX-License-Identifier: Apache-2.0
"""A job as data, its traffic by link and its GPU intensity.

Published: W_j, M_{j,e}, B_e, t_j = max over e of M_{j,e} / B_e, I_j = W_j / t_j (Crux, definitions 1 and 2).
A job computes first, then sends without a break; sending may begin before the computation ends. This
simplification is the paper's as well (section 4.2).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import final

import numpy as np
from numpy.typing import NDArray

from controller.errors import PlanError

__all__ = [
    "Floats",
    "Ints",
    "Job",
    "Schedule",
    "bottleneck_seconds",
    "check_rates",
    "intensity",
    "iteration_seconds",
    "link_loads",
]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


@final
@dataclass(frozen=True, slots=True, eq=False)
class Job:
    """A job: the computation and the traffic of an iteration, and the candidate paths of its flows.

    `gpus` accelerators compute for `compute` seconds. The job may send during the last share `overlap`, 0 to
    1, of that time. `work` is the work of an iteration: FLOP or any unit that all jobs share; GPU-seconds if
    it is None.

    Flow f sends `amounts[f]`, bytes if rates are bytes a second, over one of `paths[f]`. `paths`, (flows,
    candidates, hops), has link numbers, and -1 behind the end of a path and for missing paths. `port` is the
    rate of each flow's own link to the network.
    """

    name: str
    gpus: int
    compute: float
    amounts: Floats
    paths: Ints
    overlap: float = 0.0
    work: float | None = None
    port: float = np.inf

    def __post_init__(self) -> None:
        if self.gpus < 1 or self.compute < 0 or not 0 <= self.overlap <= 1:
            raise PlanError(
                f"job {self.name} cannot have {self.gpus} GPUs and {self.compute:g} s of which "
                f"{self.overlap:g} overlap",
                remedy="give at least one GPU, no time below 0, an overlap of 0 to 1",
            )
        if self.paths.ndim != 3 or len(self.paths) != len(self.amounts):
            raise PlanError(
                f"job {self.name} has {len(self.amounts)} amounts, but paths of shape {self.paths.shape}",
                remedy="give an amount and a row of paths to each flow",
            )
        if (self.amounts < 0).any():
            flow = int(np.argmin(self.amounts))
            raise PlanError(
                f"job {self.name}: flow {flow} cannot carry {self.amounts[flow]:g} bytes",
                remedy="give an amount of 0 or more",
            )
        if len(self.paths) and not self.candidates.any(axis=1).all():
            flow = int(np.argmin(self.candidates.any(axis=1)))
            raise PlanError(
                f"job {self.name}: flow {flow} has no path", remedy="leave the flow out, or give it a path"
            )

    @property
    def candidates(self) -> NDArray[np.bool_]:
        """Mask of the candidates that are paths, (flows, candidates); the others have only -1."""
        return np.asarray((self.paths >= 0).any(axis=2))

    @property
    def port_seconds(self) -> float:
        """Seconds that the largest flow needs to pass its port."""
        return float(self.amounts.max(initial=0.0)) / self.port

    @property
    def iteration_work(self) -> float:
        """W_j, the work of an iteration."""
        return self.gpus * self.compute if self.work is None else self.work


@final
@dataclass(frozen=True, slots=True, eq=False)
class Schedule:
    """Choices for each job: the path of each flow, a priority level (0 is served first) and a start shift.

    Jobs of one `group` share a circle of time, which job j fills with `turns[j]` iterations, `shifts[j]`
    seconds late. A job of group -1 has no prescribed start.
    """

    choices: tuple[Ints, ...]
    levels: Ints
    groups: Ints
    turns: Ints
    shifts: Floats

    @classmethod
    def of(cls, choices: Sequence[Ints], levels: Ints | None = None) -> Schedule:
        """Return a schedule without shifts; all jobs have level 0 unless levels are given."""
        number = len(choices)
        level = np.zeros(number, np.int64) if levels is None else levels
        return cls(tuple(choices), level, np.full(number, -1), np.ones(number, np.int64), np.zeros(number))


def link_loads(job: Job, choice: Ints, links: int) -> Floats:
    """Return M_{j,e}, an iteration's traffic on each link, (links,); `choice` has a path for each flow."""
    taken = job.paths[np.arange(len(choice)), choice]
    used = taken >= 0
    amounts = np.broadcast_to(job.amounts[:, None], taken.shape)
    return np.bincount(taken[used], amounts[used], links).astype(float)


def bottleneck_seconds(job: Job, choice: Ints, rates: Floats) -> float:
    """Return t_j, the seconds of an iteration's traffic on its slowest link, alone; 0 without flows."""
    if not len(choice):
        return 0.0
    return max(float((link_loads(job, choice, len(rates)) / rates).max()), job.port_seconds)


def intensity(job: Job, choice: Ints, rates: Floats) -> float:
    """Return the intensity I_j = W_j / t_j; infinite for a job that sends nothing."""
    seconds = bottleneck_seconds(job, choice, rates)
    return job.iteration_work / seconds if seconds else np.inf


def iteration_seconds(compute: float, sending: float, overlap: float) -> float:
    """Return the seconds of an iteration alone; sending overlaps the last share `overlap` of `compute`."""
    return max(compute, (1 - overlap) * compute + sending)


def check_rates(rates: Floats) -> None:
    """Raise PlanError unless all links have a rate above 0."""
    if len(rates) and not (rates > 0).all():
        link = int(np.argmin(rates))
        raise PlanError(
            f"link {link} has rate {rates[link]:g}, but a path needs a rate above 0",
            remedy="leave out paths over such links",
        )
