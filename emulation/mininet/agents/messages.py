# SPDX-License-Identifier: Apache-2.0
"""Messages between the testbed and the processes of its hosts."""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import final

from emulation.mininet.agents.driver import Pace
from emulation.traffic.host.agent import Agent, Output
from emulation.traffic.host.iterations import Iterated, IterationReport
from emulation.traffic.host.make import Participant
from emulation.traffic.host.native import Ranks
from emulation.traffic.host.stats import NOTHING, AgentStats, Failure
from emulation.traffic.memory.agent import LostMemory, MemoryAgent
from emulation.traffic.schedule.schedule import Schedule

__all__ = [
    "HostAgent",
    "Idle",
    "Job",
    "Make",
    "Place",
    "Prototype",
    "Report",
    "Reports",
    "busiest_bytes",
    "itself",
    "native",
    "schedule_of",
]

_ELEMENT_BYTES = 4  # of every type

Prototype = Agent | Iterated | MemoryAgent
"""An agent in its initial state; a host process runs an agent like it."""

HostAgent = Participant | MemoryAgent
"""An agent that a host process runs."""


@final
class Idle:
    """A host without an agent: it takes frames, sends nothing, and is done."""

    failed: Failure | None = None
    finished_ps: int | None = 0
    done = True
    stats: AgentStats = NOTHING

    def start(self, now: int) -> Output:
        """Send nothing."""
        return [], None

    def on_frame(self, frame: bytes, now: int) -> Output:
        """Ignore a frame."""
        return [], None

    def on_timer(self, now: int) -> Output:
        """Do nothing."""
        return [], None


Make = Callable[[], HostAgent | Idle]
"""Creates an agent in the process that runs it."""


def native(again: partial[Agent] | partial[Iterated]) -> Participant:
    """Return the agent in C++ that sends the frames of an agent in Python, from what makes the latter."""
    rank, sliced, data, addresses, *rhythm = again.args
    ranks = Ranks(sliced, addresses, again.keywords["parameters"], again.keywords["reduction"])
    return ranks.iterated(rank, data, *rhythm) if rhythm else ranks.agent(rank, data, again.keywords["job"])


def itself(agent: MemoryAgent) -> MemoryAgent:
    """Return the agent: pickled on the way, it arrives as a copy."""
    return agent


def schedule_of(make: Make) -> Schedule | None:
    """Return the schedule of an agent; None for an agent without one."""
    if isinstance(make, partial) and make.func is native:
        return make.args[0].args[1].schedule
    return None


def busiest_bytes(schedule: Schedule) -> int:
    """Return the bytes of data that the rank with the most data sends."""
    total: Counter[int] = Counter()
    for transfer in schedule.transfers:
        total[transfer.source] += transfer.length
    return max(total.values(), default=0) * _ELEMENT_BYTES


@final
@dataclass(frozen=True, slots=True)
class Place:
    """A host, which `make` creates, and its place: an `interface` of a `namespace`."""

    node: str
    namespace: str
    interface: str
    make: Make


@final
@dataclass(frozen=True, slots=True)
class Job:
    """All hosts of a run; `rate_bps` is in real bits per second.

    `memory` is a file that begins with the Tallies of all hosts. In a `watched` run they note their counts
    there while they run. Host i writes its array at `array_at(i)` when the run ends; a file in memory has
    pages only where it was written.
    """

    places: Sequence[Place]
    rate_bps: float
    dilation: int
    bin_ps: int
    memory: int
    watched: bool

    @staticmethod
    def array_at(index: int) -> int:
        """Return the offset of a host's array in the memory."""
        return (index + 1) << 40


@final
@dataclass(frozen=True, slots=True)
class Report:
    """Final report of a host; `nbytes` of its array, of type `dtype`, are in the job's memory.

    `stats` are of all its agents together; all other fields are of the last agent. Times are in scenario
    picoseconds. A host of a pool sends its `agent`, which has no array.
    """

    stats: AgentStats
    finished_ps: int | None
    failed: Failure | LostMemory | None
    bins: Mapping[int, int]
    pace: Pace
    times: Sequence[tuple[int, int]] = ()
    log: Sequence[IterationReport] = ()
    dtype: str = "<i4"
    nbytes: int = 0
    agent: MemoryAgent | None = None


@final
@dataclass(frozen=True, slots=True)
class Reports:
    """Final reports of hosts by node; processor seconds and numbers of calls by process."""

    hosts: Mapping[str, Report]
    seconds: Mapping[str, float]
    calls: Mapping[str, Mapping[str, int]]
