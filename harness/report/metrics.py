# SPDX-License-Identifier: Apache-2.0
"""Metrics of a run: name, unit, meaning, and computation from an observation."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from statistics import mean

from emulation.control.rewiring_record import RewiringRecord
from emulation.traffic.host.reduction import ReductionStats
from harness.report.job_metrics import COMPUTE_METRICS, ITERATION_METRICS, JOB_METRICS
from harness.report.variant_run import Figure, Metric, VariantRun, busy_share, us
from harness.run.pool import PoolReport

__all__ = [
    "ALL_METRICS",
    "CIRCUIT_METRICS",
    "COMPUTE_METRICS",
    "ECN_METRICS",
    "HOST_METRICS",
    "ITERATION_METRICS",
    "JOB_METRICS",
    "METRICS",
    "PLANE_METRICS",
    "POOL_METRICS",
    "RAIL_METRICS",
    "SPARE_METRICS",
    "Metric",
    "VariantRun",
    "busy_share",
    "measure",
]


def _busy_percent(run: VariantRun, pick: Callable[[list[float]], float]) -> float:
    shares = [share for pair in busy_share(run).values() for share in pair]
    return round(100 * pick(shares), 3) if shares else 0.0


def _convergence_us(run: VariantRun) -> float:
    """Return the time from the first fault to the last table write; 0 without either."""
    seen = run.observation
    if not seen.faults or seen.recovery.converged_ps is None:
        return 0.0
    return us(seen.recovery.converged_ps - seen.faults[0].at_ps)


METRICS: Mapping[str, Metric] = {
    "completion_us": Metric(
        "us",
        "time until the last NPU has its result",
        lambda run: us(run.observation.completion_ps),
        timed=True,
    ),
    "bound_us": Metric(
        "us", "lower bound of the collective's time on these links", lambda run: us(run.bound_ps)
    ),
    "ratio_to_bound": Metric(
        "ratio",
        "completion time divided by the bound",
        lambda run: round(run.observation.completion_ps / run.bound_ps, 6),
        timed=True,
    ),
    "npus": Metric("", "NPUs that took part", lambda run: run.observation.nodes),
    "correct_npus": Metric(
        "", "NPUs whose array equals the arithmetic result", lambda run: run.observation.correct_nodes
    ),
    "result_crc32": Metric("", "CRC-32 of the reduced array", lambda run: run.observation.checksum),
    "sent_frames": Metric(
        "frames", "data frames sent, without retransmissions", lambda run: run.observation.traffic.sent
    ),
    "retransmitted_frames": Metric(
        "frames", "data frames retransmitted", lambda run: run.observation.traffic.retransmitted, timed=True
    ),
    "received_frames": Metric(
        "frames",
        "data frames that reached an NPU, without duplicates",
        lambda run: run.observation.traffic.received,
    ),
    "duplicate_frames": Metric(
        "frames",
        "data frames received a second time and dropped",
        lambda run: run.observation.traffic.duplicates,
        timed=True,
    ),
    "acknowledgement_frames": Metric(
        "frames", "acknowledgements sent", lambda run: run.observation.traffic.acknowledgements, timed=True
    ),
    "lost_frames": Metric(
        "frames",
        "frames lost on a failed link, or sent to a failed link or to a port without a link",
        lambda run: run.observation.traffic.lost_with_link,
        timed=True,
    ),
    "dropped_frames": Metric(
        "frames",
        "frames dropped by a P4 program, from its counters",
        lambda run: run.observation.traffic.dropped_by_switch,
    ),
    "busiest_link_percent": Metric(
        "percent",
        "busy share of the busiest direction of a link",
        lambda run: _busy_percent(run, max),
        timed=True,
    ),
    "mean_link_percent": Metric(
        "percent",
        "busy share of a direction of a link, on average",
        lambda run: _busy_percent(run, mean),
        timed=True,
    ),
    "table_entries": Metric(
        "", "table entries installed over P4Runtime", lambda run: run.observation.table_entries
    ),
    "fault_us": Metric(
        "us",
        "time of the first fault; 0 without one",
        lambda run: us(run.observation.faults[0].at_ps) if run.observation.faults else 0.0,
    ),
    "convergence_us": Metric(
        "us", "time from the first fault to the last table write", _convergence_us, timed=True
    ),
    "notices": Metric("frames", "notices of failed links sent", lambda run: run.observation.recovery.notices),
    "notices_repeated": Metric(
        "",
        "notices sent again because nobody acknowledged them",
        lambda run: run.observation.recovery.notices_repeated,
        timed=True,
    ),
    "notices_unconfirmed": Metric(
        "",
        "notices that nobody acknowledged in spite of repetitions",
        lambda run: run.observation.recovery.notices_unconfirmed,
        timed=True,
    ),
    "silence_reports": Metric(
        "",
        "requests of agents for other paths, after silence on all that they had tried",
        lambda run: run.observation.recovery.silence_reports,
        timed=True,
    ),
    "nodes_notified": Metric(
        "",
        "nodes that received a notice of a failed link",
        lambda run: run.observation.recovery.nodes_notified,
    ),
    "entries_rewritten": Metric(
        "", "table entries written after a fault", lambda run: run.observation.recovery.entries_rewritten
    ),
}


def _takeover_us(run: VariantRun) -> float:
    """Return the time from the first fault to the first takeover; 0 without either."""
    seen = run.observation
    if not seen.takeovers or not seen.faults:
        return 0.0
    return us(seen.takeovers[0].at_ps - seen.faults[0].at_ps)


# Metrics of runs in which a spare NPU took over, and of no others.
SPARE_METRICS: Mapping[str, Metric] = {
    "takeovers": Metric(
        "",
        "nodes replaced by a spare",
        lambda run: sum(len(takeover.spares) for takeover in run.observation.takeovers),
    ),
    "takeover_us": Metric(
        "us", "time from the first fault until all tables have the first spare", _takeover_us, timed=True
    ),
    "spare_transit_frames": Metric(
        "frames",
        "frames forwarded by a spare in service, from counters of links and programs",
        lambda run: run.observation.transit_frames,
    ),
    "stale_frames": Metric(
        "frames",
        "data frames of a job that a takeover had ended, ignored on arrival",
        lambda run: run.observation.stale_frames,
        timed=True,
    ),
}


# Metrics of runs on fabrics that have rails.
RAIL_METRICS: Mapping[str, Metric] = {
    "cross_rail_frames": Metric(
        "frames",
        "frames that left a rail: sent by its switches towards other rails, or dropped as foreign",
        lambda run: run.observation.cross_rail_frames or 0,
    ),
}


# Metrics of runs on fabrics whose NICs have several ports.
PLANE_METRICS: Mapping[str, Metric] = {
    "cross_plane_frames": Metric(
        "frames",
        "least number of frames that changed from one plane of NIC ports to another",
        lambda run: run.observation.cross_plane_frames or 0,
    ),
}


def _reduction(run: VariantRun) -> ReductionStats:
    return run.observation.reduction or ReductionStats()


# Metrics of runs with a model of what reduces on an NPU.
HOST_METRICS: Mapping[str, Metric] = {
    "memory_read_bytes": Metric(
        "bytes",
        "bytes that the collective read from the memory of all NPUs",
        lambda run: _reduction(run).read_bytes,
    ),
    "memory_written_bytes": Metric(
        "bytes",
        "bytes that the collective wrote to the memory of all NPUs",
        lambda run: _reduction(run).written_bytes,
    ),
    "reduction_us": Metric(
        "us",
        "time in which the cores or the CCU of an NPU reduced or copied, on average",
        lambda run: round(us(_reduction(run).busy_ps) / run.observation.nodes, 6),
    ),
    "core_us": Metric(
        "us",
        "time that the cores of an NPU lost to the collective, on average",
        lambda run: round(us(_reduction(run).core_ps) / run.observation.nodes, 6),
    ),
    "sram_peak_bytes": Metric(
        "bytes",
        "most SRAM of a CCU in use",
        lambda run: _reduction(run).sram_peak_bytes,
        timed=True,
    ),
    "spilled_bytes": Metric(
        "bytes",
        "bytes of frames that found no SRAM and went by way of memory",
        lambda run: _reduction(run).spilled_bytes,
        timed=True,
    ),
}


def _pool(run: VariantRun) -> PoolReport:
    assert run.observation.pool is not None
    return run.observation.pool


# Metrics of runs whose switches mark frames.
ECN_METRICS: Mapping[str, Metric] = {
    "marked_frames": Metric(
        "frames",
        "data frames that reached an NPU with a congestion mark, duplicates included",
        lambda run: run.observation.traffic.marked or 0,
        timed=True,
    ),
}


# Metrics of runs of a pool of memory.
POOL_METRICS: Mapping[str, Metric] = {
    "memory_operations": Metric("", "memory operations with a response", lambda run: _pool(run).operations),
    "operation_us": Metric(
        "us",
        "time from an operation's first request to its last response, on average",
        lambda run: round(us(1) * _pool(run).latency_ps, 6),
        timed=True,
    ),
    "slowest_operation_us": Metric(
        "us", "the same of the slowest operation", lambda run: us(_pool(run).slowest_ps), timed=True
    ),
    "lent_bytes": Metric("bytes", "memory lent to borrowers, all copies", lambda run: _pool(run).lent_bytes),
    "lost_lenders": Metric("", "lenders that were given up", lambda run: _pool(run).lost_lenders),
    "moved_pages": Metric("", "pages that lost a copy", lambda run: _pool(run).moved_pages),
}


def _lacked(change: RewiringRecord) -> int:
    """Return the number of circuits that jobs lacked after a reconfiguration."""
    return sum(lack.wanted - lack.has for lack in change.lacks)


# Metrics of runs with circuits per job.
CIRCUIT_METRICS: Mapping[str, Metric] = {
    "reconfigurations": Metric(
        "", "reconfigurations of circuits for jobs", lambda run: len(run.observation.rewired)
    ),
    "circuits_created": Metric(
        "", "circuits created", lambda run: sum(len(c.created) for c in run.observation.rewired)
    ),
    "circuits_removed": Metric(
        "", "circuits removed", lambda run: sum(len(c.torn) for c in run.observation.rewired)
    ),
    "circuits_missing": Metric(
        "",
        "largest number of circuits that jobs lacked at a time because ports had no light",
        lambda run: max(map(_lacked, run.observation.rewired), default=0),
    ),
    "circuits_missing_at_end": Metric(
        "",
        "circuits that jobs lacked after the last reconfiguration",
        lambda run: _lacked(run.observation.rewired[-1]) if run.observation.rewired else 0,
    ),
}


ALL_METRICS: Mapping[str, Metric] = {
    **METRICS,
    **SPARE_METRICS,
    **RAIL_METRICS,
    **PLANE_METRICS,
    **CIRCUIT_METRICS,
    **HOST_METRICS,
    **ECN_METRICS,
    **POOL_METRICS,
    **COMPUTE_METRICS,
}


def measure(run: VariantRun) -> dict[str, Figure]:
    """Return all metrics that a run has, by name."""
    chosen = dict(METRICS)
    if run.observation.takeovers:
        chosen |= SPARE_METRICS
    if run.observation.cross_rail_frames is not None:
        chosen |= RAIL_METRICS
    if run.observation.cross_plane_frames is not None:
        chosen |= PLANE_METRICS
    if run.observation.rewired:
        chosen |= CIRCUIT_METRICS
    if run.observation.pool is not None:
        chosen |= POOL_METRICS
    if run.observation.traffic.marked is not None:
        chosen |= ECN_METRICS
    if run.observation.reduction is not None:
        chosen |= HOST_METRICS
    if run.work_until_ps and any(job.iterations for job in run.observation.jobs):
        chosen |= COMPUTE_METRICS
    figures = {name: metric.of(run) for name, metric in chosen.items()}
    for job in run.observation.jobs:
        own = {**JOB_METRICS, **(ITERATION_METRICS if job.iterations else {})}
        figures |= {f"{job.name}.{name}": of(job) for name, of in own.items()}
    return figures
