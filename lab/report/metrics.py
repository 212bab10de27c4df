# SPDX-License-Identifier: Apache-2.0
"""The figures of a run: what each is called, what it means, and how it is made of an observation."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from statistics import mean
from typing import final

from emulation.control.rewiring_record import RewiringRecord
from emulation.fidelity import Fidelity
from lab.report.heat_map import TrafficMatrix
from lab.run.observation import JobReport, Observation

__all__ = [
    "ALL_METRICS",
    "CIRCUIT_METRICS",
    "COMPUTE_METRICS",
    "ITERATION_METRICS",
    "JOB_METRICS",
    "METRICS",
    "PLANE_METRICS",
    "RAIL_METRICS",
    "SPARE_METRICS",
    "Metric",
    "Subject",
    "busy_share",
    "measure",
]

Figure = int | float


@final
@dataclass(frozen=True, slots=True)
class Subject:
    """A run and what it is held against; `fidelity` is None where time was virtual, and exact.

    `sent` says who had how much to send to whom; None where nobody asks.
    """

    seen: Observation
    bound_ps: int
    rates_bps: Mapping[str, int]
    fidelity: Fidelity | None = None
    sent: TrafficMatrix | None = None

    @property
    def doubtful(self) -> bool:
        """Whether its times are those of the machine that ran it."""
        return self.fidelity is not None and not self.fidelity.trustworthy


@final
@dataclass(frozen=True, slots=True)
class Metric:
    """`unit` is also the end of the metric's name; a bare count has none.

    `timed`: it depends on when things happened, and says nothing where the times cannot be believed.
    """

    unit: str
    meaning: str
    of: Callable[[Subject], Figure]
    timed: bool = False


def busy_share(subject: Subject) -> dict[str, tuple[float, float]]:
    """For every link, the share of the run during which it was sending, each way."""
    seconds = subject.seen.completion_ps / 10**12
    return {
        link: (
            8 * there / (subject.rates_bps[link] * seconds),
            8 * back / (subject.rates_bps[link] * seconds),
        )
        for link, (there, back) in subject.seen.link_bytes.items()
    }


def _us(ps: int) -> float:
    return ps / 10**6


def _busy_percent(subject: Subject, pick: Callable[[list[float]], float]) -> float:
    shares = [share for pair in busy_share(subject).values() for share in pair]
    return round(100 * pick(shares), 3) if shares else 0.0


def _convergence_us(subject: Subject) -> float:
    """0 when nothing failed or nothing had to be rewritten."""
    seen = subject.seen
    if not seen.faults or seen.recovery.converged_ps is None:
        return 0.0
    return _us(seen.recovery.converged_ps - seen.faults[0].at_ps)


METRICS: Mapping[str, Metric] = {
    "completion_us": Metric(
        "us", "until the last NPU had its result", lambda s: _us(s.seen.completion_ps), timed=True
    ),
    "bound_us": Metric("us", "what this collective cannot beat on these links", lambda s: _us(s.bound_ps)),
    "ratio_to_bound": Metric(
        "ratio", "completion over bound", lambda s: round(s.seen.completion_ps / s.bound_ps, 6), timed=True
    ),
    "npus": Metric("", "NPUs that took part", lambda s: s.seen.nodes),
    "right_npus": Metric("", "NPUs whose array equals the arithmetic truth", lambda s: s.seen.right_nodes),
    "result_crc32": Metric("", "CRC-32 of the reduced array", lambda s: s.seen.checksum),
    "sent_frames": Metric("frames", "data frames sent, each counted once", lambda s: s.seen.traffic.sent),
    "retransmitted_frames": Metric(
        "frames", "data frames sent again", lambda s: s.seen.traffic.retransmitted, timed=True
    ),
    "received_frames": Metric(
        "frames", "data frames that reached an NPU, each counted once", lambda s: s.seen.traffic.received
    ),
    "duplicate_frames": Metric(
        "frames",
        "data frames that came twice; the second was dropped",
        lambda s: s.seen.traffic.duplicates,
        timed=True,
    ),
    "acknowledgement_frames": Metric(
        "frames", "acknowledgements sent", lambda s: s.seen.traffic.acknowledgements, timed=True
    ),
    "lost_frames": Metric(
        "frames",
        "frames on a failed link, or sent to it or to no link",
        lambda s: s.seen.traffic.lost_with_link,
        timed=True,
    ),
    "dropped_frames": Metric(
        "frames",
        "frames that a P4 program refused, by its counters",
        lambda s: s.seen.traffic.dropped_by_switch,
    ),
    "busiest_link_percent": Metric(
        "percent",
        "busy share of the busiest direction of a link",
        lambda s: _busy_percent(s, max),
        timed=True,
    ),
    "mean_link_percent": Metric(
        "percent",
        "busy share of a direction of a link, on average",
        lambda s: _busy_percent(s, mean),
        timed=True,
    ),
    "table_entries": Metric("", "entries installed over P4Runtime", lambda s: s.seen.table_entries),
    "fault_us": Metric(
        "us",
        "time of the first fault; 0 without one",
        lambda s: _us(s.seen.faults[0].at_ps) if s.seen.faults else 0.0,
    ),
    "convergence_us": Metric("us", "first fault to last table write", _convergence_us, timed=True),
    "notices": Metric("frames", "notices sent of a failed link", lambda s: s.seen.recovery.notices),
    "nodes_told": Metric("", "nodes that heard of a failed link", lambda s: s.seen.recovery.nodes_told),
    "entries_rewritten": Metric(
        "", "table entries written after a fault", lambda s: s.seen.recovery.entries_rewritten
    ),
}


def _takeover_us(subject: Subject) -> float:
    """0 when no spare took over, or nothing failed."""
    seen = subject.seen
    if not seen.takeovers or not seen.faults:
        return 0.0
    return _us(seen.takeovers[0].at_ps - seen.faults[0].at_ps)


# Of runs in which a spare NPU took the place of another, and only of these.
SPARE_METRICS: Mapping[str, Metric] = {
    "takeovers": Metric(
        "", "nodes that a spare took the place of", lambda s: sum(len(one.spares) for one in s.seen.takeovers)
    ),
    "takeover_us": Metric(
        "us", "first fault until the first spare had its place in all tables", _takeover_us, timed=True
    ),
    "spare_transit_frames": Metric(
        "frames",
        "frames that went by way of a spare in service, by link and program counters",
        lambda s: s.seen.transit_frames,
    ),
    "stale_frames": Metric(
        "frames",
        "data frames of a job that a takeover had ended; they were ignored",
        lambda s: s.seen.stale_frames,
        timed=True,
    ),
}


# Of runs on fabrics that have rails.
RAIL_METRICS: Mapping[str, Metric] = {
    "cross_rail_frames": Metric(
        "frames",
        "frames that left a rail, by its switches: sent to where other rails are, or dropped as one's",
        lambda s: s.seen.cross_rail_frames or 0,
    ),
}


PLANE_METRICS: Mapping[str, Metric] = {
    "cross_plane_frames": Metric(
        "frames",
        "frames that a switch took from one plane of NIC ports to another, at least",
        lambda s: s.seen.cross_plane_frames or 0,
    ),
}


def _lacked(change: RewiringRecord) -> int:
    return sum(one.wanted - one.has for one in change.lacks)


# Of runs in which circuits followed jobs.
CIRCUIT_METRICS: Mapping[str, Metric] = {
    "changes": Metric("", "times that circuits were made to follow jobs", lambda s: len(s.seen.rewired)),
    "circuits_made": Metric(
        "", "circuits that were made", lambda s: sum(len(c.made) for c in s.seen.rewired)
    ),
    "circuits_torn": Metric("", "circuits that went", lambda s: sum(len(c.torn) for c in s.seen.rewired)),
    "circuits_lacking": Metric(
        "",
        "most circuits that jobs lacked at a time, for want of light",
        lambda s: max(map(_lacked, s.seen.rewired), default=0),
    ),
    "circuits_lacking_at_last": Metric(
        "", "the same after the last change", lambda s: _lacked(s.seen.rewired[-1]) if s.seen.rewired else 0
    ),
}


# Of each of several jobs, after its name.
JOB_METRICS: Mapping[str, Callable[[JobReport], Figure]] = {
    "completion_us": lambda job: _us(job.completion_ps),
    "bound_us": lambda job: _us(job.bound_ps),
    "ratio_to_bound": lambda job: round(job.completion_ps / job.bound_ps, 6),
    "retransmitted_frames": lambda job: job.retransmitted,
    "right_npus": lambda job: job.right_nodes,
    "npus": lambda job: job.nodes,
    "begun_us": lambda job: _us(job.begun_ps),
}


def _lengths_us(pick: Callable[[tuple[int, ...]], float]) -> Callable[[JobReport], Figure]:
    return lambda job: round(pick(job.lengths_ps) / 10**6, 6)


# Of each job that has iterations, after its name.
ITERATION_METRICS: Mapping[str, Callable[[JobReport], Figure]] = {
    "iterations": lambda job: len(job.iterations),
    "priority": lambda job: job.priority,
    "iteration_us": _lengths_us(mean),
    "fastest_iteration_us": _lengths_us(min),
    "slowest_iteration_us": _lengths_us(max),
    "sending_us": lambda job: round(mean(one.sent_ps - one.send_ps for one in job.iterations) / 10**6, 6),
    "utilisation_percent": lambda job: round(
        100 * job.compute_ps * len(job.iterations) / job.completion_ps, 3
    ),
}


def _utilisation(subject: Subject) -> Figure:
    """Computing share of the members of all jobs, each from its job's begin to its end."""
    jobs = subject.seen.jobs
    computed = sum(job.nodes * job.compute_ps * len(job.iterations) for job in jobs)
    return round(100 * computed / sum(job.nodes * job.completion_ps for job in jobs), 3)


# Of runs in which jobs compute.
COMPUTE_METRICS: Mapping[str, Metric] = {
    "utilisation_percent": Metric(
        "percent",
        "share of their jobs' time in which accelerators computed",
        _utilisation,
        timed=True,
    ),
}

ALL_METRICS: Mapping[str, Metric] = {
    **METRICS,
    **SPARE_METRICS,
    **RAIL_METRICS,
    **PLANE_METRICS,
    **CIRCUIT_METRICS,
    **COMPUTE_METRICS,
}


def measure(subject: Subject) -> dict[str, Figure]:
    """Every figure that one run has."""
    chosen = dict(METRICS)
    if subject.seen.takeovers:
        chosen |= SPARE_METRICS
    if subject.seen.cross_rail_frames is not None:
        chosen |= RAIL_METRICS
    if subject.seen.cross_plane_frames is not None:
        chosen |= PLANE_METRICS
    if subject.seen.rewired:
        chosen |= CIRCUIT_METRICS
    if any(job.iterations for job in subject.seen.jobs):
        chosen |= COMPUTE_METRICS
    figures = {name: metric.of(subject) for name, metric in chosen.items()}
    for job in subject.seen.jobs:
        own = {**JOB_METRICS, **(ITERATION_METRICS if job.iterations else {})}
        figures |= {f"{job.name}.{name}": of(job) for name, of in own.items()}
    return figures
