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
from emulation.traffic.tree.spec import MemberSpec, TreePort
from emulation.traffic.tree.work import Block

__all__ = [
    "AskWaiting",
    "Description",
    "HostAgent",
    "HostOrder",
    "Idle",
    "Job",
    "HostSlot",
    "MoveMember",
    "Report",
    "Reports",
    "Reroute",
    "SetLevel",
    "busiest_bytes",
    "make_host_agents",
    "schedule_of",
]

_ELEMENT_BYTES = 4  # of every element type

Description = AgentSpec | MemberSpec | MemoryAgent | None
"""Description of a host's agent; an agent of a memory pool is its own description. None: no agent."""

HostAgent = Agent | RepeatingAgent | TreeMember | MemoryAgent
"""An agent that a host process runs."""


@final
class Idle:
    """Stand-in for the agent of a host without one: ignores frames, sends nothing, and is done."""

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


@final
@dataclass(frozen=True, slots=True)
class Reroute:
    """Retransmit frames under way in buckets with changed routes; `routes` has the buckets by CNA."""

    routes: Mapping[int, frozenset[int]]


@final
@dataclass(frozen=True, slots=True)
class SetLevel:
    """Set the service level of the agent's data from its next iteration on."""

    level: int


@final
@dataclass(frozen=True, slots=True)
class AskWaiting:
    """Answer by a message "waiting" with the blocks of a tree whose results the agent lacks."""

    tree: int


@final
@dataclass(frozen=True, slots=True)
class MoveMember:
    """Leave tree number `tree`, and send `blocks` up the tree of `port`."""

    tree: int
    port: TreePort
    blocks: Sequence[Block]


HostOrder = Reroute | SetLevel | AskWaiting | MoveMember
"""Order to a host while its agent runs."""


def make_host_agents(descriptions: Sequence[Description]) -> list[HostAgent | Idle]:
    """Return the agent of each description. An agent of a pool is the description itself."""
    agents = iter(make_all([item for item in descriptions if isinstance(item, AgentSpec | MemberSpec)]))
    return [
        next(agents) if isinstance(item, AgentSpec | MemberSpec) else item or Idle() for item in descriptions
    ]


def schedule_of(description: Description) -> Schedule | None:
    """Return the schedule of the agent of a description; None if it has none."""
    return description.sliced.schedule if isinstance(description, AgentSpec) else None


def busiest_bytes(schedule: Schedule) -> int:
    """Return the bytes of data sent by the busiest rank."""
    total: Counter[int] = Counter()
    for transfer in schedule.transfers:
        total[transfer.source] += transfer.length
    return max(total.values(), default=0) * _ELEMENT_BYTES


@final
@dataclass(frozen=True, slots=True)
class HostSlot:
    """A host of a run: its node, its `interface` in `namespace`, and the description of its first agent."""

    node: str
    namespace: str
    interface: str
    agent: Description


@final
@dataclass(frozen=True, slots=True)
class Job:
    """All hosts of a run, and their settings.

    Attributes:
        slots: The hosts.
        rate_bps: Rate at which a host sends, in bits per second of real time.
        dilation: Real seconds for each second of the scenario.
        bin_ps: Width of the bins of received bytes, in scenario time.
        memory: Descriptor of a sparse file in memory. It begins with the Tallies of all hosts; host i writes
            its array at `array_at(i)` when the run ends.
        watched: True if hosts note their counts in the Tallies as they run.
    """

    slots: Sequence[HostSlot]
    rate_bps: float
    dilation: int
    bin_ps: int
    memory: int
    watched: bool

    @staticmethod
    def array_at(index: int) -> int:
        """Return the byte offset in `memory` of the array of the last agent of host number `index`."""
        return (index + 1) << 40

    @staticmethod
    def replaced_at(index: int) -> int:
        """Return the byte offset in `memory` of the array of the replaced tree member of a host, if any."""
        return Job.array_at(index) + (1 << 39)


@final
@dataclass(frozen=True, slots=True)
class Report:
    """Final report of a host; times are in scenario picoseconds.

    `stats` are of all agents of the host, all other fields of its last agent.

    Attributes:
        stats: Counts of frames.
        finished_ps: Time at which the agent finished; None if it did not.
        failed: Why the agent failed; None if it did not.
        bins: Received bytes by number of the time bin.
        pace: Lateness of frames.
        times: Begin and end of each task of a traffic graph.
        log: Report of each iteration.
        dtype: NumPy type of the array.
        nbytes: Size of the array, which is in the memory shared with the testbed.
        replaced_nbytes: Size of the array of the latest tree member that was replaced, in the same memory.
        agent: Agent of a memory pool, which has no array; None for other agents.
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
    """Final reports of hosts.

    Attributes:
        hosts: Report of each host, by node.
        seconds: Processor seconds of each host process, by its name.
        calls: For each host process, the number of events of each kind that its driver handled.
    """

    hosts: Mapping[str, Report]
    seconds: Mapping[str, float]
    calls: Mapping[str, Mapping[str, int]]
