# SPDX-License-Identifier: Apache-2.0
"""Runs a scenario: every variant on a testbed of its own, one after the other."""

from __future__ import annotations

import time
import zlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol, final

from controller.p4runtime import P4RuntimeClient
from controller.plan import CPU_PORT
from controller.reach import cut_off
from emulation.control_loop import ControlLoop, HelloTimes
from emulation.errors import CutOffError, DeadlockedError, EmulationError
from emulation.faults import Faults
from emulation.fidelity import Fidelity, judge
from emulation.takeover import SparePolicy
from emulation.testbed import LinkUsage, SwitchSeen, Testbed
from emulation.traffic.data import compare
from emulation.traffic.stats import AgentStats
from emulation.traffic.wire import DATA_HEADER_BYTES
from lab.boot import Booted, booted
from lab.job import Job, demand_of
from lab.metrics import Subject
from lab.observation import Deadlock, FaultSeen, Observation, Recovery, Timeline, Traffic
from lab.prepare import Prepared
from lab.scenario import ELEMENT_BYTES
from lab.testbeds import Embedded, TestbedChoice
from topologies import HOST_PORT, NodeKind

__all__ = ["Progress", "Run", "observe", "run"]

# A timeline of a run that keeps to its bound has about this many bins.
BINS = 48
MOST_BINS = 480

# In real time, how often a run that goes on is looked at, in real seconds, and how long nothing may come.
LOOK_SECONDS = 0.2
STALL_SECONDS = 60.0

_EMBEDDED = Embedded()
_NONE: Mapping[str, Path] = {}


class Progress(Protocol):
    """Told what is being done, for which variant, and how much of it (0 to 1)."""

    def __call__(self, variant: str, stage: str, share: float, /) -> None: ...


@final
@dataclass(frozen=True, slots=True)
class Run:
    """What was seen of every variant, and the wall-clock seconds it took, which no result may depend on."""

    subjects: Mapping[str, Subject]
    seconds: Mapping[str, Mapping[str, float]]


@final
@dataclass(slots=True)
class _Stopwatch:
    seconds: dict[str, float] = field(default_factory=dict)
    _since: float = field(default_factory=time.perf_counter)

    def lap(self, stage: str) -> None:
        now = time.perf_counter()
        self.seconds[stage] = round(now - self._since, 3)
        self._since = now


def silent(variant: str, stage: str, share: float) -> None:
    """No progress."""


def run(
    prepared: Sequence[Prepared],
    seed: int,
    progress: Progress = silent,
    choice: TestbedChoice = _EMBEDDED,
    captures: Mapping[str, Path] = _NONE,
) -> Run:
    """`captures` names links whose frames are to be written, each into a folder, as VARIANT-LINK.pcap."""
    choice.check(prepared, captures=bool(captures))
    subjects: dict[str, Subject] = {}
    seconds: dict[str, Mapping[str, float]] = {}
    for ready in prepared:
        watch = _Stopwatch()
        seen, fidelity = _observe(ready, seed, progress, watch, choice, captures)
        rates = {link.name: link.rate_bps for link in ready.fabric.links}
        subjects[ready.variant.name] = Subject(seen, ready.bound_ps, rates, fidelity)
        seconds[ready.variant.name] = watch.seconds
    return Run(subjects, seconds)


def observe(ready: Prepared, seed: int) -> Observation:
    """Run one variant on the embedded testbed."""
    return _observe(ready, seed, silent, _Stopwatch(), _EMBEDDED, _NONE)[0]


def _observe(
    ready: Prepared,
    seed: int,
    progress: Progress,
    watch: _Stopwatch,
    choice: TestbedChoice,
    captures: Mapping[str, Path],
) -> tuple[Observation, Fidelity | None]:
    """This is the one place where a run is put together."""
    variant = ready.variant
    bin_ps = max(1, ready.bound_ps // BINS)
    testbed = choice.make(ready, bin_ps, seed)

    def installing(done: int, total: int) -> None:
        progress(variant.name, "filling tables", done / total)

    progress(variant.name, "starting", 0.0)
    with booted(testbed, ready.plan, installing) as up:
        watch.lap("boot")
        job = Job(ready, testbed, seed)
        control = _control(ready, up, job)
        job.begin()
        Faults(testbed).schedule(ready.faults)
        for link, folder in captures.items():
            testbed.record(link, folder / f"{variant.name}-{link}.pcap")
        expected = _expected_bytes(ready)
        progress(variant.name, "running", 0.0)
        control.start(lambda: testbed.busy)
        deadlock, stopped_by = None, ""
        try:
            for delivered in _slices(ready, testbed, bin_ps):
                progress(variant.name, "running", min(1.0, delivered / expected))
        except DeadlockedError as stopped:
            deadlock = Deadlock(stopped.at_ps, stopped.cycle)
        except CutOffError as stopped:
            stopped_by = str(stopped)
            testbed.give_up()
        watch.lap("run")
        progress(variant.name, "checking the data", 1.0)
        # First: it finds out which frames went to links that were down.
        fidelity = None if testbed.virtual else _fidelity(ready, up)
        seen = _seen(ready, up, job, control, bin_ps, deadlock, stopped_by)
        watch.lap("check")
    watch.lap("stop")
    watch.seconds.update({f"boot: {stage}": took for stage, took in testbed.seconds.items()})
    return seen, fidelity


def _control(ready: Prepared, up: Booted, job: Job) -> ControlLoop:
    link, control = ready.variant.link, ready.variant.control
    hellos = None
    if control.hello_us is not None:
        hellos = HelloTimes(round(control.hello_us * 10**6), control.hello_multiplier)
    return ControlLoop(
        up.testbed,
        up.client,
        ready.plan,
        mode=ready.variant.routing.notification,
        detect_ps=round(link.detect_us * 10**6),
        processing_ps=round(control.processing_us * 10**6),
        hellos=hellos,
        spares=_spares(ready, up.testbed, job),
    )


def _spares(ready: Prepared, testbed: Testbed, job: Job) -> SparePolicy | None:
    """None where there are no spares: an NPU that is gone may then come back, and its peers wait for it."""
    if not any(node.kind is NodeKind.SPARE for node in ready.fabric.nodes):
        return None
    known = ready.variant.routing.demand == "known"
    return SparePolicy(
        migrate_ps=round(ready.variant.control.migrate_us * 10**6),
        active=lambda: testbed.busy,
        resume=job.resume,
        demand=demand_of(ready) if known else None,
    )


def _slices(ready: Prepared, testbed: Testbed, bin_ps: int) -> Iterator[int]:
    """Let time pass until nothing is left to happen; now and then the bytes of data frames that have arrived.

    In virtual time, the further the time, the longer the slices: a run may wait a thousand bins for a
    retransmission.
    """
    until = bin_ps
    stall = _Stall(ready, testbed)
    while not testbed.run(until):
        delivered = testbed.delivered_bytes
        yield delivered
        if testbed.virtual:
            until += max(bin_ps, until // 20)
        else:
            stall.look(delivered)
            until = testbed.now_ps + round(LOOK_SECONDS * 10**12 / testbed.dilation)


@final
class _Stall:
    """Ends a run in real time that will not end by itself, or not today."""

    def __init__(self, ready: Prepared, testbed: Testbed) -> None:
        # Frames that were lost may wait for several timeouts, each twice as long as the one before.
        patience = 64 * ready.transport.initial_rto_ps * testbed.dilation / 10**12
        self._seconds = STALL_SECONDS + patience
        self._delivered = -1
        self._since = 0.0

    def look(self, delivered: int) -> None:
        now = time.monotonic()
        if delivered != self._delivered:
            self._delivered, self._since = delivered, now
        elif now - self._since > self._seconds:
            raise EmulationError(
                f"no data has come to any NPU for {self._seconds:.0f} s",
                remedy="take a smaller fabric or array, or look with `tcpdump` where frames end",
            )


def _expected_bytes(ready: Prepared) -> int:
    """Of all data frames when each goes once and all are full."""
    payload = sum(transfer.length for transfer in ready.sliced.schedule.transfers) * ELEMENT_BYTES
    return payload + payload * DATA_HEADER_BYTES // (ready.sliced.slice_elements * ELEMENT_BYTES)


def _seen(
    ready: Prepared,
    up: Booted,
    job: Job,
    control: ControlLoop,
    bin_ps: int,
    deadlock: Deadlock | None,
    stopped_by: str,
) -> Observation:
    testbed = up.testbed
    ends = job.ends
    stats = job.stats
    comparison = compare([end.result for end in ends], job.inputs, ready.sliced)
    given_up = next((str(end.failed) for end in ends if end.failed), "")
    missing = stopped_by or (_cut_off(ready, control, job) if given_up else "")
    done = control.seen
    usage = testbed.link_usage()
    return Observation(
        # An NPU that never finished counts until the end of the run; its data is wrong, and the run fails.
        completion_ps=max(testbed.now_ps if end.finished_ps is None else end.finished_ps for end in ends),
        nodes=len(ends),
        right_nodes=len(ends) - comparison.wrong_ranks,
        first_wrong=_joined(missing, given_up) or (str(deadlock) if deadlock else comparison.first),
        checksum=zlib.crc32(ends[0].result.tobytes()),
        table_entries=up.entries,
        traffic=_traffic(ready, up, stats, usage),
        timeline=_timeline(bin_ps, testbed.delivered_bins()),
        link_bytes={link: (there.bytes, back.bytes) for link, (there, back) in usage.items()},
        faults=tuple(map(FaultSeen.of, ready.faults)),
        recovery=Recovery(done.converged_ps, done.notices_sent, done.nodes_told, done.entries_rewritten),
        deadlock=deadlock,
        takeovers=control.taken_over,
        transit_frames=sum(_transit(ready, up, one.spare, usage) for one in control.taken_over),
        stale_frames=sum(one.junk.get("job", 0) for one in stats),
        cut_off=missing,
    )


def _transit(ready: Prepared, up: Booted, node: str, usage: Mapping[str, tuple[LinkUsage, LinkUsage]]) -> int:
    """Frames that came to a node by its links and that it did neither keep nor refuse."""
    come = 0
    for link in ready.fabric.links:
        if node in (link.a.node, link.b.node):
            way = usage[link.name][0 if node == link.b.node else 1]
            come += way.frames - way.lost_frames
    sent = SwitchSeen.of(up.client.read_counter(node, "tx_by_port_vl"), 0, 0).sent
    return come - sent.get(HOST_PORT, 0) - sent.get(CPU_PORT, 0) - _dropped(up.client, node)


def _cut_off(ready: Prepared, control: ControlLoop, job: Job) -> str:
    """What is out of reach of agents that gave up, by what the controllers know; empty when nothing is."""
    holder = dict(zip(ready.members, job.holders, strict=True))
    pairs = [(holder[source], holder[far]) for source, far in demand_of(ready)]
    return cut_off(control.plan, control.down, pairs)


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
        dropped_by_switch=sum(_dropped(up.client, node.name) for node in ready.fabric.nodes),
    )


def _dropped(client: P4RuntimeClient, node: str) -> int:
    return sum(packets for packets, _ in client.read_counter(node, "drops").values())


def _fidelity(ready: Prepared, up: Booted) -> Fidelity | None:
    """Whether to believe the times of a run in real time."""
    seen = {
        node.name: SwitchSeen.of(
            up.client.read_counter(node.name, "tx_by_port_vl"),
            _dropped(up.client, node.name),
            up.client.packets_out[node.name],
        )
        for node in ready.fabric.nodes
    }
    steps = 1 + max((transfer.step for transfer in ready.sliced.schedule.transfers), default=0)
    return judge(up.testbed.measured(seen, steps=steps))
