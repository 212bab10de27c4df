# SPDX-License-Identifier: Apache-2.0
"""Errors of the controller floor; `topologies.errors` draws the whole tree."""

from collections.abc import Sequence

from topologies.errors import RailyardError

__all__ = ["DeadlockError", "InstallError", "PlanError"]


class PlanError(RailyardError):
    """A plan that cannot be made as requested."""


class DeadlockError(PlanError):
    """Routes with channels waiting for each other in a cycle.

    `cycle` lists the channels in waiting order, each as (link, node to which the channel leads, VL). The last
    channel waits for the first.
    """

    def __init__(self, message: str, cycle: Sequence[tuple[str, str, int]], *, remedy: str = "") -> None:
        super().__init__(message, remedy=remedy)
        self.cycle = tuple(cycle)


class InstallError(RailyardError):
    """A failed exchange with a switch, or entries that cannot be read or written."""
