# SPDX-License-Identifier: Apache-2.0
"""Jobs as iterations of computation and of phases of flows between ranks.

Time is in seconds. The rate 1 is the unit of a fabric's capacities, usually that of an NPU's port. A flow's
amount is the time that the flow takes at the rate 1.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import final

import numpy as np
from numpy.typing import NDArray

from controller.jobs.job import iteration_seconds
from harness.errors import ModelError

__all__ = ["SERVER", "Job", "Pairs", "Phase", "experts", "gradients", "pipeline"]

# Flows as rows of two ranks.
Pairs = NDArray[np.int64]

# NPUs of a server. Traffic within a server does not use the fabric.
SERVER = 8


@final
@dataclass(frozen=True, slots=True, eq=False)
class Phase:
    """Flows that start together, `amount` each; the phase ends when its last flow ends.

    `pairs` are the (source, destination) NPUs of the flows. `steady`: the pairs stay equal for the whole job,
    so circuits can be made for the pairs.
    """

    name: str
    amount: float
    pairs: Pairs
    steady: bool = True


@final
@dataclass(frozen=True, slots=True, eq=False)
class Job:
    """A job: arrival, size, and the computation and phases of an iteration.

    Attributes:
        npus: number of NPUs, a rank each.
        arrival: time of arrival.
        compute: seconds of computation of an iteration.
        phases: phases of an iteration, which send one after the other.
        overlap: share of the computation, at its end, 0 to 1, during which the phases may already send.
        priority: class that links serve the job in, 0 first.
        unit: size of the blocks of ranks that stay in one Pod if the placement allows it.
        held: seconds from start after which the job leaves, finished or not; None to run all iterations.
    """

    name: str
    npus: int
    arrival: float
    iterations: int
    compute: float
    phases: tuple[Phase, ...] = ()
    overlap: float = 0.0
    priority: int = 0
    unit: int = SERVER
    held: float | None = None

    def __post_init__(self) -> None:
        if self.npus < 1 or self.iterations < 1 or self.compute < 0 or not 0 <= self.overlap <= 1:
            raise ModelError(
                f"job {self.name} cannot have {self.npus} NPUs and {self.iterations} iterations of "
                f"{self.compute:g} s with an overlap of {self.overlap:g}",
                remedy="give at least one NPU and iteration, no time below 0, an overlap of 0 to 1",
            )

    @property
    def alone(self) -> float:
        """Seconds from start to end if every flow has the rate 1."""
        sending = sum(phase.amount for phase in self.phases)
        return self.iterations * iteration_seconds(self.compute, sending, self.overlap)


def _positions(servers: int, stages: int) -> Pairs:
    """Return the servers by stage and column; a column is a pipeline of consecutive servers.

    Every second column is filled backwards, so consecutive servers are neighbours in the grid.
    """
    if servers % stages:
        raise ModelError(
            f"{servers} servers cannot be divided into {stages} stages",
            remedy="take stages that divide the servers",
        )
    order = np.arange(servers).reshape(-1, stages)
    order[1::2] = order[1::2, ::-1].copy()
    return order.T


def _of_ranks(sources: Pairs, targets: Pairs, low: int = 0, high: int = SERVER) -> Pairs:
    """Return flows from NPUs `low` to `high` - 1 of each source to the NPUs of equal number of its target."""
    local = np.arange(low, high)
    return np.stack(
        [(sources[:, None] * SERVER + local).ravel(), (targets[:, None] * SERVER + local).ravel()], axis=1
    )


def gradients(servers: int, stages: int) -> Pairs:
    """Return the flows of rings through the servers of each stage.

    One half of each server's NPUs sends to the next server, the other half to the previous one.
    """
    order = _positions(servers, stages)
    if order.shape[1] < 2:
        return np.zeros((0, 2), np.int64)
    sources, targets = order.ravel(), np.roll(order, -1, axis=1).ravel()
    half = SERVER // 2
    return np.concatenate([_of_ranks(sources, targets, 0, half), _of_ranks(targets, sources, half, SERVER)])


def experts(servers: int, group: int, shift: int) -> Pairs:
    """Return the flows of a round of an All-to-All within groups of servers.

    Args:
        group: number of servers of a group.
        shift: number of the round: each server sends to the server `shift` positions on in its group,
            cyclically.

    Raises:
        ModelError: The groups do not divide the servers, or there is no such round.
    """
    if servers % group or not 0 < shift < max(group, 2):
        raise ModelError(
            f"round {shift} does not exist for {servers} servers in groups of {group}",
            remedy="take groups that divide the servers, and a round below their size",
        )
    if group < 2:
        return np.zeros((0, 2), np.int64)
    order = np.arange(servers)
    return _of_ranks(order, order // group * group + (order + shift) % group)


def pipeline(servers: int, stages: int) -> Pairs:
    """Return the flows from each stage to the next."""
    order = _positions(servers, stages)
    return _of_ranks(order[:-1].ravel(), order[1:].ravel())
