# SPDX-License-Identifier: Apache-2.0
"""Jobs as iterations of arithmetic and of phases of flows between ranks.

Time is in seconds. A flow's amount is in seconds at the rate 1, which a fabric's capacities are measured in:
where 1 is what an NPU's port sends, an amount is how long it takes alone.
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

# NPUs of a server. What they send to one another never meets the fabric.
SERVER = 8


@final
@dataclass(frozen=True, slots=True, eq=False)
class Phase:
    """Flows that start together, `amount` each; the phase is over when the last of them is.

    `steady`: the same pairs for as long as the job lasts, so that circuits are worth making for them.
    """

    name: str
    amount: float
    pairs: Pairs
    steady: bool = True


@final
@dataclass(frozen=True, slots=True, eq=False)
class Job:
    """`compute` seconds an iteration, of which the last `overlap` go on while the phases send, in order.

    `unit`: ranks in blocks of that many stay in one Pod, where the placement can have it so. `priority` is
    the class that links serve it in, 0 first. A job that is `held` for a time leaves then, whatever is done.
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
                f"job {self.name}: {self.npus} NPUs, {self.iterations} iterations of {self.compute:g} s with "
                f"{self.overlap:g} of it overlapped",
                remedy="give at least one NPU and iteration, no time below 0, an overlap of 0 to 1",
            )

    @property
    def alone(self) -> float:
        """Seconds from start to end where every flow has the rate 1."""
        sending = sum(phase.amount for phase in self.phases)
        return self.iterations * iteration_seconds(self.compute, sending, self.overlap)


def _positions(servers: int, stages: int) -> Pairs:
    """Servers by stage and column: columns are filled one after the other, every second one backwards.

    So that neighbours along the pipeline are neighbours in the order of servers.
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
    """Each server's NPUs `low` to `high` to those of equal number in its target."""
    local = np.arange(low, high)
    return np.stack(
        [(sources[:, None] * SERVER + local).ravel(), (targets[:, None] * SERVER + local).ravel()], axis=1
    )


def gradients(servers: int, stages: int) -> Pairs:
    """Rings through the servers of each stage, half of the NPUs of a server one way, half the other."""
    order = _positions(servers, stages)
    if order.shape[1] < 2:
        return np.zeros((0, 2), np.int64)
    sources, targets = order.ravel(), np.roll(order, -1, axis=1).ravel()
    half = SERVER // 2
    return np.concatenate([_of_ranks(sources, targets, 0, half), _of_ranks(targets, sources, half, SERVER)])


def experts(servers: int, group: int, shift: int) -> Pairs:
    """One round of an All-to-All inside of groups of servers: each sends to the `shift`-th after it."""
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
    """Each stage to the next."""
    order = _positions(servers, stages)
    return _of_ranks(order[:-1].ravel(), order[1:].ravel())
