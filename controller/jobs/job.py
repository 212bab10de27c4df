# SPDX-License-Identifier: Apache-2.0
"""Job and schedule as data; a job's traffic on links, sending time and intensity.

Published (Crux, definitions 1 and 2), for job j and link e:

    W_j        work of an iteration
    M_{j,e}    traffic of an iteration on link e
    B_e        rate of link e
    t_j        max over e of M_{j,e} / B_e, the sending time without other jobs
    I_j        W_j / t_j, the intensity

In an iteration, a job computes, then sends without a break; sending may begin before the computation ends.
Crux simplifies jobs in the same way (section 4.2).
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

    Args:
        name: Name of the job.
        gpus: Number of accelerators.
        compute: Seconds for which all accelerators compute in an iteration.
        amounts: Traffic of each flow in an iteration, (flows,); in bytes if rates are in bytes a second.
        paths: Link numbers of the candidate paths of each flow, (flows, candidates, hops); -1 fills the rest
            of a shorter path, and the row of a missing candidate.
        overlap: Last share of `compute` during which the job may send, 0 to 1.
        work: Work of an iteration, in FLOP or another unit that all jobs share; None stands for
            `gpus * compute` GPU-seconds.
        port: Rate of each flow's own link to the network.
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
                f"job {self.name} cannot have {self.gpus} GPUs, {self.compute:g} s of computation and "
                f"{self.overlap:g} as its overlap with sending",
                remedy="give at least 1 GPU, 0 s or more, and an overlap of 0 to 1",
            )
        if self.paths.ndim != 3 or len(self.paths) != len(self.amounts):
            raise PlanError(
                f"job {self.name} has {len(self.amounts)} amounts, one for each flow, and expects paths of "
                f"shape (flows, candidates, hops); got {self.paths.shape}",
                remedy="give an amount and a table of candidate paths for each flow",
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
        """Mask of existing candidates, (flows, candidates); False if `paths` has only -1."""
        return np.asarray((self.paths >= 0).any(axis=2))

    @property
    def port_seconds(self) -> float:
        """Seconds for the largest flow to pass its port."""
        return float(self.amounts.max(initial=0.0)) / self.port

    @property
    def iteration_work(self) -> float:
        """W_j, the work of an iteration."""
        return self.gpus * self.compute if self.work is None else self.work


@final
@dataclass(frozen=True, slots=True, eq=False)
class Schedule:
    """Choices for each job: the paths of its flows, a priority level and a start shift.

    Jobs of a group share a circle of time, a period that a whole number of iterations of each job fills
    (controller.jobs.shifts).

    Args:
        choices: For each job, the index of the candidate path of each flow.
        levels: Priority level of each job, (jobs,); links serve level 0 first.
        groups: Group of each job, (jobs,); -1 for a job without a prescribed start.
        turns: Number of iterations of each job in the circle of its group, (jobs,).
        shifts: Seconds after the start of the circle at which each job begins, (jobs,).
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
    """Return M_{j,e}, an iteration's traffic on each link, (links,); flow f takes candidate `choice[f]`."""
    taken = job.paths[np.arange(len(choice)), choice]
    used = taken >= 0
    amounts = np.broadcast_to(job.amounts[:, None], taken.shape)
    return np.bincount(taken[used], amounts[used], links).astype(float)


def bottleneck_seconds(job: Job, choice: Ints, rates: Floats) -> float:
    """Return t_j, the seconds for a job alone to send the traffic of an iteration.

    The most loaded link decides, or the port of the largest flow; t_j is 0 without flows.
    """
    if not len(choice):
        return 0.0
    return max(float((link_loads(job, choice, len(rates)) / rates).max()), job.port_seconds)


def intensity(job: Job, choice: Ints, rates: Floats) -> float:
    """Return the intensity of a job: I_j = W_j / t_j (Crux); infinite for a job that sends nothing.

    W_j is the `iteration_work` of the job, and t_j its `bottleneck_seconds`.
    """
    seconds = bottleneck_seconds(job, choice, rates)
    return job.iteration_work / seconds if seconds else np.inf


def iteration_seconds(compute: float, sending: float, overlap: float) -> float:
    """Return the seconds of an iteration without other jobs.

    Sending overlaps the last share `overlap` of `compute`.
    """
    return max(compute, (1 - overlap) * compute + sending)


def check_rates(rates: Floats) -> None:
    """Raise PlanError unless all links have a rate above 0."""
    if len(rates) and not (rates > 0).all():
        link = int(np.argmin(rates))
        raise PlanError(
            f"link {link} has rate {rates[link]:g}; expected a rate above 0",
            remedy="give the link a rate, or remove it from rates and paths",
        )
