# SPDX-License-Identifier: Apache-2.0
"""Observation of one run, from which metrics are computed. Times are picoseconds of virtual time."""

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


# Turns of a flap that are told one by one.
_TURNS = 32


@final
@dataclass(frozen=True, slots=True)
class Pauses:
    """Pause frames of all links, frames that found no room in spite of them, and what the watchdog did."""

    frames: int
    overruns: int
    ended: int
    dropped: int


@final
@dataclass(frozen=True, slots=True)
class Queues:
    """Frames of all queues of lossy links together.

    Attributes:
        dropped: Frames that found no room.
        trimmed: Frames that lost their payload in place of that.
        refused: Frames whose senders were told of it.
        longest_bytes: Most bytes that waited in a queue.
        pauses: Priority flow control; None without.
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

    `marked` counts data frames that arrived with a congestion mark; None where switches mark none. `queues`
    is None for lossless links.
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
    """A cell of a register of a P4 program of the user's own; `value` without a sign."""

    node: str
    register: str
    index: int
    value: int


@final
@dataclass(frozen=True, slots=True)
class Timeline:
    """Bytes of data frames that reached an NPU, in bins of `bin_ps`."""

    bin_ps: int
    delivered: tuple[int, ...]


@final
@dataclass(frozen=True, slots=True)
class FaultReport:
    """A fault: time, target and event; `links` are the links that it took down, `words` describes it.

    `about` are all links of the target. `phases` are the times at which it goes down (False) and up (True),
    in a flap of its first 32 turns; a fault that impairs links has a single phase.
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
        """Return the report of a fault."""
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
    """Reaction of the controllers to faults; `converged_ps` is the time of the last table write."""

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

    `cycle` holds (link, "from->to", VL) of full buffers: each waits for room in the next, the last for room
    in the first.
    """

    at_ps: int
    cycle: tuple[tuple[str, str, int], ...]

    def __str__(self) -> str:
        way = ", ".join(f"{ends} on VL {vl}" for _, ends, vl in self.cycle)
        return f"deadlock at {self.at_ps / 10**6:g} us: {way}"


@final
@dataclass(frozen=True, slots=True)
class JobIteration:
    """One iteration of a job: first computation, first send, end of the last send, end of the last member."""

    begun_ps: int
    send_ps: int
    sent_ps: int
    end_ps: int


@final
@dataclass(frozen=True, slots=True)
class JobReport:
    """One job: its start, and the time from the start until the last member had its result.

    It was due at `due_ps` and waited until `begun_ps`, for its circuits or its ports.
    A job with a rhythm has `iterations`, each with `compute_ps` of computation a member; `priority` is that
    of its data at the end, 0 being served first.
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

    @property
    def lengths_ps(self) -> tuple[int, ...]:
        """Length of each iteration: from the end of the previous iteration to the end of its last member."""
        ends = [self.begun_ps, *(iteration.end_ps for iteration in self.iterations)]
        return tuple(end - begin for begin, end in pairwise(ends))


@final
@dataclass(frozen=True, slots=True)
class OperationReport:
    """An operation of a traffic graph: its job, name, kind, members, bytes, begin and end.

    A send goes from the first of `members` to the second; it begins when its first frame may leave and ends
    when its last element is in place. Times are None for an operation that never began or ended.
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
    """Everything that one run of a variant left to be measured.

    `link_usage` holds the counters of every link: from its first to its second end, and back. `first_wrong`
    is the first error in the data, or the reason for missing data; empty when all data is right.
    `stale_frames` belong to a job that a takeover ended. `transit_frames` passed through a spare in service.
    `cut_off` names what was unreachable at the end. `cross_rail_frames` and `cross_plane_frames` left a rail
    or a plane; None without rails or planes. `jobs` is filled for several jobs; `reconfigurations` holds the
    changes of circuits for them. `reduction` sums up what reduced on all NPUs; None without a model of it.
    `operations` are those of traffic graphs. `pool` is the outcome of a pool; its borrowers are the `nodes`.
    `trace` is what happened around the faults; None without a fault.
    `counters` and `registers` are the cells, other than 0, that programs of the user's own have and built-in
    programs lack; `unread_registers` are those that the switches refused to read. `queues` are samples of
    queues and flows; None where the scenario names no queues, and in real time.
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
        """Bytes that every link carried from its first to its second end, and back."""
        return {name: (there.bytes, back.bytes) for name, (there, back) in self.link_usage.items()}
