# SPDX-License-Identifier: Apache-2.0
"""Watch a run, and pass records of it to sinks while the run goes on."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import final

from emulation.control.activity import Activity
from emulation.faults import Fault
from emulation.testbed import LinkSample
from harness.recording.frames import FrameKeeper, check_links
from harness.recording.picture import fabric_picture
from harness.recording.records import FORMAT, VERSION, Kind, Record, Sink, Tick, event, json_record
from harness.run.jobs.running import Job
from harness.run.observation.incidents import incidents_of
from harness.run.observation.values import Observation
from harness.run.prepare import Prepared
from harness.run.watch import WatchedRun
from harness.scenario.schema import Scenario, Variant
from harness.version import railyard_version
from topologies import Fabric

__all__ = ["RTT_PERCENTILES", "TOTALS", "Recorder", "activity_event", "header_record"]

RTT_PERCENTILES = (50, 90, 99)

TOTALS = (
    *("delivered_bytes", "sent", "retransmitted", "received", "notices", "entries_rewritten", "rtt_ps"),
    *(f"rtt_p{percent}_ps" for percent in RTT_PERCENTILES),
)
"""Names of the totals of a tick. A total `job:NAME` for each job follows: data frames its members received.

`sent`, `retransmitted` and `received` count data frames of all NPUs. A frame counts as sent once its
connection has passed it to the interface, where it may wait: full windows are sent at time 0. The round trip
of an NPU is the longest smoothed round trip of its connections. `rtt_ps` is the longest round trip of all
NPUs; 90 % of the NPUs have a round trip of at most `rtt_p90_ps`.
"""

# A run as short as its lower bound has _TICKS ticks. After each _TICKS_OF_WIDTH ticks their interval doubles.
_TICKS = 128
_TICKS_OF_WIDTH = 2400

# Of each incident, the first _MOST_NODES nodes that learnt of it are recorded.
_MOST_NODES = 256


@final
class Recorder:
    """Watches a run and passes its records to sinks.

    The attribute `pause` is called at the start of a variant and after each tick; it may hold the run.

    Args:
        sinks: Receivers of the records.
        frames: Links whose frames are recorded, as for `FrameKeeper`; an empty sequence records no frames.
    """

    def __init__(self, sinks: Sequence[Sink], frames: Sequence[str] | None = ()) -> None:
        self.sinks = [*sinks]
        self._links_of_frames = frames
        self._keeper: FrameKeeper | None = None
        self.pause: Callable[[WatchedRun], None] = lambda run: None
        self.opened: Callable[[Scenario, int, Sequence[Prepared]], None] = lambda *_: None
        self._run: WatchedRun | None = None
        self.next_ps = 0
        self._width_ps = 1
        self._ticks = 0
        self._links = 0
        self._begun: set[str] = set()
        self._ended: set[str] = set()
        self._takeovers = self._reconfigurations = 0
        self._before: LinkSample | None = None
        self._logs: Callable[[Activity], None] | None = None

    def check(self, fabric: Fabric) -> None:
        """Raise a ScenarioError if a link in `frames` does not exist; see Watcher."""
        check_links(fabric, self._links_of_frames or ())

    def open(self, scenario: Scenario, seed: int, prepared: Sequence[Prepared]) -> None:
        """Put the records HEADER and FABRIC before all variants, and call `opened`.

        Raises:
            ScenarioError: A link in `frames` does not exist.
        """
        self.check(prepared[0].fabric)
        self.opened(scenario, seed, prepared)
        self.put(header_record(scenario, seed, scenario.variants))
        self.put(json_record(Kind.FABRIC, fabric_picture(prepared[0].fabric)))

    def close(self) -> None:
        """Put the last record, CLOSE."""
        self.put(json_record(Kind.CLOSE, {}))

    def put(self, record: Record) -> None:
        """Pass a record to all sinks."""
        for sink in self.sinks:
            sink(record)

    def begin(self, run: WatchedRun) -> None:
        """Put the record VARIANT and the first tick, and subscribe to the run's events; see Watcher."""
        ready, names = run.ready, list(run.testbed.link_names)
        self._run = run
        self._width_ps = max(ready.bound_ps // _TICKS, run.testbed.least_tick_ps)
        self.next_ps = run.testbed.now_ps + self._width_ps
        self._ticks, self._links = 0, len(names)
        self._begun, self._ended = set(), set()
        self._takeovers = self._reconfigurations = 0
        self._before = None
        self.put(
            json_record(
                Kind.VARIANT,
                {
                    "name": ready.variant.name,
                    "label": ready.variant.label,
                    "tick_ps": self._width_ps,
                    "bound_ps": ready.bound_ps,
                    "links": names,
                    "totals": [*TOTALS, *(f"job:{job.plan.name}" for job in run.jobs.all)],
                    "jobs": [
                        {
                            "name": job.plan.name,
                            "begin_ps": job.plan.begin_ps,
                            "members": [ready.fabric.node(name).index for name in job.plan.members],
                        }
                        for job in run.jobs.all
                    ],
                    "planned": [{"t": fault.at_ps, "text": fault.text} for fault in ready.faults],
                    **({} if run.testbed.virtual else {"dilation": run.testbed.dilation}),
                },
            )
        )
        if self._links_of_frames is None or self._links_of_frames:
            self._keeper = FrameKeeper(run, self._links_of_frames)
        run.testbed.watch = self
        run.faults.on_apply = self._on_fault
        self._logs = run.control.on_activity
        run.control.on_activity = self._on_activity
        self._look(run)
        self.pause(run)

    def tick(self) -> None:
        """Put the records of a tick, and schedule the next tick; see emulation.testbed.Watch."""
        run = self._run
        assert run is not None
        self._look(run)
        self._ticks += 1
        if self._ticks % _TICKS_OF_WIDTH == 0:
            self._width_ps *= 2
        # In real time a tick may come late; the next tick still keeps the full interval.
        self.next_ps = max(self.next_ps, run.testbed.now_ps) + self._width_ps
        self.pause(run)

    def end(self, run: WatchedRun, seen: Observation) -> None:
        """Put the last tick, events of the outcome, and the record END of a variant; see Watcher."""
        run.testbed.watch = None
        run.faults.on_apply, run.control.on_activity = None, self._logs
        self._look(run)
        now = run.testbed.now_ps
        if seen.deadlock is not None:
            links = [link for link, _, _ in seen.deadlock.cycle]
            self.put(event(seen.deadlock.at_ps, "deadlock", str(seen.deadlock), links=links))
        if seen.cut_off:
            self.put(event(now, "cut-off", seen.cut_off))
        ended = seen.completion_ps or now
        for incident in incidents_of(seen):
            nodes = [node.record(incident.at_ps) for node in incident.nodes[:_MOST_NODES]]
            links = list(incident.links[:64])
            text = f"summary of the fault at {incident.at_ps / 10**6:.3f} µs: {incident.sentence}"
            self.put(event(ended, "incident", text, links=links, nodes=nodes, at=incident.at_ps))
        self.put(
            json_record(
                Kind.END,
                {
                    "t": now,
                    "completion_ps": seen.completion_ps,
                    "nodes": seen.nodes,
                    "correct": seen.correct_nodes,
                    "wrong": seen.first_wrong,
                    "deadlock": seen.deadlock is not None,
                },
            )
        )
        self._run = self._keeper = None

    def _look(self, run: WatchedRun) -> None:
        names = run.testbed.link_names
        if len(names) > self._links:
            self.put(json_record(Kind.LINKS, {"links": list(names[self._links :])}))
            self._links = len(names)
        for job in run.jobs.all:
            self._look_at(job)
        for takeover in run.control.takeovers[self._takeovers :]:
            self.put(
                event(takeover.at_ps, "takeover", str(takeover), node=takeover.npu, spare=takeover.spare)
            )
        self._takeovers = len(run.control.takeovers)
        for reconfiguration in run.control.reconfigurations[self._reconfigurations :]:
            self.put(event(run.testbed.now_ps, "reconfiguration", str(reconfiguration)))
        self._reconfigurations = len(run.control.reconfigurations)
        # After the end of its jobs a run only waits for timers: no frames, and no ticks unless links change.
        for record in self._keeper.look() if self._keeper and run.busy else ():
            self.put(record)
        links = run.testbed.sample()
        if any(links.load) or links != self._before or run.busy:
            self.put(Tick(run.testbed.now_ps, self._totals(run), links).record())
        self._before = links

    def _look_at(self, job: Job) -> None:
        name = job.plan.name
        if name in self._ended or job.begun_ps is None:
            return
        if name not in self._begun:
            self._begun.add(name)
            self.put(event(job.begun_ps, "job-begin", f"{_called(name)} begins", job=name))
        last = job.ended_ps
        if last is not None:
            self._ended.add(name)
            self.put(event(last, "job-end", f"{_called(name)} ends", job=name))

    def _totals(self, run: WatchedRun) -> tuple[float, ...]:
        of_jobs = [job.progress for job in run.jobs.all]
        every = [node for job in of_jobs for node in job]
        sent, retransmitted, received, round_trips = zip(*every, strict=True) if every else ((),) * 4
        report = run.control.report
        return (
            float(run.testbed.delivered_bytes),
            float(sum(sent)),
            float(sum(retransmitted)),
            float(sum(received)),
            float(report.notices_sent),
            float(report.entries_rewritten),
            *_round_trips(round_trips),
            *(float(sum(received for _, _, received, _ in job)) for job in of_jobs),
        )

    def _on_fault(self, fault: Fault) -> None:
        run = self._run
        assert run is not None
        target = fault.target
        links = [*target.links, *(link for link, _ in target.one_way)]
        by_hand = any(round(struck.at_us * 10**6) == fault.at_ps for struck in run.struck)
        self.put(
            event(
                run.testbed.now_ps,
                "fault",
                fault.text,
                links=links[:64],
                event=fault.event,
                target=target.name,
                by="hand" if by_hand else "scenario",
            )
        )

    def _on_activity(self, activity: Activity) -> None:
        if self._logs is not None:
            self._logs(activity)
        self.put(activity_event(activity))


def header_record(scenario: Scenario, seed: int, variants: Sequence[Variant]) -> Record:
    """Return the record HEADER of a run of some variants of a scenario."""
    values = {
        "format": FORMAT,
        "version": VERSION,
        "railyard": railyard_version(),
        "scenario": scenario.name,
        "title": scenario.title or scenario.name,
        "description": scenario.description,
        "seed": seed,
        "variants": [{"name": variant.name, "label": variant.label} for variant in variants],
    }
    return json_record(Kind.HEADER, values)


def activity_event(activity: Activity) -> Record:
    """Return the event of a controller's activity: notices sent, or table entries rewritten."""
    node, count, news = activity.node, activity.count, activity.news
    who = f"{node}, told by {news.teller}," if news.learns == "by a notice" and news.teller else node
    words = {
        "notice": f"{who} sends {count} notice{'s' * (count > 1)}",
        "rewrite": f"{who} rewrites {count} table entr{'ies' if count > 1 else 'y'}",
    }
    return event(activity.at_ps, activity.kind, words[activity.kind], node=node, count=count)


def _called(job: str) -> str:
    """Return a job's name for a sentence; a scenario without `jobs` has a single job, called "job"."""
    return "the job" if job == "job" else f"job {job}"


def _round_trips(longest: Sequence[int]) -> list[float]:
    """Return the longest round trip and percentiles of all round trips; zeros if none was measured."""
    ordered = sorted(rtt for rtt in longest if rtt)
    if not ordered:
        return [0.0] * (1 + len(RTT_PERCENTILES))
    ranks = (-(-percent * len(ordered) // 100) for percent in RTT_PERCENTILES)
    return [float(ordered[-1]), *(float(ordered[rank - 1]) for rank in ranks)]
