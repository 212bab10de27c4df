# SPDX-License-Identifier: Apache-2.0
"""Messages between the testbed and the processes of its hosts."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import final

from emulation.mininet.agents.driver import Pace
from emulation.traffic.host.agents import Agent, RepeatingAgent
from emulation.traffic.host.iterations import IterationReport
from emulation.traffic.host.participant import Output
from emulation.traffic.host.spec import AgentSpec
from emulation.traffic.host.stats import NOTHING, AgentStats, Failure, LostBlock
from emulation.traffic.memory.agent import LostMemory, MemoryAgent
from emulation.traffic.schedule.schedule import Schedule
from emulation.traffic.tree.member import TreeMember, make_all
from emulation.traffic.tree.spec import MemberSpec

__all__ = [
    "Description",
    "HostAgent",
    "Idle",
    "Job",
    "HostSlot",
    "Report",
    "Reports",
    "busiest_bytes",
    "make_host_agents",
    "schedule_of",
]

_ELEMENT_BYTES = 4  # of every type

Description = AgentSpec | MemberSpec | MemoryAgent | None
"""Description of a host's agent: that of a pool describes itself by its initial state; None for no agent."""

HostAgent = Agent | RepeatingAgent | TreeMember | MemoryAgent
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


def make_host_agents(descriptions: Sequence[Description]) -> list[HostAgent | Idle]:
    """Return the agent of each description; that of a pool has been pickled on the way, and is a copy."""
    agents = iter(make_all([item for item in descriptions if isinstance(item, AgentSpec | MemberSpec)]))
    return [
        next(agents) if isinstance(item, AgentSpec | MemberSpec) else item or Idle() for item in descriptions
    ]


def schedule_of(description: Description) -> Schedule | None:
    """Return the schedule of an agent; None for an agent without one."""
    return description.sliced.schedule if isinstance(description, AgentSpec) else None


def busiest_bytes(schedule: Schedule) -> int:
    """Return the bytes of data that the rank with the most data sends."""
    total: Counter[int] = Counter()
    for transfer in schedule.transfers:
        total[transfer.source] += transfer.length
    return max(total.values(), default=0) * _ELEMENT_BYTES


@final
@dataclass(frozen=True, slots=True)
class HostSlot:
    """A host: the description of its agent, and its `interface` in a `namespace`."""

    node: str
    namespace: str
    interface: str
    agent: Description


@final
@dataclass(frozen=True, slots=True)
class Job:
    """All hosts of a run; `rate_bps` is in real bits per second.

    `memory` is a file that begins with the Tallies of all hosts. In a `watched` run they note their counts
    there while they run. Host i writes its array at `array_at(i)` when the run ends; a file in memory has
    pages only where it was written.
    """

    slots: Sequence[HostSlot]
    rate_bps: float
    dilation: int
    bin_ps: int
    memory: int
    watched: bool

    @staticmethod
    def array_at(index: int) -> int:
        """Return the byte offset in `memory` at which the array of host number `index` begins."""
        return (index + 1) << 40

    @staticmethod
    def replaced_at(index: int) -> int:
        """Return the byte offset of the array of the agent that host number `index` had before its last."""
        return Job.array_at(index) + (1 << 39)


@final
@dataclass(frozen=True, slots=True)
class Report:
    """Final report of a host; `nbytes` of its array, of type `dtype`, are in the job's memory.

    So are `replaced_nbytes` of the array of the tree's member that the last agent has replaced, if any.

    `stats` are of all its agents together; all other fields are of the last agent. Times are in scenario
    picoseconds. A host of a pool sends its `agent`, which has no array.
    """

    stats: AgentStats
    finished_ps: int | None
    failed: Failure | LostBlock | LostMemory | None
    bins: Mapping[int, int]
    pace: Pace
    times: Sequence[tuple[int, int]] = ()
    log: Sequence[IterationReport] = ()
    dtype: str = "<i4"
    nbytes: int = 0
    replaced_nbytes: int = 0
    agent: MemoryAgent | None = None


@final
@dataclass(frozen=True, slots=True)
class Reports:
    """Final reports of hosts by node; processor seconds and numbers of calls by process."""

    hosts: Mapping[str, Report]
    seconds: Mapping[str, float]
    calls: Mapping[str, Mapping[str, int]]
