# SPDX-License-Identifier: Apache-2.0
"""Make the observation of a run after its end, from its agents, links, switches and controllers."""

from __future__ import annotations

import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from operator import add
from typing import final

from controller.p4runtime.client import P4RuntimeClient
from controller.plan.entry import CPU_PORT
from emulation.control.loop import ControlLoop
from emulation.testbed import LinkUsage, SwitchReport
from emulation.traffic.frames.values import SERVICE_LEVELS
from emulation.traffic.host.iterations import IterationReport, input_of
from emulation.traffic.host.stats import AgentStats
from emulation.traffic.schedule.data import checksums, compare, compare_with_goals
from emulation.traffic.schedule.schedule import Sliced
from emulation.traffic.tree.numbers import sum_errors
from harness.run.boot import Booted
from harness.run.jobs.running import Job, Jobs
from harness.run.memory_pool.plan import PoolReport
from harness.run.memory_pool.running import PoolRun
from harness.run.observation.crossings import cross_plane_frames, cross_rail_frames
from harness.run.observation.fault_log import FaultLog
from harness.run.observation.graph_ends import ends_of_jobs
from harness.run.observation.program_cells import counters_of, registers_of
from harness.run.observation.values import (
    Deadlock,
    FaultReport,
    JobIteration,
    JobReport,
    Observation,
    OperationReport,
    Pauses,
    Queues,
    Recovery,
    Timeline,
    Traffic,
)
from harness.run.prepare import Prepared
from harness.run.watchdog import cut_off
from harness.scenario.traffic.jobs import LAST_PRIORITY
from topologies import HOST_PORT, Fabric, Link
from topologies.model.circuits import circuit_link, circuit_of

__all__ = ["collect", "dropped", "link_of"]

# Largest number of bins of a timeline. Longer timelines are merged, since a chart could not show more bins.
MAX_BINS = 480


def collect(
    ready: Prepared,
    up: Booted,
    jobs: Jobs | PoolRun,
    control: ControlLoop,
    bin_ps: int,
    deadlock: Deadlock | None,
    stopped_by: str,
    log: FaultLog | None = None,
) -> Observation:
    """Return the observation of a run after its end.

    The testbed of `up` still runs, with a timeline in bins of `bin_ps`. `stopped_by` is the reason for which
    the run ended early, empty if it did not.
    """
    testbed = up.testbed
    stats = jobs.stats
    data = _of_pool(jobs, testbed.now_ps) if isinstance(jobs, PoolRun) else _of_jobs(jobs, testbed.now_ps)
    given_up = data.given_up
    missing = stopped_by or (cut_off(ready, control, jobs) if given_up else "") or _waiting(control)
    if data.pool is not None:
        missing, given_up = missing or given_up, ""
    reaction = control.report
    faults = tuple(map(FaultReport.of, ready.faults))
    reports_of_reduction = [agent.reduction for agent in stats if agent.reduction is not None]
    registers, unread_registers = registers_of(ready, up.client)
    # Leave out circuits that a fault or takeover was about to create, but that never carried a frame.
    standing = {link.name for link in ready.fabric.links}
    usage = {
        name: directions
        for name, directions in testbed.link_usage().items()
        if name in standing or any(way.frames or way.refused_frames for way in directions)
    }
    return Observation(
        completion_ps=data.end_ps,
        nodes=data.nodes,
        correct_nodes=data.correct_nodes,
        first_wrong=_joined(missing, given_up) or (str(deadlock) if deadlock else data.wrong),
        checksum=data.checksum,
        table_entries=up.entries,
        traffic=_traffic(ready, up, stats, usage),
        timeline=_timeline(bin_ps, testbed.delivered_bins()),
        link_usage=usage,
        faults=faults,
        recovery=Recovery(
            reaction.converged_ps,
            reaction.notices_sent,
            reaction.nodes_notified,
            reaction.entries_rewritten,
            reaction.notices_repeated,
            reaction.notices_unconfirmed,
            reaction.repath_requests,
        ),
        deadlock=deadlock,
        takeovers=control.takeovers,
        transit_frames=sum(
            _transit(ready, up, spare, usage) for takeover in control.takeovers for spare in takeover.spares
        ),
        stale_frames=sum(agent.junk.get("job", 0) for agent in stats),
        cut_off=missing,
        given_up=data.given_up,
        halted=data.halted,
        cross_rail_frames=cross_rail_frames(ready.fabric, up.client),
        cross_plane_frames=cross_plane_frames(ready.fabric, up.client),
        jobs=data.reports if ready.variant.jobs else (),
        reconfigurations=control.reconfigurations,
        reduction=reduce(add, reports_of_reduction) if reports_of_reduction else None,
        operations=data.operations,
        pool=data.pool,
        trace=None if log is None or not faults else log.trace(),
        counters=tuple(counters_of(ready, up.client)),
        registers=registers,
        unread_registers=unread_registers,
    )


@final
@dataclass(frozen=True, slots=True)
class _Data:
    """Result of the check of the data of all jobs or of a pool.

    `wrong` describes the first wrong data, `given_up` why a host gave up; both are empty if all is correct.
    `halted` is true if a member of a job has no result.
    """

    end_ps: int
    nodes: int
    correct_nodes: int
    wrong: str
    given_up: str
    checksum: int
    halted: bool = False
    reports: tuple[JobReport, ...] = ()
    operations: tuple[OperationReport, ...] = ()
    pool: PoolReport | None = None


def _of_jobs(jobs: Jobs, now_ps: int) -> _Data:
    graphs: list[OperationReport] = []
    reports = [report for job in jobs.all for report in _job_reports(job, now_ps, graphs)]
    ends = [end for job in jobs.all for end in job.ends]
    failures = [(job.plan.name, end.failed) for job in jobs.all for end in job.ends if end.failed]
    several = len(jobs.all) > 1
    return _Data(
        end_ps=max(report.begun_ps + report.completion_ps for report, _ in reports),
        nodes=sum(report.nodes for report, _ in reports),
        correct_nodes=sum(report.correct_nodes for report, _ in reports),
        wrong=next((first for _, first in reports if first), ""),
        given_up=next((f"job {name}: {why}" if several else str(why) for name, why in failures), ""),
        checksum=zlib.crc32(ends[0].result.tobytes()),
        halted=any(report.halted for report, _ in reports),
        reports=tuple(report for report, _ in reports),
        operations=tuple(graphs),
    )


def _of_pool(pool: PoolRun, now_ps: int) -> _Data:
    report = pool.report(now_ps)
    return _Data(
        end_ps=report.end_ps,
        nodes=report.borrowers,
        correct_nodes=report.correct,
        wrong=report.first_wrong,
        given_up=report.gave_up,
        checksum=report.checksum,
        pool=report,
    )


def _job_reports(job: Job, now_ps: int, operations: list[OperationReport]) -> list[tuple[JobReport, str]]:
    """Return the report of each job of a plan, and the first error in its data.

    Operations of traffic graphs are appended to `operations`.
    """
    graph = job.plan.graph
    if graph is None:
        return [_job_report(job, now_ps)]
    begun_ps = now_ps if job.begun_ps is None else job.begun_ps
    late_ps = begun_ps - job.plan.begin_ps
    reports = []
    ends = ends_of_jobs(graph, job.ends, job.inputs)
    for share, end in zip(job.plan.shares, ends, strict=True):
        operations += end.operations
        began_ps = share.begin_ps + late_ps
        unfinished = end.end_ps is None
        nodes = len(share.members)
        report = JobReport(
            name=share.name,
            begun_ps=began_ps,
            due_ps=share.begin_ps,
            completion_ps=(now_ps if end.end_ps is None else end.end_ps) - began_ps,
            bound_ps=share.bound_ps,
            nodes=nodes,
            correct_nodes=nodes - min(nodes, max(end.wrong_members, unfinished)),
            retransmitted=sum(agent.retransmitted for agent in job.stats),
            priority=LAST_PRIORITY - SERVICE_LEVELS.index(job.level),
            halted=unfinished,
        )
        first = end.first_wrong or (f"job {share.name} has not ended" if unfinished else "")
        reports.append((report, first))
    return reports


def _job_report(job: Job, now_ps: int) -> tuple[JobReport, str]:
    """Return the report of a job and the first error in its data, empty if the data is correct."""
    ends = job.ends
    logs = job.logs
    last = max(0, max(map(len, logs), default=0) - 1)
    inputs = [input_of(data, last) for data in job.inputs] if last else job.inputs
    sliced = job.plan.sliced
    assert isinstance(sliced, Sliced)
    results = [end.result for end in ends]
    if job.plan.trees is None:
        comparison = compare(results, inputs, sliced, job.threads)
    else:
        work = job.plan.trees.work
        errors = sum_errors(work, inputs)
        around = job.trees is not None and job.trees.ring is not None
        goals = sliced.schedule.goals
        comparison = compare_with_goals(results, inputs, goals, work.operation, errors, any_order=around)
    wrong, first = _wrong_iterations(job, sliced, logs, last)
    wrong_nodes = max(comparison.wrong_ranks, wrong)
    # An NPU that never finished counts as finished at the end of the run, which fails for its wrong data.
    end_ps = max(now_ps if end.finished_ps is None else end.finished_ps for end in ends)
    begun_ps = now_ps if job.begun_ps is None else job.begun_ps
    report = JobReport(
        name=job.plan.name,
        begun_ps=begun_ps,
        due_ps=job.plan.begin_ps,
        completion_ps=end_ps - begun_ps,
        bound_ps=job.plan.bound_ps,
        nodes=len(ends),
        correct_nodes=len(ends) - wrong_nodes,
        retransmitted=sum(agent.retransmitted for agent in job.stats),
        compute_ps=job.plan.rhythm.compute_ps if job.plan.rhythm else 0,
        priority=LAST_PRIORITY - SERVICE_LEVELS.index(job.level),
        iterations=tuple(
            JobIteration(
                min(own.begun_ps for own in members),
                min(own.send_ps for own in members),
                max(own.sent_ps for own in members),
                max(own.end_ps for own in members),
            )
            for members in zip(*logs, strict=False)
        ),
        halted=any(end.finished_ps is None for end in ends),
    )
    return report, first or comparison.first


def _wrong_iterations(
    job: Job, sliced: Sliced, logs: Sequence[Sequence[IterationReport]], last: int
) -> tuple[int, str]:
    """Return the number of members with a wrong array in an iteration before `last`, and the first error.

    Arrays are compared by CRC-32.
    """
    wrong: dict[int, str] = {}
    for number in range(last):
        right = checksums(sliced, [input_of(data, number) for data in job.inputs])
        for rank, (log, checksum) in enumerate(zip(logs, right, strict=True)):
            if len(log) <= number or log[number].checksum != checksum:
                wrong.setdefault(rank, f"rank {rank} in iteration {number}: its array differs from the sum")
    return len(wrong), next(iter(wrong.values()), "")


def _transit(ready: Prepared, up: Booted, node: str, usage: Mapping[str, tuple[LinkUsage, LinkUsage]]) -> int:
    """Return the number of frames forwarded by an NPU from link to link; 0 for a switch."""
    if ready.fabric.node(node).is_switch:
        return 0  # a switch only forwards frames, so this number would have no meaning
    received = 0
    for name, directions in usage.items():
        link = link_of(ready.fabric, name)
        if node in (link.a.node, link.b.node):
            way = directions[0 if node == link.b.node else 1]
            received += way.frames - way.lost_frames
    sent = SwitchReport.of(up.client.read_counter(node, "tx_by_port_vl").packets, 0, 0).sent
    return received - sent.get(HOST_PORT, 0) - sent.get(CPU_PORT, 0) - dropped(up.client, node)


def link_of(fabric: Fabric, name: str) -> Link:
    """Return the link called `name`, which may be a circuit created during the run."""
    circuit = circuit_of(fabric, name)
    return fabric.link(name) if circuit is None else circuit_link(fabric, *circuit)


def _waiting(control: ControlLoop) -> str:
    """Return a sentence about the jobs never begun for lack of circuits, or ''."""
    jobs = control.waiting
    return f"no circuits for {', '.join(jobs)} while other jobs ran" if jobs else ""


def _joined(*words: str) -> str:
    return ": ".join(filter(None, words))


def _timeline(bin_ps: int, delivered: Sequence[int]) -> Timeline:
    """Return the timeline, with bins merged to at most MAX_BINS."""
    width = -(-len(delivered) // MAX_BINS) or 1
    merged = tuple(sum(delivered[low : low + width]) for low in range(0, len(delivered), width))
    return Timeline(bin_ps * width, merged)


def _traffic(
    ready: Prepared,
    up: Booted,
    stats: Sequence[AgentStats],
    usage: Mapping[str, tuple[LinkUsage, LinkUsage]],
) -> Traffic:
    ways = [way for pair in usage.values() for way in pair]
    return Traffic(
        sent=sum(agent.sent for agent in stats),
        retransmitted=sum(agent.retransmitted for agent in stats),
        received=sum(agent.received for agent in stats),
        duplicates=sum(agent.duplicates for agent in stats),
        acknowledgements=sum(agent.acks_sent for agent in stats),
        lost_with_link=sum(way.lost_frames + way.refused_frames for way in ways)
        + up.testbed.frames_without_link,
        dropped_by_switch=_dropped_by_all(ready, up),
        marked=sum(agent.marked for agent in stats) if ready.transport.marks else None,
        queues=_queues(ready, up, stats, ways) if ready.transport.lossy else None,
    )


def _queues(ready: Prepared, up: Booted, stats: Sequence[AgentStats], ways: Sequence[LinkUsage]) -> Queues:
    """Return the counts of all queues of output ports, including ports to hosts."""
    every = [*ways, *(to_host for _, to_host in up.testbed.host_usage().values())]
    return Queues(
        dropped=sum(way.full_queue_frames for way in every),
        trimmed=sum(way.trimmed_frames for way in every),
        refused=sum(agent.trimmed for agent in stats),
        longest_bytes=max(way.max_queued_bytes for way in every),
        pauses=None if ready.variant.link.pfc is None else _pauses(up, ways),
    )


def _pauses(up: Booted, ways: Sequence[LinkUsage]) -> Pauses:
    """Return the counts of priority flow control on all links, including links to hosts."""
    every = [*ways, *(way for pair in up.testbed.host_usage().values() for way in pair)]
    return Pauses(
        frames=sum(way.pause_frames for way in every),
        overruns=sum(way.overrun_frames for way in every),
        ended=sum(way.watchdog_ends for way in every),
        dropped=sum(way.watchdog_frames for way in every),
    )


def _dropped_by_all(ready: Prepared, up: Booted) -> int:
    """Return the number of frames dropped by the P4 programs of all nodes."""
    counts = up.client.read_counters([node.name for node in ready.fabric.nodes], "drops")
    return sum(int(cells.packets.sum()) for cells in counts.values())


def dropped(client: P4RuntimeClient, node: str) -> int:
    """Return the number of frames dropped by the P4 program of a node."""
    return int(client.read_counter(node, "drops").packets.sum())
