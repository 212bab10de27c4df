"""Runs a scenario: every variant on a testbed of its own, one after the other."""

from __future__ import annotations

import time
import zlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol, final

from controller.p4runtime import P4RuntimeClient
from emulation.control_loop import ControlLoop
from emulation.embedded import EmbeddedTestbed
from emulation.traffic.agent import Agent
from emulation.traffic.data import Array, compare, make_data
from emulation.traffic.wire import DATA_HEADER_BYTES
from lab.boot import Booted, booted
from lab.metrics import Subject
from lab.observation import FaultSeen, Observation, Recovery, Timeline, Traffic
from lab.prepare import Prepared
from lab.scenario import ELEMENT_BYTES

__all__ = ["Progress", "Run", "observe", "run"]

# A timeline of a run that keeps to its bound has about this many bins.
BINS = 48
MOST_BINS = 480


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


def run(prepared: Sequence[Prepared], seed: int, progress: Progress = silent) -> Run:
    subjects: dict[str, Subject] = {}
    seconds: dict[str, Mapping[str, float]] = {}
    for ready in prepared:
        watch = _Stopwatch()
        seen = observe(ready, seed, progress, watch)
        rates = {link.name: link.rate_bps for link in ready.fabric.links}
        subjects[ready.variant.name] = Subject(seen, ready.bound_ps, rates)
        seconds[ready.variant.name] = watch.seconds
    return Run(subjects, seconds)


def observe(
    ready: Prepared, seed: int, progress: Progress = silent, watch: _Stopwatch | None = None
) -> Observation:
    """Run one variant on the embedded testbed. This is the one place where a run is put together."""
    watch = watch or _Stopwatch()
    variant = ready.variant
    bin_ps = max(1, ready.bound_ps // BINS)
    link = variant.link
    testbed = EmbeddedTestbed(
        ready.fabric, credit_bytes=link.credit_bytes, scheduler=link.scheduler, bin_ps=bin_ps
    )

    def installing(done: int, total: int) -> None:
        progress(variant.name, "filling tables", done / total)

    progress(variant.name, "starting", 0.0)
    with booted(testbed, ready.plan, installing) as up:
        watch.lap("boot")
        control = ControlLoop(
            testbed,
            up.client,
            ready.plan,
            mode=variant.routing.notification,
            detect_ps=round(link.detect_us * 10**6),
            processing_ps=round(variant.control.processing_us * 10**6),
        )
        inputs = [_data(ready, rank, seed) for rank in range(len(ready.fabric.nodes))]
        agents = _attach(ready, testbed, inputs)
        faults = [FaultSeen(round(fault.at_us * 10**6), fault.link, fault.event) for fault in variant.faults]
        for fault in faults:
            testbed.at(fault.at_ps, lambda fault=fault: testbed.set_link(fault.link, fault.event == "up"))
        expected = _expected_bytes(ready)
        progress(variant.name, "running", 0.0)
        for delivered in _slices(testbed, bin_ps):
            progress(variant.name, "running", min(1.0, delivered / expected))
        watch.lap("run")
        progress(variant.name, "checking the data", 1.0)
        seen = _seen(ready, up, agents, inputs, tuple(faults), control, bin_ps)
        watch.lap("check")
    return seen


def _data(ready: Prepared, rank: int, seed: int) -> Array:
    return make_data(rank, ready.variant.collective.elements, ready.variant.collective.dtype, seed)


def _attach(ready: Prepared, testbed: EmbeddedTestbed, inputs: Sequence[Array]) -> list[Agent]:
    addresses = [node.address for node in ready.fabric.nodes]
    agents = [
        Agent(rank, ready.sliced, data, addresses, parameters=ready.transport)
        for rank, data in enumerate(inputs)
    ]
    for node, agent in zip(ready.fabric.nodes, agents, strict=True):
        testbed.attach(node.name, agent)
    return agents


def _slices(testbed: EmbeddedTestbed, bin_ps: int) -> Iterator[int]:
    """Let time pass until nothing is left to happen; now and then the bytes of data frames that have arrived.

    The further the time, the longer the slices: a run may wait a thousand bins for a retransmission.
    """
    until = bin_ps
    while not testbed.run(until):
        until += max(bin_ps, until // 20)
        yield sum(testbed.delivered_bins())


def _expected_bytes(ready: Prepared) -> int:
    """Of all data frames when each goes once and all are full."""
    payload = sum(transfer.length for transfer in ready.sliced.schedule.transfers) * ELEMENT_BYTES
    return payload + payload * DATA_HEADER_BYTES // (ready.sliced.slice_elements * ELEMENT_BYTES)


def _seen(
    ready: Prepared,
    up: Booted,
    agents: Sequence[Agent],
    inputs: Sequence[Array],
    faults: tuple[FaultSeen, ...],
    control: ControlLoop,
    bin_ps: int,
) -> Observation:
    comparison = compare([agent.result for agent in agents], inputs, ready.sliced)
    given_up = next((str(agent.failed) for agent in agents if agent.failed), "")
    done = control.seen
    return Observation(
        # An NPU that never finished counts until the end of the run; its data is wrong, and the run fails.
        completion_ps=max(
            up.testbed.now_ps if agent.finished_ps is None else agent.finished_ps for agent in agents
        ),
        nodes=len(agents),
        right_nodes=len(agents) - comparison.wrong_ranks,
        first_wrong=given_up or comparison.first,
        checksum=zlib.crc32(agents[0].result.tobytes()),
        table_entries=up.entries,
        traffic=_traffic(ready, up, agents),
        timeline=_timeline(bin_ps, up.testbed.delivered_bins()),
        link_bytes={
            link: (there.bytes, back.bytes) for link, (there, back) in up.testbed.link_usage().items()
        },
        faults=faults,
        recovery=Recovery(done.converged_ps, done.notices_sent, done.nodes_told, done.entries_rewritten),
    )


def _timeline(bin_ps: int, delivered: Sequence[int]) -> Timeline:
    """Of no more bins than can be seen."""
    width = -(-len(delivered) // MOST_BINS) or 1
    merged = tuple(sum(delivered[low : low + width]) for low in range(0, len(delivered), width))
    return Timeline(bin_ps * width, merged)


def _traffic(ready: Prepared, up: Booted, agents: Sequence[Agent]) -> Traffic:
    stats = [agent.stats for agent in agents]
    usage = [way for pair in up.testbed.link_usage().values() for way in pair]
    return Traffic(
        sent=sum(one.sent for one in stats),
        retransmitted=sum(one.retransmitted for one in stats),
        received=sum(one.received for one in stats),
        duplicates=sum(one.duplicates for one in stats),
        acknowledgements=sum(one.acks_sent for one in stats),
        lost_with_link=sum(way.lost_frames + way.refused_frames for way in usage)
        + up.testbed.frames_without_link,
        dropped_by_switch=sum(_dropped(up.client, node.name) for node in ready.fabric.nodes),
    )


def _dropped(client: P4RuntimeClient, node: str) -> int:
    return sum(packets for packets, _ in client.read_counter(node, "drops").values())
