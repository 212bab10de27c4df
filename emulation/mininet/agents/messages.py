# SPDX-License-Identifier: Apache-2.0
"""What the testbed and the processes of its hosts say to each other."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import final

import numpy as np

from emulation.mininet.agents.driver import Pace
from emulation.traffic.host.agent import Agent, Output
from emulation.traffic.host.iterations import Iterated
from emulation.traffic.host.stats import NOTHING, AgentStats, Failure
from emulation.traffic.schedule.data import Array

__all__ = ["Idle", "Job", "Place", "Report"]


@final
class Idle:
    """In the place of an agent where there is none: takes frames, says nothing, and is done."""

    failed: Failure | None = None
    finished_ps: int | None = 0
    done = True
    stats: AgentStats = NOTHING
    result: Array = np.zeros(0, np.int32)

    def start(self, now: int) -> Output:
        return [], None

    def on_frame(self, frame: bytes, now: int) -> Output:
        return [], None

    def on_timer(self, now: int) -> Output:
        return [], None


@final
@dataclass(frozen=True, slots=True)
class Place:
    """A host, which `make` gives, and where it runs: on an `interface` of a `namespace`."""

    node: str
    namespace: str
    interface: str
    make: Callable[[], Agent | Iterated | Idle]


@final
@dataclass(frozen=True, slots=True)
class Job:
    """`rate_bps` in real bits per second. `memory` is a file of one int64 a host, the bytes of data that
    have come so far, and then, for each, room for its array."""

    places: Sequence[Place]
    rate_bps: float
    dilation: int
    bin_ps: int
    memory: int
    array_bytes: int


@final
@dataclass(frozen=True, slots=True)
class Report:
    """What a host says at the end; its array is in the job's memory. Times in ps of the scenario.

    `stats` are those of all agents that were there, all else is of the last.
    """

    stats: AgentStats
    finished_ps: int | None
    failed: Failure | None
    bins: Mapping[int, int]
    pace: Pace
    cpu_seconds: float
