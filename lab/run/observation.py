# SPDX-License-Identifier: Apache-2.0
"""What was seen of one run, before any figure is made of it. Times are picoseconds of virtual time."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import final

from emulation.control.rewiring_record import RewiringRecord
from emulation.control.takeover import TakeoverRecord
from emulation.faults import Fault
from emulation.testbed import LinkUsage

__all__ = [
    "Deadlock",
    "FaultReport",
    "JobIteration",
    "JobReport",
    "Observation",
    "Recovery",
    "Timeline",
    "Traffic",
]


@final
@dataclass(frozen=True, slots=True)
class Traffic:
    """Frames of all NPUs together; `sent` and `received` count a data frame once, however often it went."""

    sent: int
    retransmitted: int
    received: int
    duplicates: int
    acknowledgements: int
    lost_with_link: int
    dropped_by_switch: int


@final
@dataclass(frozen=True, slots=True)
class Timeline:
    """Bytes of data frames that reached an NPU, a bin of `bin_ps` each."""

    bin_ps: int
    delivered: tuple[int, ...]


@final
@dataclass(frozen=True, slots=True)
class FaultReport:
    """What was done to what, and when; `links` are those it took down, `words` what it did."""

    at_ps: int
    target: str
    event: str
    links: tuple[str, ...] = ()
    words: str = ""

    @classmethod
    def of(cls, fault: Fault) -> FaultReport:
        target = fault.target
        links = target.links if fault.event == "down" else ()
        return cls(fault.at_ps, target.name, fault.event, links, fault.text)

    @property
    def text(self) -> str:
        """In words: `npu0-npu1 goes down`."""
        return self.words or f"{self.target} goes {self.event}"


@final
@dataclass(frozen=True, slots=True)
class Recovery:
    """What the controllers did about faults; `converged_ps` is the time of the last table write."""

    converged_ps: int | None
    notices: int
    nodes_notified: int
    entries_rewritten: int


@final
@dataclass(frozen=True, slots=True)
class Deadlock:
    """What ended a run: from `at_ps` on nothing moved.

    `cycle` holds (link, "from->to", VL): buffers that are full of frames which wait for the next one, those
    of the last for the first.
    """

    at_ps: int
    cycle: tuple[tuple[str, str, int], ...]

    def __str__(self) -> str:
        way = ", ".join(f"{ends} on VL {vl}" for _, ends, vl in self.cycle)
        return f"deadlock at {self.at_ps / 10**6:g} us: {way}"


@final
@dataclass(frozen=True, slots=True)
class JobIteration:
    """One iteration of a job: its first member began to compute, the first to send, the last was
    through with that, and was through with all."""

    begun_ps: int
    send_ps: int
    sent_ps: int
    end_ps: int


@final
@dataclass(frozen=True, slots=True)
class JobReport:
    """One of several jobs: when it began, and how long after that its last member had its result.

    Of a job with a rhythm there are its `iterations`, each with `compute_ps` of computation a member, and the
    `priority` of its data at the end, 0 being the first.
    """

    name: str
    begun_ps: int
    completion_ps: int
    bound_ps: int
    nodes: int
    correct_nodes: int
    retransmitted: int
    compute_ps: int = 0
    priority: int = 0
    iterations: tuple[JobIteration, ...] = ()

    @property
    def lengths_ps(self) -> tuple[int, ...]:
        """Of each iteration: from the end of the one before, to when all its members were through."""
        ends = [self.begun_ps, *(one.end_ps for one in self.iterations)]
        return tuple(end - begin for begin, end in pairwise(ends))


@final
@dataclass(frozen=True, slots=True)
class Observation:
    """Everything that one run of a variant left to be measured.

    `link_usage` holds the counters of every link: from its first to its second end, and back. `first_wrong`
    is the first error in the data, or the reason for missing data; empty when all data is right.
    `stale_frames` belong to a job that a takeover ended. `transit_frames` passed through a spare in service.
    `cut_off` names what was unreachable at the end. `cross_rail_frames` and `cross_plane_frames` left a rail
    or a plane; None without rails or planes. `jobs` is filled for several jobs; `rewired` holds the changes
    of circuits for them.
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
    rewired: tuple[RewiringRecord, ...] = ()

    @property
    def link_bytes(self) -> Mapping[str, tuple[int, int]]:
        """Bytes that every link carried from its first to its second end, and back."""
        return {name: (there.bytes, back.bytes) for name, (there, back) in self.link_usage.items()}
