# SPDX-License-Identifier: Apache-2.0
"""Run the variants of a scenario one after the other, each on a new testbed."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Protocol, final

from controller.garbage import earlier_objects_left_out
from emulation.control.bonding import LacpTimes
from emulation.control.hellos import HelloTimes
from emulation.control.loop import ControlLoop
from emulation.control.reconfiguration import ReconfigurationPolicy
from emulation.control.takeover import SparePolicy
from emulation.embedded.testbed import EmbeddedTestbed
from emulation.errors import CutOffError, DeadlockedError, EmulationError, ThreadsError
from emulation.faults import Faults
from emulation.fidelity import Fidelity, judge
from emulation.testbed import SwitchReport, Testbed
from emulation.traffic.frames.wire import DATA_HEADER_BYTES
from harness.run.boot import Booted, booted
from harness.run.in_switches.running import TreeSlots
from harness.run.jobs.running import Before, Jobs
from harness.run.jobs.scheduling import Scheduling
from harness.run.memory_pool.running import PoolRun
from harness.run.observation.collect import collect, dropped, link_of
from harness.run.observation.fault_log import FaultLog
from harness.run.observation.queue_recorder import recorder_for
from harness.run.observation.traffic_matrix import traffic_matrix
from harness.run.observation.values import Deadlock, Observation
from harness.run.observation.variant_run import VariantRun
from harness.run.planning.serdes_lanes import highest_rates, schedule_moves
from harness.run.prepare import Prepared
from harness.run.resume_store import ResumeStore
from harness.run.testbeds import Embedded, TestbedChoice, in_one_partition
from harness.run.watch import WatchedRun, Watcher
from harness.run.watchdog import Watchdog
from harness.scenario.schema import ELEMENT_BYTES, Fault
from topologies.transform.spares import has_spares

__all__ = ["Pace", "Progress", "Run", "control_loop", "observe", "run"]

# Timeline bins from 0 to the lower bound of a run's time; a slower run has more bins of the same width.
BINS = 48

# For runs in real time: real seconds between two checks of progress, and the longest time without progress.
LOOK_SECONDS = 0.2
STALL_SECONDS = 60.0

_EMBEDDED = Embedded()
_WHOLE = in_one_partition(_EMBEDDED)
_NONE: Mapping[str, Path] = {}


@final
@dataclass(frozen=True, slots=True)
class Pace:
    """State of a running variant: number of passes of frames through switches, and virtual time."""

    hops: int
    now_ps: int


class Progress(Protocol):
    """Callback that receives a variant, the stage of its run, and the completed share of the stage, 0 to 1.

    `pace` is given in the stage `running` of a run in virtual time.
    """

    def __call__(self, variant: str, stage: str, share: float, pace: Pace | None = None, /) -> None: ...


@final
@dataclass(frozen=True, slots=True)
class Run:
    """Outcome of a run of a scenario, all its variants included.

    Attributes:
        runs: Run of each variant, by name.
        seconds: Wall-clock seconds of each stage, by variant; no result depends on them.
        struck: Faults applied by hand, by variant; only variants with such faults.
    """

    runs: Mapping[str, VariantRun]
    seconds: Mapping[str, Mapping[str, float]]
    struck: Mapping[str, tuple[Fault, ...]] = field(default_factory=dict)


@final
@dataclass(slots=True)
class _Stopwatch:
    seconds: dict[str, float] = field(default_factory=dict)
    _since: float = field(default_factory=time.perf_counter)

    def lap(self, stage: str) -> None:
        now = time.perf_counter()
        self.seconds[stage] = round(now - self._since, 3)
        self._since = now


def silent(variant: str, stage: str, share: float, pace: Pace | None = None) -> None:
    """Do nothing; this is the default Progress callback."""


def run(
    prepared: Sequence[Prepared],
    seed: int,
    progress: Progress = silent,
    choice: TestbedChoice = _EMBEDDED,
    captures: Mapping[str, Path] = _NONE,
    store: ResumeStore | None = None,
    watcher: Watcher | None = None,
) -> Run:
    """Run all variants, one after the other.

    Args:
        prepared: Variants, in order.
        seed: Seed of data and random choices.
        progress: Receives the progress of each variant.
        choice: Testbed of all variants.
        captures: Links whose frames are captured, with the folder for VARIANT-LINK.pcap.
        store: Provides the finished variants of an interrupted run, and receives newly finished variants.
        watcher: Watches all variants; `store` is then ignored, so that every variant runs.
    """
    if watcher is not None:
        store = None
    if watcher is not None or captures:
        choice = in_one_partition(choice)  # observers must see the events of all switches in order
    choice.check(prepared, captures=bool(captures))
    runs: dict[str, VariantRun] = {}
    seconds: dict[str, Mapping[str, float]] = {}
    struck: dict[str, tuple[Fault, ...]] = {}
    for ready in prepared:
        name = ready.variant.name
        if store is not None and (before := store.get(name)) is not None:
            runs[name], seconds[name] = before
            progress(name, "read back", 1.0)
            continue
        watch = _Stopwatch()
        with earlier_objects_left_out():
            try:
                observed = _observe(ready, seed, progress, watch, choice, captures, watcher=watcher)
            except ThreadsError:
                # A run in one partition gives the result, or the error, that the threads could not give.
                watch = _Stopwatch()
                observed = _observe(ready, seed, progress, watch, in_one_partition(choice), captures)
        seen, fidelity, by_hand = observed
        if by_hand:
            struck[name] = by_hand
        rates = {link: link_of(ready.fabric, link).rate_bps for link in seen.link_usage}
        rates = highest_rates(rates, ready.lane_moves)
        schedules = [job.sliced.schedule for job in ready.jobs]
        sent = traffic_matrix(schedules, ready.fabric, ready.members) if schedules else None
        until_ps = round((ready.variant.horizon_us or 0) * 10**6)
        bounds = {name: named for job in ready.jobs for name, named in job.bounds_by_job.items()}
        runs[name] = VariantRun(seen, ready.bound_ps, rates, fidelity, sent, until_ps, bounds)
        seconds[name] = watch.seconds
        if store is not None and len(prepared) > 1:
            store.put(name, runs[name], seconds[name])
    return Run(runs, seconds, struck)


def observe(ready: Prepared, seed: int, look: Callable[[Testbed], None] | None = None) -> Observation:
    """Run one variant on the embedded testbed; `look` may add callbacks to the testbed before time begins."""
    return _observe(ready, seed, silent, _Stopwatch(), _WHOLE, _NONE, look)[0]


def _observe(
    ready: Prepared,
    seed: int,
    progress: Progress,
    watch: _Stopwatch,
    choice: TestbedChoice,
    captures: Mapping[str, Path],
    look: Callable[[Testbed], None] | None = None,
    watcher: Watcher | None = None,
) -> tuple[Observation, Fidelity | None, tuple[Fault, ...]]:
    """Boot a testbed, run a variant on it, and return its observation, fidelity and faults by hand."""
    variant = ready.variant
    bin_ps = max(1, ready.bound_ps // BINS)
    testbed = choice.make(ready, bin_ps, seed, captures=bool(captures))

    def installing(done: int, total: int) -> None:
        progress(variant.name, "filling tables", done / total)

    progress(variant.name, "starting", 0.0)
    with booted(
        testbed,
        ready.plan,
        installing,
        ready.own,
        ready.updates,
        variant.link.marking,
        port_marking=ready.port_marking,
        reduces=ready.reduces,
    ) as up:
        watch.lap("boot")
        jobs = _work(ready, up, seed)
        control = control_loop(ready, up, jobs)
        if isinstance(jobs, Jobs):
            _set_hooks(ready, jobs, control, testbed, seed)
        jobs.begin()
        faults = Faults(testbed)
        faults.on_power = control.set_power
        faults.schedule(ready.faults)
        schedule_moves(testbed, faults, ready.lane_moves)
        for link, folder in captures.items():
            testbed.record(link, folder / f"{variant.name}-{link}.pcap")
        expected = _expected_bytes(ready)
        progress(variant.name, "running", 0.0)
        if look is not None:
            look(testbed)
        control.start(lambda: jobs.busy)
        log = FaultLog(ready, jobs, control, virtual=testbed.virtual)
        deadlock, stopped_by = None, ""
        moves = has_spares(ready.fabric) or variant.control.circuits != "static"
        watchdog = Watchdog(ready, control, jobs, moves=moves)
        watched = None
        if watcher is not None:
            watched = WatchedRun(ready, testbed, jobs, control, faults, watchdog)
            watcher.begin(watched)
        queues = recorder_for(ready, testbed, jobs)
        try:
            for delivered in _slices(ready, testbed, bin_ps):
                share = min(
                    1.0, delivered / max(1, expected)
                )  # a graph of computations alone expects 0 bytes
                progress(variant.name, "running", share, _pace(testbed))
                if ready.faults or watched is not None:
                    log.look(testbed.now_ps)
                if testbed.virtual and (stopped_by := watchdog.look(testbed.now_ps, delivered)):
                    testbed.give_up()
                    break
        except DeadlockedError as stopped:
            deadlock = Deadlock(stopped.at_ps, stopped.cycle)
        except CutOffError as stopped:
            stopped_by = str(stopped)
            testbed.give_up()
        if watched is not None:
            ready = watched.ready
        watch.lap("run")
        progress(variant.name, "checking the data", 1.0)
        # Judge before `collect`: fidelity needs the counts of frames sent to links that were down.
        fidelity = None if testbed.virtual else _fidelity(ready, up)
        seen = collect(ready, up, jobs, control, bin_ps, deadlock, stopped_by, log)
        if queues is not None:
            seen = replace(seen, queues=queues.log())
        if watcher is not None and watched is not None:
            watcher.end(watched, seen)
        control.on_activity = None  # break a reference cycle between the log and the control loop
        if isinstance(jobs, Jobs):
            for job in jobs.all:
                job.down = frozenset  # break a reference cycle between the jobs and the control loop
        watch.lap("check")
    watch.lap("stop")
    watch.seconds.update({f"boot: {stage}": took for stage, took in testbed.seconds.items()})
    return seen, fidelity, watched.struck if watched else ()


def _work(ready: Prepared, up: Booted, seed: int) -> Jobs | PoolRun:
    """Return the jobs of a variant, or its memory pool."""
    if ready.pool is not None:
        return PoolRun(ready.pool, up.testbed, seed)
    slots = TreeSlots(ready.plan, up.client) if ready.reduces else None
    return Jobs(ready, up.testbed, seed, slots)


def _set_hooks(ready: Prepared, jobs: Jobs, control: ControlLoop, testbed: Testbed, seed: int) -> None:
    """Connect jobs to the controllers that due jobs wait for: LACP bonds, circuits, the scheduler."""
    variant = ready.variant
    for job in jobs.all:
        if job.plan.trees is not None:
            job.down = lambda: control.down
    if control.bonding is not None and testbed.virtual:
        jobs.before = control.bonding.when_up
    if variant.control.circuits == "per-job":
        jobs.before = control.reconfiguration.begin
        jobs.after = lambda job: control.reconfiguration.reallocate(f"{job} ends")
    if variant.control.scheduler != "none":
        scheduling = Scheduling(variant.control.scheduler, ready.plan, jobs, testbed, seed)
        jobs.before = _after(jobs.before, scheduling.enqueue)


def control_loop(ready: Prepared, up: Booted, jobs: Jobs | PoolRun | None) -> ControlLoop:
    """Return the control loop of a variant on the booted testbed `up`.

    Without `jobs`, spares and circuits are not controlled.
    """
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
        repeat_ps=None if control.repeat_us is None else round(control.repeat_us * 10**6),
        hellos=hellos,
        spares=None if jobs is None else _spares(ready, jobs),
        reconfiguration=None if jobs is None else _reconfiguration(ready, jobs),
        lacp=None
        if control.lacp_us is None
        else LacpTimes(round(control.lacp_us * 10**6), control.lacp_multiplier, control.tor_identities),
    )


def _after(first: Before | None, then: Before) -> Before:
    """Chain two hooks: a due job waits first for `first` and then for `then`."""
    if first is None:
        return then
    return lambda name, begin: first(name, lambda: then(name, begin))


def _reconfiguration(ready: Prepared, jobs: Jobs | PoolRun) -> ReconfigurationPolicy | None:
    """Return the policy for circuits per job; None if circuits are static."""
    if ready.variant.control.circuits == "static":
        return None
    known = ready.variant.routing.weights == "traffic-aware"
    drain_ps = round(ready.variant.control.drain_us * 10**6)
    return ReconfigurationPolicy(drain_ps, jobs.demands, known)


def _spares(ready: Prepared, jobs: Jobs | PoolRun) -> SparePolicy | None:
    """Return the policy for spares; None for a fabric without spares, where peers wait for a lost NPU."""
    if not has_spares(ready.fabric):
        return None
    known = ready.variant.routing.weights == "traffic-aware"
    return SparePolicy(
        migrate_ps=round(ready.variant.control.migrate_us * 10**6),
        active=lambda: jobs.busy,
        resume=jobs.resume,
        demand=ready.demand if known else None,
        members=ready.members,
    )


def _pace(testbed: Testbed) -> Pace | None:
    """Return the state of a run in virtual time; None in real time, where passes are counted at the end."""
    return Pace(testbed.network.hops, testbed.now_ps) if isinstance(testbed, EmbeddedTestbed) else None


def _slices(ready: Prepared, testbed: Testbed, bin_ps: int) -> Iterator[int]:
    """Run the testbed in slices until no event is left; yield the bytes of arrived data after each slice.

    Slices of virtual time grow with the time, since a run may wait a thousand bins for a retransmission.
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
    """Ends a stalled run in real time."""

    def __init__(self, ready: Prepared, testbed: Testbed) -> None:
        # A lost frame may wait for several timeouts, each of which is twice as long as the previous timeout.
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
                f"no data has reached any NPU for {self._seconds:.0f} s",
                remedy="use a smaller fabric or array, or find with `tcpdump` where frames are lost",
            )


def _expected_bytes(ready: Prepared) -> int:
    """Return the bytes of all data frames of a run, if each frame is full and sent once."""
    total = 0 if ready.pool is None else ready.pool.expected_bytes
    for job in ready.jobs:
        total += 0 if job.trees is None else len(job.members) * job.trees.frame_bytes
        payload = sum(transfer.length for transfer in job.sliced.schedule.transfers) * ELEMENT_BYTES
        each = payload + payload * DATA_HEADER_BYTES // (job.sliced.slice_elements * ELEMENT_BYTES)
        total += each * (job.rhythm.iterations if job.rhythm else 1)
    return total


def _fidelity(ready: Prepared, up: Booted) -> Fidelity | None:
    """Judge whether the times of a run in real time are the times of the emulated fabric."""
    seen = {
        node.name: SwitchReport.of(
            up.client.read_counter(node.name, "tx_by_port_vl").packets,
            dropped(up.client, node.name),
            up.client.packets_out[node.name],
        )
        for node in ready.fabric.nodes
    }
    steps = max((job.sliced.schedule.steps for job in ready.jobs), default=1)
    return judge(up.testbed.measured(seen, steps=steps))
