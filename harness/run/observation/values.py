# SPDX-License-Identifier: Apache-2.0
"""Observation of a run, the input of its metrics; times are in picoseconds of the scenario."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import final

from emulation.control.reconfiguration_record import ReconfigurationRecord
from emulation.control.takeover import TakeoverRecord
from emulation.faults import Fault
from emulation.testbed import LinkUsage
from emulation.traffic.host.reduction import ReductionStats
from harness.run.memory_pool.plan import PoolReport
from harness.run.observation.fault_log import FaultTrace
from harness.run.observation.queue_log import QueueLog

__all__ = [
    "CounterCell",
    "Deadlock",
    "FaultReport",
    "JobIteration",
    "JobReport",
    "Observation",
    "OperationReport",
    "Pauses",
    "Queues",
    "Recovery",
    "RegisterCell",
    "Timeline",
    "Traffic",
]


# Largest number of turns of a flap, down and up, that a fault report lists.
_TURNS = 32


@final
@dataclass(frozen=True, slots=True)
class Pauses:
    """Counts of priority flow control over all links.

    Attributes:
        frames: Pause frames sent.
        overruns: Data frames that found no room in a receive buffer in spite of pauses.
        ended: Pauses that the watchdog ended.
        dropped: Data frames that the watchdog dropped.
    """

    frames: int
    overruns: int
    ended: int
    dropped: int


@final
@dataclass(frozen=True, slots=True)
class Queues:
    """Counts over all queues of lossy links.

    Attributes:
        dropped: Frames that found no room.
        trimmed: Data frames that a full queue cut behind their headers.
        refused: Frames sent again because only their headers arrived.
        longest_bytes: Most bytes that waited in a queue.
        pauses: Counts of priority flow control; None if the links have none.
    """

    dropped: int
    trimmed: int
    refused: int
    longest_bytes: int
    pauses: Pauses | None = None


@final
@dataclass(frozen=True, slots=True)
class Traffic:
    """Frames of all NPUs together; `sent` and `received` leave out retransmissions and duplicates.

    `marked` counts data frames that arrived with a congestion mark, and is None if switches mark no frames.
    `queues` is None for lossless links.
    """

    sent: int
    retransmitted: int
    received: int
    duplicates: int
    acknowledgements: int
    lost_with_link: int
    dropped_by_switch: int
    marked: int | None = None
    queues: Queues | None = None


@final
@dataclass(frozen=True, slots=True)
class CounterCell:
    """A cell of an indexed counter of a P4 program of the user's own."""

    node: str
    counter: str
    index: int
    packets: int
    bytes: int


@final
@dataclass(frozen=True, slots=True)
class RegisterCell:
    """A cell of a register of a P4 program of the user's own; `value` is unsigned."""

    node: str
    register: str
    index: int
    value: int


@final
@dataclass(frozen=True, slots=True)
class Timeline:
    """Bytes of data frames delivered to NPUs, in bins of `bin_ps`."""

    bin_ps: int
    delivered: tuple[int, ...]


@final
@dataclass(frozen=True, slots=True)
class FaultReport:
    """A fault of a run.

    Attributes:
        at_ps: Time of the fault.
        target: Name of the target.
        event: Event of the fault.
        links: Links that the fault took down for good.
        words: Description in words; may be empty.
        about: All links of the target.
        phases: Times at which the target goes down (False) and up (True); for a flap, of its first 32 turns.
            A fault that impairs links has a single phase.
    """

    at_ps: int
    target: str
    event: str
    links: tuple[str, ...] = ()
    words: str = ""
    about: tuple[str, ...] = ()
    phases: tuple[tuple[int, bool], ...] = ()

    @classmethod
    def of(cls, fault: Fault) -> FaultReport:
        """Return the report of a fault applied by a testbed."""
        target = fault.target
        links = target.links if fault.event == "down" else ()
        about = dict.fromkeys([*target.links, *(link for link, _ in target.one_way)])
        phases = [(fault.at_ps, fault.event in ("up", "clear"))]
        if fault.event == "flap":
            turns = range(min(fault.count, _TURNS))
            begins = [fault.at_ps + turn * fault.period_ps for turn in turns]
            phases = [
                phase for at_ps in begins for phase in ((at_ps, False), (at_ps + fault.period_ps // 2, True))
            ]
        return cls(fault.at_ps, target.name, fault.event, links, fault.text, tuple(about), tuple(phases))

    @property
    def text(self) -> str:
        """Description, such as `npu0-npu1 goes down`."""
        return self.words or f"{self.target} goes {self.event}"


@final
@dataclass(frozen=True, slots=True)
class Recovery:
    """Reaction of the controllers to all faults of a run.

    `converged_ps` is the time of the last table write; None if there was none.
    """

    converged_ps: int | None
    notices: int
    nodes_notified: int
    entries_rewritten: int
    notices_repeated: int = 0
    notices_unconfirmed: int = 0
    repath_requests: int = 0


@final
@dataclass(frozen=True, slots=True)
class Deadlock:
    """A deadlock: from `at_ps` on no frame moves.

    `cycle` holds (link, "from->to", VL) of full buffers. Each buffer waits for room in the next buffer, and
    the last buffer for room in the first.
    """

    at_ps: int
    cycle: tuple[tuple[str, str, int], ...]

    def __str__(self) -> str:
        way = ", ".join(f"{ends} on VL {vl}" for _, ends, vl in self.cycle)
        return f"deadlock at {self.at_ps / 10**6:g} us: {way}"


@final
@dataclass(frozen=True, slots=True)
class JobIteration:
    """One iteration of a job, over all its members.

    Attributes:
        begun_ps: Begin of the first member's computation.
        send_ps: Begin of the first send of any member.
        sent_ps: End of the last send.
        end_ps: End of the iteration at the last member.
    """

    begun_ps: int
    send_ps: int
    sent_ps: int
    end_ps: int


@final
@dataclass(frozen=True, slots=True)
class JobReport:
    """Outcome of a job.

    Attributes:
        name: Name of the job.
        begun_ps: Time at which the job began.
        completion_ps: Time from the begin until the last member had its result.
        bound_ps: Lower bound of `completion_ps`.
        nodes: Number of members.
        correct_nodes: Number of members with correct data.
        retransmitted: Number of retransmitted frames.
        due_ps: Start in the scenario; the job then waited until `begun_ps` for circuits or ports.
        compute_ps: Computation time of a member in each iteration.
        priority: Priority of the job's data at the end; 0 is served first.
        iterations: Iterations; empty for a job that communicates once only.
        halted: True if a member has no result; `completion_ps` then ends with the run.
    """

    name: str
    begun_ps: int
    completion_ps: int
    bound_ps: int
    nodes: int
    correct_nodes: int
    retransmitted: int
    due_ps: int = 0
    compute_ps: int = 0
    priority: int = 0
    iterations: tuple[JobIteration, ...] = ()
    halted: bool = False

    @property
    def lengths_ps(self) -> tuple[int, ...]:
        """Lengths of the iterations; each begins at the end of the previous one, the first with the job."""
        ends = [self.begun_ps, *(iteration.end_ps for iteration in self.iterations)]
        return tuple(end - begin for begin, end in pairwise(ends))


@final
@dataclass(frozen=True, slots=True)
class OperationReport:
    """An operation of a traffic graph, with its `size` in bytes and its times.

    A send goes from the first of `members` to the second. It begins when its first frame may leave and ends
    when its last element is in place. A time is None if the operation did not begin or end.
    """

    job: str
    id: str
    kind: str
    members: tuple[str, ...]
    size: int
    begin_ps: int | None
    end_ps: int | None


@final
@dataclass(frozen=True, slots=True)
class Observation:
    """All measurements of one run of a variant.

    Attributes:
        completion_ps: Time at which the last member had its result.
        nodes: Number of members of all jobs, or of borrowers of a pool.
        correct_nodes: Number of these nodes with correct data.
        first_wrong: First error in the data, or the reason for missing data; empty if all data is correct.
        checksum: CRC-32 of the first rank's result, or of the memory of a pool.
        table_entries: Number of table entries installed before the run.
        traffic: Counts of frames.
        timeline: Bytes that reached NPUs, over time.
        link_usage: Counters of every link, from its first to its second end, and back.
        faults: Faults in the order of time.
        recovery: Reaction of the controllers to the faults.
        deadlock: Deadlock that ended the run.
        takeovers: Replacements of nodes by spares.
        stale_frames: Data frames that arrived for a job which a takeover had ended.
        transit_frames: Frames that a spare in service forwarded.
        cut_off: Sentence about unreachable nodes, or about jobs that never began; empty without any.
        given_up: Sentence about the first rank or borrower that gave a peer up; empty if none did.
        halted: True if a member of a job has no result; `completion_ps` is then the end of the run.
        cross_rail_frames: Frames that left a rail; None without rails.
        cross_plane_frames: Frames that changed planes; None without planes.
        jobs: Outcome of each job, if the scenario lists jobs.
        reconfigurations: Changes of optical circuits for jobs.
        reduction: Counts of the reduction on all NPUs; None without `hosts:`.
        operations: Operations of traffic graphs.
        pool: Outcome of a memory pool.
        trace: Reactions to faults and silences of ranks; None without a fault.
        counters: Nonzero cells of counters that only the user's programs have.
        registers: Nonzero cells of registers that only the user's programs have.
        unread_registers: Names of registers of the user's programs that the switches refused to read.
        queues: Samples of queues and flows; None where the scenario names no queues, and in real time.
    """

    completion_ps: int
    nodes: int
    correct_nodes: int
    first_wrong: str
    checksum: int
    table_entries: int
    traffic: Traffic
    timeline: Timeline
    link_usage: Mapping[str, tuple[LinkUsage, LinkUsage]]
    faults: tuple[FaultReport, ...]
    recovery: Recovery
    deadlock: Deadlock | None = None
    takeovers: tuple[TakeoverRecord, ...] = ()
    stale_frames: int = 0
    transit_frames: int = 0
    cut_off: str = ""
    given_up: str = ""
    halted: bool = False
    cross_rail_frames: int | None = None
    cross_plane_frames: int | None = None
    jobs: tuple[JobReport, ...] = ()
    reconfigurations: tuple[ReconfigurationRecord, ...] = ()
    reduction: ReductionStats | None = None
    operations: tuple[OperationReport, ...] = ()
    pool: PoolReport | None = None
    trace: FaultTrace | None = None
    counters: tuple[CounterCell, ...] = ()
    registers: tuple[RegisterCell, ...] = ()
    unread_registers: tuple[str, ...] = ()
    queues: QueueLog | None = None

    @property
    def link_bytes(self) -> Mapping[str, tuple[int, int]]:
        """Bytes that each link carried, from its first to its second end and back."""
        return {name: (there.bytes, back.bytes) for name, (there, back) in self.link_usage.items()}
