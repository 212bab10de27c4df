# SPDX-License-Identifier: Apache-2.0
"""A job as data, its traffic by link and its GPU intensity.

Published: W_j, M_{j,e}, B_e, t_j = max over e of M_{j,e} / B_e, I_j = W_j / t_j (Crux, definitions 1 and 2).
That a job computes first and sends in one piece, which may begin before the computation ends, is the paper's
simplification of section 4.2 as well.
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
    """A job: what an iteration computes and sends, and the candidate paths of its flows.

    `gpus` accelerators compute for `compute` seconds, the last `overlap` of which goes on while the job
    sends; `work` is what they do in that time, GPU-seconds where it is None, else FLOP or any unit that all
    jobs share.

    Flow f sends `amounts[f]`, bytes where rates are bytes a second, over one of `paths[f]`: shape (flows,
    candidates, hops), numbers of links, -1 where a path is shorter; nothing but -1 where there are fewer
    paths. `port` is the rate of the link to the network that each flow has for itself.
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
        if self.paths.ndim != 3 or len(self.paths) != len(self.amounts) or (self.amounts < 0).any():
            raise PlanError(
                f"job {self.name} has {len(self.amounts)} flows, but paths of shape {self.paths.shape}",
                remedy="give an amount of 0 or more and a row of paths to each flow",
            )
        if len(self.paths) and not self.candidates.any(axis=1).all():
            flow = int(np.argmin(self.candidates.any(axis=1)))
            raise PlanError(
                f"job {self.name}: flow {flow} has no path", remedy="leave the flow out, or give it a path"
            )

    @property
    def candidates(self) -> NDArray[np.bool_]:
        """Candidates that are paths, by flow: (flows, candidates)."""
        return np.asarray((self.paths >= 0).any(axis=2))

    @property
    def port_seconds(self) -> float:
        """Seconds that the largest flow takes through its port."""
        return float(self.amounts.max(initial=0.0)) / self.port

    @property
    def iteration_work(self) -> float:
        """W, the work of an iteration."""
        return self.gpus * self.compute if self.work is None else self.work


@final
@dataclass(frozen=True, slots=True, eq=False)
class Schedule:
    """Choices by job: the path of each flow, the priority level (0 is served first) and a start shift.

    Jobs of one `group` have a common circle of time, on which job j goes round `turns[j]` times, beginning
    `shifts[j]` of its iteration late. Group -1: the job begins whenever it does.
    """

    choices: tuple[Ints, ...]
    levels: Ints
    groups: Ints
    turns: Ints
    shifts: Floats

    @classmethod
    def of(cls, choices: Sequence[Ints], levels: Ints | None = None) -> Schedule:
        """Return a schedule without shifts, with a single level unless levels are given."""
        number = len(choices)
        level = np.zeros(number, np.int64) if levels is None else levels
        return cls(tuple(choices), level, np.full(number, -1), np.ones(number, np.int64), np.zeros(number))


def link_loads(job: Job, choice: Ints, links: int) -> Floats:
    """Return M_{j,e}, the traffic of an iteration on each link."""
    taken = job.paths[np.arange(len(choice)), choice]
    used = taken >= 0
    amounts = np.broadcast_to(job.amounts[:, None], taken.shape)
    return np.bincount(taken[used], amounts[used], links).astype(float)


def bottleneck_seconds(job: Job, choice: Ints, rates: Floats) -> float:
    """Return t_j, the seconds of the slowest link for an iteration alone; 0 for a job that sends nothing."""
    if not len(choice):
        return 0.0
    return max(float((link_loads(job, choice, len(rates)) / rates).max()), job.port_seconds)


def intensity(job: Job, choice: Ints, rates: Floats) -> float:
    """Return I_j = W_j / t_j; infinite for a job that sends nothing."""
    seconds = bottleneck_seconds(job, choice, rates)
    return job.iteration_work / seconds if seconds else np.inf


def iteration_seconds(compute: float, sending: float, overlap: float) -> float:
    """Return the seconds of an iteration alone; sending overlaps the last `overlap` of computation."""
    return max(compute, (1 - overlap) * compute + sending)


def check_rates(rates: Floats) -> None:
    """Raise PlanError unless all links have a rate."""
    if len(rates) and not (rates > 0).all():
        link = int(np.argmin(rates))
        raise PlanError(
            f"link {link} has rate {rates[link]:g}, but a path needs a rate above 0",
            remedy="leave out paths over such links",
        )
