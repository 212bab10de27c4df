# SPDX-License-Identifier: Apache-2.0
"""Progress of jobs: fluid, by mean throughput while the set of jobs stays, or exact, phase by phase."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol, final

from papers.flow_level.workload.jobs import Job

__all__ = ["ROUNDING", "Counted", "Order", "Pace"]

# Part of a step that may be left of it by rounding.
ROUNDING = 1e-9


@final
@dataclass(frozen=True, slots=True)
class Order:
    """Schedule of a job's sending: the class in which links serve it, 0 first, and its time shift.

    Jobs of a `group` share a circle of time that each goes round `turns` times, `late` of its iteration late.
    """

    level: int = 0
    group: int | None = None
    turns: int = 1
    late: float = 0.0


@final
@dataclass(frozen=True, slots=True)
class Counted:
    """Readings of monitors of NPUs and ports from a job's start to its last whole iteration, in seconds."""

    seconds: float = 0.0
    iterations: float = 0.0
    computed: float = 0.0
    sending: float = 0.0


class Pace(Protocol):
    """Carries jobs on; keys are those under which the fabric holds their routes."""

    def add(self, key: int, job: Job) -> None: ...

    def remove(self, key: int) -> None: ...

    def changed(self) -> None:
        """Take note that the fabric's capacities changed, and its routes if its version changed."""
        ...

    def next_in(self) -> float:
        """Seconds to the next moment that matters to it; endless when there is none."""
        ...

    def advance(self, seconds: float) -> list[int]:
        """Let no more than `next_in` pass; who has finished by then, in the order of keys."""
        ...

    def order(self, key: int, order: Order) -> None:
        """Let a job send like this from now on, in place of its own priority."""
        ...

    def counted(self, key: int) -> Counted: ...
