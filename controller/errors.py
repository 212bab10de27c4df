# SPDX-License-Identifier: Apache-2.0
"""Errors of the controller floor; `topologies.errors` draws the whole tree."""

from collections.abc import Sequence

from topologies.errors import RailyardError

__all__ = ["DeadlockError", "InstallError", "PlanError"]


class PlanError(RailyardError):
    """A plan that cannot be made as requested."""


class DeadlockError(PlanError):
    """Routes whose channels wait for each other in a cycle.

    `cycle` names the channels in waiting order, each (link, node it leads to, VL); the last waits for the
    first.
    """

    def __init__(self, message: str, cycle: Sequence[tuple[str, str, int]], *, remedy: str = "") -> None:
        super().__init__(message, remedy=remedy)
        self.cycle = tuple(cycle)


class InstallError(RailyardError):
    """A switch that did not accept its entries."""
