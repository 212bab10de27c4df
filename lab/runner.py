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
from emulation.control_loop import ControlLoop, HelloTimes
from emulation.errors import EmulationError
from emulation.faults import Faults
from emulation.fidelity import Fidelity, judge
from emulation.testbed import LinkUsage, SwitchSeen, Testbed
from emulation.traffic.agent import Agent
from emulation.traffic.data import Array, compare, make_data
from emulation.traffic.stats import AgentStats
from emulation.traffic.wire import DATA_HEADER_BYTES
from lab.boot import Booted, booted
from lab.metrics import Subject
from lab.observation import FaultSeen, Observation, Recovery, Timeline, Traffic
from lab.prepare import Prepared
from lab.scenario import ELEMENT_BYTES
from lab.testbeds import Embedded, TestbedChoice

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
        control = _control(ready, up)
        inputs = [_data(ready, rank, seed) for rank in range(len(ready.members))]
        _attach(ready, testbed, inputs)
        Faults(testbed).schedule(ready.faults)
        for link, folder in captures.items():
            testbed.record(link, folder / f"{variant.name}-{link}.pcap")
        expected = _expected_bytes(ready)
        progress(variant.name, "running", 0.0)
        control.start(lambda: testbed.busy)
        for delivered in _slices(ready, testbed, bin_ps):
            progress(variant.name, "running", min(1.0, delivered / expected))
        watch.lap("run")
        progress(variant.name, "checking the data", 1.0)
        # First: it finds out which frames went to links that were down.
        fidelity = None if testbed.virtual else _fidelity(ready, up)
        seen = _seen(ready, up, inputs, control, bin_ps)
        watch.lap("check")
    watch.lap("stop")
    watch.seconds.update({f"boot: {stage}": took for stage, took in testbed.seconds.items()})
    return seen, fidelity


def _control(ready: Prepared, up: Booted) -> ControlLoop:
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
    )


def _data(ready: Prepared, rank: int, seed: int) -> Array:
    return make_data(rank, ready.variant.collective.elements, ready.variant.collective.dtype, seed)


def _attach(ready: Prepared, testbed: Testbed, inputs: Sequence[Array]) -> None:
    addresses = [ready.fabric.node(name).address for name in ready.members]
    for rank, (name, data) in enumerate(zip(ready.members, inputs, strict=True)):
        testbed.attach(name, Agent(rank, ready.sliced, data, addresses, parameters=ready.transport))


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
    ready: Prepared, up: Booted, inputs: Sequence[Array], control: ControlLoop, bin_ps: int
) -> Observation:
    testbed = up.testbed
    ends = [testbed.outcome(name) for name in ready.members]
    comparison = compare([end.result for end in ends], inputs, ready.sliced)
    given_up = next((str(end.failed) for end in ends if end.failed), "")
    done = control.seen
    usage = testbed.link_usage()
    return Observation(
        # An NPU that never finished counts until the end of the run; its data is wrong, and the run fails.
        completion_ps=max(testbed.now_ps if end.finished_ps is None else end.finished_ps for end in ends),
        nodes=len(ends),
        right_nodes=len(ends) - comparison.wrong_ranks,
        first_wrong=given_up or comparison.first,
        checksum=zlib.crc32(ends[0].result.tobytes()),
        table_entries=up.entries,
        traffic=_traffic(ready, up, [end.stats for end in ends], usage),
        timeline=_timeline(bin_ps, testbed.delivered_bins()),
        link_bytes={link: (there.bytes, back.bytes) for link, (there, back) in usage.items()},
        faults=tuple(map(FaultSeen.of, ready.faults)),
        recovery=Recovery(done.converged_ps, done.notices_sent, done.nodes_told, done.entries_rewritten),
    )


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
