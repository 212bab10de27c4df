# SPDX-License-Identifier: Apache-2.0
"""Messages between the testbed and the processes of its hosts."""

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
    """A host without an agent: it takes frames, sends nothing, and is done."""

    failed: Failure | None = None
    finished_ps: int | None = 0
    done = True
    stats: AgentStats = NOTHING
    result: Array = np.zeros(0, np.int32)
    times: Sequence[tuple[int, int]] = ()

    def start(self, now: int) -> Output:
        """Send nothing."""
        return [], None

    def on_frame(self, frame: bytes, now: int) -> Output:
        """Ignore a frame."""
        return [], None

    def on_timer(self, now: int) -> Output:
        """Do nothing."""
        return [], None


@final
@dataclass(frozen=True, slots=True)
class Place:
    """A host, which `make` creates, and its place: an `interface` of a `namespace`."""

    node: str
    namespace: str
    interface: str
    make: Callable[[], Agent | Iterated | Idle]


@final
@dataclass(frozen=True, slots=True)
class Job:
    """All hosts of a run; `rate_bps` is in real bits per second.

    `memory` is a file with the Tallies of all hosts, followed by room for each host's array. In a `watched`
    run the hosts note their counts there while they run.
    """

    places: Sequence[Place]
    rate_bps: float
    dilation: int
    bin_ps: int
    memory: int
    array_bytes: int
    watched: bool


@final
@dataclass(frozen=True, slots=True)
class Report:
    """Final report of a host, whose array is in the job's memory. Times in scenario picoseconds.

    `stats` are of all its agents together; all other fields are of the last agent.
    """

    stats: AgentStats
    finished_ps: int | None
    failed: Failure | None
    bins: Mapping[int, int]
    pace: Pace
    cpu_seconds: float
    times: Sequence[tuple[int, int]] = ()
