# SPDX-License-Identifier: Apache-2.0
"""Interface of the progress of running jobs, which fluid.py implements."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol, final

from papers.flow_level.workload.jobs import Job

__all__ = ["ROUNDING", "Counted", "Order", "Pace"]

# Largest relative remainder that counts as zero, since rounding may leave it.
ROUNDING = 1e-9


@final
@dataclass(frozen=True, slots=True)
class Order:
    """Schedule of a job's sending.

    Attributes:
        level: class in which links serve the job, lower classes first.
        group: key of the group whose jobs share a circle of time; None for no group.
        turns: number of the job's iterations on the circle.
        late: shift of the job on the circle, as a share of its iteration.
    """

    level: int = 0
    group: int | None = None
    turns: int = 1
    late: float = 0.0


@final
@dataclass(frozen=True, slots=True)
class Counted:
    """Readings of the monitors of a job's NPUs and ports since its start.

    Progress phase by phase has readings at the end of each whole iteration, `Fluid` at any time.

    Attributes:
        seconds: seconds since the job's start.
        iterations: number of iterations done.
        computed: seconds of computation of an NPU.
        sending: seconds during which the job sent.
    """

    seconds: float = 0.0
    iterations: float = 0.0
    computed: float = 0.0
    sending: float = 0.0


class Pace(Protocol):
    """Interface to the progress of running jobs; a job's key is also the key of its routes in the fabric."""

    def add(self, key: int, job: Job) -> None: ...

    def remove(self, key: int) -> None: ...

    def changed(self) -> None:
        """Read the fabric's new capacities, and its new routes if its version changed."""
        ...

    def next_in(self) -> float:
        """Return the seconds until the next event; infinity if there is none."""
        ...

    def advance(self, seconds: float) -> list[int]:
        """Let `seconds` pass, at most `next_in()`; return the keys of jobs that have ended, ascending."""
        ...

    def order(self, key: int, order: Order) -> None:
        """Set the schedule of a job's sending, in place of the job's own priority."""
        ...

    def counted(self, key: int) -> Counted: ...
