# SPDX-License-Identifier: Apache-2.0
"""What a run that has ended leaves to be seen: by its agents, links, switches and controllers."""

from __future__ import annotations

import zlib
from collections.abc import Mapping, Sequence

from controller.p4runtime.client import P4RuntimeClient
from controller.plan import CPU_PORT
from controller.routing.unreachable import describe_unreachable
from emulation.control.loop import ControlLoop
from emulation.testbed import LinkUsage, SwitchReport
from emulation.traffic.frames.layers import SERVICE_LEVELS
from emulation.traffic.host.iterations import IterationReport, input_of
from emulation.traffic.host.stats import AgentStats
from emulation.traffic.schedule.data import compare, truth
from lab.run.boot import Booted
from lab.run.crossings import cross_plane_frames, cross_rail_frames
from lab.run.job import Job, Jobs
from lab.run.observation import (
    Deadlock,
    FaultReport,
    JobIteration,
    JobReport,
    Observation,
    Recovery,
    Timeline,
    Traffic,
)
from lab.run.prepare import Prepared
from lab.scenario.traffic import LAST_PRIORITY
from topologies import HOST_PORT, Fabric, Link
from topologies.transform.circuits import circuit_link, circuit_of

__all__ = ["collect", "dropped", "link_of"]

# A timeline of more bins than these is merged: they could not be seen.
MOST_BINS = 480


def collect(
    ready: Prepared,
    up: Booted,
    jobs: Jobs,
    control: ControlLoop,
    bin_ps: int,
    deadlock: Deadlock | None,
    stopped_by: str,
) -> Observation:
    testbed = up.testbed
    stats = jobs.stats
    each = [_job_report(job, testbed.now_ps) for job in jobs.all]
    ends = [end for job in jobs.all for end in job.ends]
    wrong = next((first for _, first in each if first), "")
    given_up = next((str(end.failed) for end in ends if end.failed), "")
    missing = stopped_by or (_cut_off(ready, control, jobs) if given_up else "") or _waiting(control)
    done = control.report
    # Circuits that a fault or a takeover was about to make, and that never stood, are no links.
    standing = {link.name for link in ready.fabric.links}
    usage = {
        name: both
        for name, both in testbed.link_usage().items()
        if name in standing or any(way.frames or way.refused_frames for way in both)
    }
    return Observation(
        completion_ps=max(one.begun_ps + one.completion_ps for one, _ in each),
        nodes=len(ends),
        correct_nodes=sum(one.correct_nodes for one, _ in each),
        first_wrong=_joined(missing, given_up) or (str(deadlock) if deadlock else wrong),
        checksum=zlib.crc32(ends[0].result.tobytes()),
        table_entries=up.entries,
        traffic=_traffic(ready, up, stats, usage),
        timeline=_timeline(bin_ps, testbed.delivered_bins()),
        link_usage=usage,
        faults=tuple(map(FaultReport.of, ready.faults)),
        recovery=Recovery(done.converged_ps, done.notices_sent, done.nodes_notified, done.entries_rewritten),
        deadlock=deadlock,
        takeovers=control.takeovers,
        transit_frames=sum(
            _transit(ready, up, spare, usage) for one in control.takeovers for spare in one.spares
        ),
        stale_frames=sum(one.junk.get("job", 0) for one in stats),
        cut_off=missing,
        cross_rail_frames=cross_rail_frames(ready.fabric, up.client),
        cross_plane_frames=cross_plane_frames(ready.fabric, up.client),
        jobs=tuple(one for one, _ in each) if ready.variant.jobs else (),
        rewired=control.rewirings,
    )


def _job_report(job: Job, now_ps: int) -> tuple[JobReport, str]:
    """What became of a job, and the first thing wrong with its data."""
    ends = job.ends
    logs = job.logs
    last = max(0, max(map(len, logs), default=0) - 1)
    comparison = compare(
        [end.result for end in ends], [input_of(data, last) for data in job.inputs], job.plan.sliced
    )
    wrong, first = _wrong_before(job, logs, last)
    wrong_nodes = max(comparison.wrong_ranks, wrong)
    # An NPU that never finished counts until the end of the run; its data is wrong, and the run fails.
    end_ps = max(now_ps if end.finished_ps is None else end.finished_ps for end in ends)
    begun_ps = now_ps if job.begun_ps is None else job.begun_ps
    seen = JobReport(
        name=job.plan.name,
        begun_ps=begun_ps,
        completion_ps=end_ps - begun_ps,
        bound_ps=job.plan.bound_ps,
        nodes=len(ends),
        correct_nodes=len(ends) - wrong_nodes,
        retransmitted=sum(one.retransmitted for one in job.stats),
        compute_ps=job.plan.rhythm.compute_ps if job.plan.rhythm else 0,
        priority=LAST_PRIORITY - SERVICE_LEVELS.index(job.level),
        iterations=tuple(
            JobIteration(
                min(one.begun_ps for one in each),
                min(one.send_ps for one in each),
                max(one.sent_ps for one in each),
                max(one.end_ps for one in each),
            )
            for each in zip(*logs, strict=False)
        ),
    )
    return seen, first or comparison.first


def _wrong_before(job: Job, logs: Sequence[Sequence[IterationReport]], last: int) -> tuple[int, str]:
    """How many members ever had a wrong array in an iteration before the last, by CRC-32; and the first."""
    wrong: dict[int, str] = {}
    for number in range(last):
        right = truth(job.plan.sliced, [input_of(data, number) for data in job.inputs])
        for rank, (log, array) in enumerate(zip(logs, right, strict=True)):
            if len(log) <= number or log[number].checksum != zlib.crc32(array.tobytes()):
                wrong.setdefault(rank, f"rank {rank} in iteration {number}: not the sum that it should have")
    return len(wrong), next(iter(wrong.values()), "")


def _transit(ready: Prepared, up: Booted, node: str, usage: Mapping[str, tuple[LinkUsage, LinkUsage]]) -> int:
    """Frames that came to a node by its links and that it did neither keep nor refuse."""
    if ready.fabric.node(node).tier:
        return 0  # it is there for nothing else
    come = 0
    for name, both in usage.items():
        link = link_of(ready.fabric, name)
        if node in (link.a.node, link.b.node):
            way = both[0 if node == link.b.node else 1]
            come += way.frames - way.lost_frames
    sent = SwitchReport.of(up.client.read_counter(node, "tx_by_port_vl"), 0, 0).sent
    return come - sent.get(HOST_PORT, 0) - sent.get(CPU_PORT, 0) - dropped(up.client, node)


def link_of(fabric: Fabric, name: str) -> Link:
    """One of that name, be it a circuit that was made later."""
    circuit = circuit_of(fabric, name)
    return fabric.link(name) if circuit is None else circuit_link(fabric, *circuit)


def _cut_off(ready: Prepared, control: ControlLoop, jobs: Jobs) -> str:
    """What is out of reach of agents that gave up, by what the controllers know; empty when nothing is."""
    holder = dict(zip(ready.members, jobs.holders, strict=True))
    pairs = [(holder[source], holder[far]) for source, far in ready.demand]
    return describe_unreachable(control.plan, control.down, pairs)


def _waiting(control: ControlLoop) -> str:
    """Jobs that never began."""
    jobs = control.waiting
    return f"no circuits for {', '.join(jobs)} while other jobs were there" if jobs else ""


def _joined(*words: str) -> str:
    return ": ".join(filter(None, words))


def _timeline(bin_ps: int, delivered: Sequence[int]) -> Timeline:
    """Of no more bins than can be seen."""
    width = -(-len(delivered) // MOST_BINS) or 1
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
        sent=sum(one.sent for one in stats),
        retransmitted=sum(one.retransmitted for one in stats),
        received=sum(one.received for one in stats),
        duplicates=sum(one.duplicates for one in stats),
        acknowledgements=sum(one.acks_sent for one in stats),
        lost_with_link=sum(way.lost_frames + way.refused_frames for way in ways)
        + up.testbed.frames_without_link,
        dropped_by_switch=sum(dropped(up.client, node.name) for node in ready.fabric.nodes),
    )


def dropped(client: P4RuntimeClient, node: str) -> int:
    return sum(packets for packets, _ in client.read_counter(node, "drops").values())
