# SPDX-License-Identifier: Apache-2.0
"""Compute metrics from the observation of a run; harness.scenario.metrics declares their names and units."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from statistics import mean

from emulation.control.reconfiguration_record import ReconfigurationRecord
from emulation.traffic.host.reduction import ReductionStats
from harness.report.measurement.job_metrics import JOB_FIGURES, work_percent
from harness.run.memory_pool.plan import PoolReport
from harness.run.observation.values import Pauses, Queues
from harness.run.observation.variant_run import Figure, VariantRun, busy_share, us
from harness.scenario.metrics import (
    CIRCUIT_METRICS,
    COMPUTE_METRICS,
    ECN_METRICS,
    HOST_METRICS,
    ITERATION_METRICS,
    JOB_METRICS,
    METRICS,
    PFC_METRICS,
    PLANE_METRICS,
    POOL_METRICS,
    QUEUE_METRICS,
    RAIL_METRICS,
    SPARE_METRICS,
)

__all__ = ["figure", "measure"]


def _busy_percent(run: VariantRun, pick: Callable[[list[float]], float]) -> float:
    shares = [share for pair in busy_share(run).values() for share in pair]
    return round(100 * pick(shares), 3) if shares else 0.0


def _convergence_us(run: VariantRun) -> float:
    """Return the time from the first fault to the last table write; 0 without a fault or a table write."""
    seen = run.observation
    if not seen.faults or seen.recovery.converged_ps is None:
        return 0.0
    return us(seen.recovery.converged_ps - seen.faults[0].at_ps)


def _takeover_us(run: VariantRun) -> float:
    """Return the time from the first fault to the first takeover; 0 without a fault or a takeover."""
    seen = run.observation
    if not seen.takeovers or not seen.faults:
        return 0.0
    return us(seen.takeovers[0].at_ps - seen.faults[0].at_ps)


def _reduction(run: VariantRun) -> ReductionStats:
    return run.observation.reduction or ReductionStats()


def _queues(run: VariantRun) -> Queues:
    return run.observation.traffic.queues or Queues(0, 0, 0, 0)


def _pauses(run: VariantRun) -> Pauses:
    return _queues(run).pauses or Pauses(0, 0, 0, 0)


def _pool(run: VariantRun) -> PoolReport:
    assert run.observation.pool is not None
    return run.observation.pool


def _lacked(change: ReconfigurationRecord) -> int:
    """Return the number of circuits that jobs wanted but lacked after a reconfiguration."""
    return sum(lack.wanted - lack.has for lack in change.lacks)


_FIGURES: Mapping[str, Callable[[VariantRun], Figure]] = {
    "completion_us": lambda run: us(run.observation.completion_ps),
    "bound_us": lambda run: us(run.bound_ps),
    "ratio_to_bound": lambda run: round(run.observation.completion_ps / run.bound_ps, 6),
    "npus": lambda run: run.observation.nodes,
    "correct_npus": lambda run: run.observation.correct_nodes,
    "result_crc32": lambda run: run.observation.checksum,
    "sent_frames": lambda run: run.observation.traffic.sent,
    "retransmitted_frames": lambda run: run.observation.traffic.retransmitted,
    "received_frames": lambda run: run.observation.traffic.received,
    "duplicate_frames": lambda run: run.observation.traffic.duplicates,
    "acknowledgement_frames": lambda run: run.observation.traffic.acknowledgements,
    "lost_frames": lambda run: run.observation.traffic.lost_with_link,
    "dropped_frames": lambda run: run.observation.traffic.dropped_by_switch,
    "busiest_link_percent": lambda run: _busy_percent(run, max),
    "mean_link_percent": lambda run: _busy_percent(run, mean),
    "table_entries": lambda run: run.observation.table_entries,
    "fault_us": lambda run: us(run.observation.faults[0].at_ps) if run.observation.faults else 0.0,
    "convergence_us": _convergence_us,
    "notices": lambda run: run.observation.recovery.notices,
    "notices_repeated": lambda run: run.observation.recovery.notices_repeated,
    "notices_unconfirmed": lambda run: run.observation.recovery.notices_unconfirmed,
    "repath_requests": lambda run: run.observation.recovery.repath_requests,
    "nodes_notified": lambda run: run.observation.recovery.nodes_notified,
    "entries_rewritten": lambda run: run.observation.recovery.entries_rewritten,
    "takeovers": lambda run: sum(len(takeover.spares) for takeover in run.observation.takeovers),
    "takeover_us": _takeover_us,
    "spare_transit_frames": lambda run: run.observation.transit_frames,
    "stale_frames": lambda run: run.observation.stale_frames,
    "cross_rail_frames": lambda run: run.observation.cross_rail_frames or 0,
    "cross_plane_frames": lambda run: run.observation.cross_plane_frames or 0,
    "memory_read_bytes": lambda run: _reduction(run).read_bytes,
    "memory_written_bytes": lambda run: _reduction(run).written_bytes,
    "reduction_us": lambda run: round(us(_reduction(run).busy_ps) / run.observation.nodes, 6),
    "core_us": lambda run: round(us(_reduction(run).core_ps) / run.observation.nodes, 6),
    "sram_peak_bytes": lambda run: _reduction(run).sram_peak_bytes,
    "spilled_bytes": lambda run: _reduction(run).spilled_bytes,
    "marked_frames": lambda run: run.observation.traffic.marked or 0,
    "full_queue_frames": lambda run: _queues(run).dropped,
    "trimmed_frames": lambda run: _queues(run).trimmed,
    "trims_reported": lambda run: _queues(run).refused,
    "longest_queue_bytes": lambda run: _queues(run).longest_bytes,
    "pause_frames": lambda run: _pauses(run).frames,
    "overrun_frames": lambda run: _pauses(run).overruns,
    "watchdog_ends": lambda run: _pauses(run).ended,
    "watchdog_frames": lambda run: _pauses(run).dropped,
    "memory_operations": lambda run: _pool(run).operations,
    "operation_us": lambda run: round(us(1) * _pool(run).latency_ps, 6),
    "slowest_operation_us": lambda run: us(_pool(run).slowest_ps),
    "lent_bytes": lambda run: _pool(run).lent_bytes,
    "lost_lenders": lambda run: _pool(run).lost_lenders,
    "moved_pages": lambda run: _pool(run).moved_pages,
    "reconfigurations": lambda run: len(run.observation.reconfigurations),
    "circuits_created": lambda run: sum(len(c.created) for c in run.observation.reconfigurations),
    "circuits_removed": lambda run: sum(len(c.torn) for c in run.observation.reconfigurations),
    "circuits_missing": lambda run: max(map(_lacked, run.observation.reconfigurations), default=0),
    "circuits_missing_at_end": lambda run: (
        _lacked(run.observation.reconfigurations[-1]) if run.observation.reconfigurations else 0
    ),
    "work_percent": work_percent,
}


def figure(name: str, run: VariantRun) -> Figure:
    """Return the value of a metric of a run, by the name of the metric."""
    return _FIGURES[name](run)


def measure(run: VariantRun) -> dict[str, Figure]:
    """Return all applicable metrics of a run, by name; metrics of a job are called JOB.METRIC."""
    chosen = dict(METRICS)
    if run.observation.takeovers:
        chosen |= SPARE_METRICS
    if run.observation.cross_rail_frames is not None:
        chosen |= RAIL_METRICS
    if run.observation.cross_plane_frames is not None:
        chosen |= PLANE_METRICS
    if run.observation.reconfigurations:
        chosen |= CIRCUIT_METRICS
    if run.observation.pool is not None:
        chosen |= POOL_METRICS
    if run.observation.traffic.marked is not None:
        chosen |= ECN_METRICS
    if run.observation.traffic.queues is not None:
        chosen |= QUEUE_METRICS
        if run.observation.traffic.queues.pauses is not None:
            chosen |= PFC_METRICS
    if run.observation.reduction is not None:
        chosen |= HOST_METRICS
    if run.horizon_ps and any(job.iterations for job in run.observation.jobs):
        chosen |= COMPUTE_METRICS
    figures = {name: _FIGURES[name](run) for name in chosen}
    for job in run.observation.jobs:
        own = (*JOB_METRICS, *(ITERATION_METRICS if job.iterations else ()))
        figures |= {f"{job.name}.{name}": JOB_FIGURES[name](job) for name in own}
    return figures
