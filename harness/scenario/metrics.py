# SPDX-License-Identifier: Apache-2.0
"""Names, units and meanings of a run's metrics; harness.report computes their values from observations."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import final

__all__ = [
    "ALL_METRICS",
    "CIRCUIT_METRICS",
    "COMPUTE_METRICS",
    "ECN_METRICS",
    "FAULT_METRICS",
    "HOST_METRICS",
    "ITERATION_METRICS",
    "JOB_METRICS",
    "METRICS",
    "PLANE_METRICS",
    "PFC_METRICS",
    "POOL_METRICS",
    "QUEUE_METRICS",
    "RAIL_METRICS",
    "RUN_TIMES",
    "SPARE_METRICS",
    "Metric",
]


@final
@dataclass(frozen=True, slots=True)
class Metric:
    """Declaration of a metric.

    `unit` is also the end of the metric's name; it is empty for a count of anything but frames.

    A `timed` metric depends on times; a run whose times are not trustworthy does not judge it.
    """

    unit: str
    meaning: str
    timed: bool = False


METRICS: Mapping[str, Metric] = {
    "completion_us": Metric("us", "time until the last NPU has its result", timed=True),
    "bound_us": Metric("us", "lower bound of the collective's time on these links, as if no fault happened"),
    "ratio_to_bound": Metric("ratio", "completion time divided by the bound", timed=True),
    "npus": Metric("", "NPUs that took part"),
    "correct_npus": Metric("", "NPUs whose array equals the arithmetic result"),
    "result_crc32": Metric("", "CRC-32 of the reduced array"),
    "sent_frames": Metric("frames", "data frames sent, without retransmissions"),
    "retransmitted_frames": Metric("frames", "data frames retransmitted", timed=True),
    "received_frames": Metric("frames", "data frames that reached an NPU, without duplicates"),
    "duplicate_frames": Metric("frames", "data frames received a second time and dropped", timed=True),
    "acknowledgement_frames": Metric("frames", "acknowledgements sent", timed=True),
    "lost_frames": Metric(
        "frames",
        "frames lost on a failed link, or sent to a failed link or to a port without a link",
        timed=True,
    ),
    "dropped_frames": Metric("frames", "frames dropped by a P4 program, from its counters"),
    "busiest_link_percent": Metric("percent", "busy share of the busiest direction of a link", timed=True),
    "mean_link_percent": Metric("percent", "busy share of a direction of a link, on average", timed=True),
    "table_entries": Metric("", "table entries installed over P4Runtime"),
    "fault_us": Metric("us", "time of the first fault; 0 without one"),
    "convergence_us": Metric("us", "time from the first fault to the last table write", timed=True),
    "notices": Metric("frames", "notices of failed links sent"),
    "notices_repeated": Metric("", "notices sent again because nobody acknowledged them", timed=True),
    "notices_unconfirmed": Metric("", "notices that nobody acknowledged in spite of repetitions", timed=True),
    "repath_requests": Metric(
        "", "requests of agents for other paths, after silence on all that they had tried", timed=True
    ),
    "nodes_notified": Metric("", "nodes that received a notice of a failed link"),
    "entries_rewritten": Metric("", "table entries written after a fault"),
}
"""Metrics of every run."""

FAULT_METRICS: Mapping[str, Metric] = {
    "detected_us": Metric("us", "time from the fault until a node noticed it by itself", timed=True),
    "recovered_us": Metric("us", "time from the fault to the last table write that it caused", timed=True),
    "notices": Metric("frames", "messages sent because of the fault"),
    "nodes_told": Metric("", "nodes that acted on a notice of the fault"),
    "nodes_rewritten": Metric("", "nodes that rewrote table entries because of the fault"),
    "entries_rewritten": Metric("", "table entries rewritten because of the fault"),
    "stalled_ranks": Metric("", "ranks that received nothing for a while after the fault", timed=True),
    "stall_us": Metric("us", "longest time in which a rank received nothing after the fault", timed=True),
}
"""Metrics of a fault, named VARIANT.faults[N].METRIC in assertions; for a flap the largest of its phases."""

SPARE_METRICS: Mapping[str, Metric] = {
    "takeovers": Metric("", "nodes replaced by a spare"),
    "takeover_us": Metric(
        "us", "time from the first fault until all tables have the first spare", timed=True
    ),
    "spare_transit_frames": Metric(
        "frames", "frames forwarded by a spare in service, from counters of links and programs"
    ),
    "stale_frames": Metric(
        "frames", "data frames of a job that a takeover had ended, ignored on arrival", timed=True
    ),
}
"""Metrics of runs in which a spare NPU took over, and of no others."""

RAIL_METRICS: Mapping[str, Metric] = {
    "cross_rail_frames": Metric(
        "frames", "frames that left a rail: sent by its switches towards other rails, or dropped as foreign"
    ),
}
"""Metrics of runs on fabrics that have rails."""

PLANE_METRICS: Mapping[str, Metric] = {
    "cross_plane_frames": Metric(
        "frames", "least number of frames that changed from one plane of NIC ports to another"
    ),
}
"""Metrics of runs on fabrics whose NICs have several ports."""

HOST_METRICS: Mapping[str, Metric] = {
    "memory_read_bytes": Metric("bytes", "bytes that the collective read from the memory of all NPUs"),
    "memory_written_bytes": Metric("bytes", "bytes that the collective wrote to the memory of all NPUs"),
    "reduction_us": Metric(
        "us", "time in which the cores or the CCU of an NPU reduced or copied, on average"
    ),
    "core_us": Metric("us", "time that the cores of an NPU lost to the collective, on average"),
    "sram_peak_bytes": Metric("bytes", "most SRAM of a CCU in use", timed=True),
    "spilled_bytes": Metric(
        "bytes", "bytes of frames that found no SRAM and went by way of memory", timed=True
    ),
}
"""Metrics of runs with `hosts:`, a model of the reduction on an NPU by its cores or its CCU."""

ECN_METRICS: Mapping[str, Metric] = {
    "marked_frames": Metric(
        "frames", "data frames that reached an NPU with a congestion mark, duplicates included", timed=True
    ),
}
"""Metrics of runs whose switches mark frames."""

QUEUE_METRICS: Mapping[str, Metric] = {
    "full_queue_frames": Metric("frames", "frames that found no room in the queue of a port", timed=True),
    "trimmed_frames": Metric("frames", "data frames that a full queue cut behind their headers", timed=True),
    "trims_reported": Metric("frames", "frames sent again because their headers came alone", timed=True),
    "longest_queue_bytes": Metric("bytes", "most bytes that waited in the queue of a port", timed=True),
}
"""Metrics of runs whose links lose frames when their queues are full."""

PFC_METRICS: Mapping[str, Metric] = {
    "pause_frames": Metric("frames", "pause frames sent, that a class stop or go on", timed=True),
    "overrun_frames": Metric("frames", "data frames that found no room in a receive buffer", timed=True),
    "watchdog_ends": Metric("", "pauses of a class that the watchdog ended", timed=True),
    "watchdog_frames": Metric("frames", "data frames that the watchdog dropped", timed=True),
}
"""Metrics of runs with priority flow control (PFC)."""

POOL_METRICS: Mapping[str, Metric] = {
    "memory_operations": Metric("", "memory operations with a response"),
    "operation_us": Metric(
        "us", "time from an operation's first request to its last response, on average", timed=True
    ),
    "slowest_operation_us": Metric("us", "the same of the slowest operation", timed=True),
    "lent_bytes": Metric("bytes", "memory lent to borrowers, all copies"),
    "lost_lenders": Metric("", "lenders that were given up"),
    "moved_pages": Metric("", "pages that lost a copy"),
}
"""Metrics of runs of a pool of memory."""

CIRCUIT_METRICS: Mapping[str, Metric] = {
    "reconfigurations": Metric("", "reconfigurations of circuits for jobs"),
    "circuits_created": Metric("", "circuits created"),
    "circuits_removed": Metric("", "circuits removed"),
    "circuits_missing": Metric(
        "", "largest number of circuits that jobs lacked at a time because ports had no light"
    ),
    "circuits_missing_at_end": Metric("", "circuits that jobs lacked after the last reconfiguration"),
}
"""Metrics of runs with circuits per job."""

COMPUTE_METRICS: Mapping[str, Metric] = {
    "work_percent": Metric(
        "percent",
        "share of the time until horizon_us in which the accelerators of all jobs computed",
        timed=True,
    ),
}
"""Metrics of runs in which jobs compute, with `horizon_us`."""

ALL_METRICS: Mapping[str, Metric] = {
    **METRICS,
    **SPARE_METRICS,
    **RAIL_METRICS,
    **PLANE_METRICS,
    **CIRCUIT_METRICS,
    **HOST_METRICS,
    **ECN_METRICS,
    **QUEUE_METRICS,
    **PFC_METRICS,
    **POOL_METRICS,
    **COMPUTE_METRICS,
}
"""Metrics of runs of any kind."""

JOB_METRICS = (
    "completion_us",
    "bound_us",
    "ratio_to_bound",
    "retransmitted_frames",
    "correct_npus",
    "npus",
    "start_us",
    "waited_us",
)
"""Metrics of each job of a variant with several jobs, named JOB.METRIC."""

ITERATION_METRICS = (
    "iterations",
    "priority",
    "iteration_us",
    "fastest_iteration_us",
    "slowest_iteration_us",
    "communication_us",
)
"""Metrics of each job with iterations, named JOB.METRIC."""

RUN_TIMES = ("completion_us", "ratio_to_bound")
"""Metrics of a run and of a job that have no meaning if it halted: they end with the run."""
