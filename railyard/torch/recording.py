# SPDX-License-Identifier: Apache-2.0
"""Recording of a training run for the live page and replays: links over time, steps, faults, lost ranks."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, final

from emulation.control.activity import Activity
from emulation.faults import Fault
from emulation.testbed import LinkSample
from harness.ranks.coordinator import RankRecord
from harness.ranks.session import FabricSession
from harness.recording.picture import fabric_picture
from harness.recording.recorder import activity_event, header_record
from harness.recording.records import Kind, Record, Sink, Tick, event, json_record
from harness.run.prepare import Prepared
from harness.scenario.schema import Scenario

__all__ = ["TrainingRecorder"]

# After each _TICKS_OF_WIDTH ticks their interval, which is _FIRST_PS at first, doubles.
_FIRST_PS, _TICKS_OF_WIDTH = 500_000, 1200

_TOTALS = ("delivered_bytes", "sent", "retransmitted", "received", "notices", "entries_rewritten")


@final
class TrainingRecorder:
    """Watches a fabric (emulation.testbed.Watch), and passes records of a training run to sinks.

    Watching changes nothing: virtual time stands still meanwhile.

    `sinks` receive the records.
    """

    def __init__(self, sinks: Sequence[Sink], scenario: Scenario, seed: int) -> None:
        self._sinks = tuple(sinks)
        self._scenario, self._seed = scenario, seed
        self._session: FabricSession | None = None
        self._before: LinkSample | None = None
        self._idle: Tick | None = None  # last tick of an idle time, whose ticks are not recorded
        self._links = self._ticks = self._steps = 0
        self._width_ps = self.next_ps = _FIRST_PS

    def begin(self, ready: Prepared, session: FabricSession, ranks: Sequence[str]) -> None:
        """Record the fabric and the ranks' nodes, and watch the session from now on."""
        self._session = session
        names = list(session.testbed.link_names)
        self._links = len(names)
        variant = ready.variant
        self._put(header_record(self._scenario, self._seed, [variant]))
        self._put(json_record(Kind.FABRIC, fabric_picture(ready.fabric)))
        members = [ready.fabric.node(node).index for node in ranks]
        self._put(
            json_record(
                Kind.VARIANT,
                {
                    "name": variant.name,
                    "label": variant.label,
                    "tick_ps": _FIRST_PS,
                    "bound_ps": _FIRST_PS * _TICKS_OF_WIDTH,
                    "links": names,
                    "totals": list(_TOTALS),
                    "jobs": [{"name": "training", "begin_ps": 0, "members": members}],
                    "planned": [{"t": fault.at_ps, "text": fault.text} for fault in ready.faults],
                },
            )
        )
        session.testbed.watch = self
        session.faults.on_apply = self._on_fault
        session.control.on_activity = self._on_activity

    def tick(self) -> None:
        """Record the state of all links; see emulation.testbed.Watch."""
        self._look()
        self._ticks += 1
        if self._ticks % _TICKS_OF_WIDTH == 0:
            self._width_ps *= 2
        assert self._session is not None
        self.next_ps = self._session.now_ps + self._width_ps

    def on_note(self, rank: RankRecord, name: str, value: Any) -> None:
        """Record the end of each step of rank 0, and the values noted by the script."""
        if rank.rank != 0:
            return
        if name == "step":
            self._steps += 1
            self._put(event(rank.clock_ps, "job-end", f"step {self._steps} ends", job="training"))
        elif name == "values":
            words = ", ".join(f"{key} {number:g}" for key, number in value.items())
            self._put(event(rank.clock_ps, "job-end", f"step {self._steps}: {words}", job="training"))

    def on_outcome(self, rank: RankRecord) -> None:
        """Record that a rank has failed or is lost."""
        if rank.outcome != "done":
            self._put(event(rank.clock_ps, "cut-off", f"rank {rank.rank}: {rank.outcome}", node=rank.node))

    def end(self, ranks: Sequence[RankRecord]) -> None:
        """Record the end of the run."""
        assert self._session is not None
        self._session.testbed.watch = None
        self._look()
        last = max((rank.clock_ps for rank in ranks), default=0)
        failed = [rank for rank in ranks if rank.outcome != "done"]
        values = {
            "t": max(last, self._session.now_ps),
            "completion_ps": last,
            "nodes": len(ranks),
            "correct": len(ranks) - len(failed),
            "wrong": failed[0].outcome if failed else "",
            "deadlock": False,
        }
        self._put(json_record(Kind.END, values))
        self._put(json_record(Kind.CLOSE, {}))

    def _look(self) -> None:
        session = self._session
        assert session is not None
        testbed = session.testbed
        names = testbed.link_names
        if len(names) > self._links:
            self._put(json_record(Kind.LINKS, {"links": list(names[self._links :])}))
            self._links = len(names)
        links = testbed.sample()
        stats, report = session.stats.values(), session.control.report
        totals = (
            float(testbed.delivered_bytes),
            float(sum(host.sent for host in stats)),
            float(sum(host.retransmitted for host in stats)),
            float(sum(host.received for host in stats)),
            float(report.notices_sent),
            float(report.entries_rewritten),
        )
        tick = Tick(session.now_ps, totals, links)
        if not any(links.load) and links == self._before:
            self._idle = tick
            return
        if self._idle is not None:
            # The load of a tick is that since the tick before, so an idle time has a tick at its end.
            self._put(self._idle.record())
        self._idle, self._before = None, links
        self._put(tick.record())

    def _on_fault(self, fault: Fault) -> None:
        assert self._session is not None
        target = fault.target
        links = [*target.links, *(link for link, _ in target.one_way)][:64]
        self._put(
            event(
                self._session.now_ps,
                "fault",
                fault.text,
                links=links,
                event=fault.event,
                target=target.name,
                by="scenario",
            )
        )

    def _on_activity(self, activity: Activity) -> None:
        self._put(activity_event(activity))

    def _put(self, record: Record) -> None:
        for sink in self._sinks:
            sink(record)
