# SPDX-License-Identifier: Apache-2.0
"""How fast jobs go on: fluid, by mean throughput while the set of jobs stays, or exact, phase by phase."""

from __future__ import annotations

from typing import Protocol

from lab.models.flow_level.jobs import Job

__all__ = ["ROUNDING", "Pace"]

# Part of a step that may be left of it by rounding.
ROUNDING = 1e-9


class Pace(Protocol):
    """Carries jobs on; keys are those under which the fabric holds their routes."""

    def add(self, key: int, job: Job) -> None: ...

    def remove(self, key: int) -> None: ...

    def changed(self) -> None:
        """The fabric's capacities are others; its routes, if its version is."""
        ...

    def next_in(self) -> float:
        """Seconds to the next moment that matters to it; endless when there is none."""
        ...

    def advance(self, seconds: float) -> list[int]:
        """Let no more than `next_in` pass; who has finished by then, in the order of keys."""
        ...
