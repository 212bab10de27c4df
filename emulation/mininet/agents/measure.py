# SPDX-License-Identifier: Apache-2.0
"""Measurements of a run in real time, collected from counters, host processes and /proc."""

import os
from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import dataclass
from pathlib import Path
from typing import Final, final

import numpy as np

from emulation.fidelity import Measured
from emulation.mininet.agents.driver import Pace
from emulation.mininet.agents.messages import Report, Reports
from emulation.mininet.links.cabling import endpoint_at, host_endpoint
from emulation.mininet.links.carried import Span
from emulation.mininet.links.counters import EndpointCounters
from emulation.testbed import LinkUsage, SwitchReport
from topologies import HOST_PORT, End, Fabric, Link

__all__ = ["Between", "CpuMeter", "Ending", "Lost", "lost", "percentiles", "usage"]

_CPU_PORT: Final = 510
_TICKS: Final = os.sysconf("SC_CLK_TCK")


@final
class CpuMeter:
    """Processor use of the machine and of `processes` (pids by name) since construction."""

    def __init__(self, processes: Mapping[str, int]) -> None:
        self._processes = processes
        self._machine = _machine_ticks()
        self._began = {name: _process_ticks(pid) for name, pid in processes.items()}

    def read(self) -> tuple[float, dict[str, float]]:
        """Return the busy share of all processors, 0 to 1, and the processor seconds of each process."""
        busy, total = (now - then for now, then in zip(_machine_ticks(), self._machine, strict=True))
        seconds = {
            name: (_process_ticks(pid) - self._began[name]) / _TICKS for name, pid in self._processes.items()
        }
        return (busy / total if total else 0.0), seconds


def _machine_ticks() -> tuple[int, int]:
    """Return busy and total clock ticks, summed over all processors."""
    user, nice, system, idle, iowait, irq, softirq, steal, *_ = map(
        int, Path("/proc/stat").read_text().split("\n", 1)[0].split()[1:]
    )
    busy = user + nice + system + irq + softirq + steal
    return busy, busy + idle + iowait


def _process_ticks(pid: int) -> int:
    """Return the processor clock ticks of a process with its threads; 0 if it has ended."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except (FileNotFoundError, ProcessLookupError):
        return 0
    return int(fields[11]) + int(fields[12])


@final
@dataclass(frozen=True, slots=True)
class Between:
    """Counters of a cross-connect at two times; gives the counts of an endpoint between these times."""

    before: Mapping[str, EndpointCounters]
    after: Mapping[str, EndpointCounters]

    def __getitem__(self, endpoint: str) -> EndpointCounters:
        """Return the counts of an endpoint between the two times, as differences."""
        then, now = self.before[endpoint], self.after[endpoint]
        return EndpointCounters(
            *(getattr(now, name) - getattr(then, name) for name in EndpointCounters.__slots__)
        )


def usage(
    fabric: Fabric, between: Between, circuits: Sequence[Span] = ()
) -> dict[str, tuple[LinkUsage, LinkUsage]]:
    """Return the usage of links by name, from first to second end and back; times in scenario ps.

    Circuits that have moved come last. `max_queued_bytes` and `refused_frames` are not measured, and are 0.
    """
    moved: dict[str, tuple[LinkUsage, LinkUsage]] = {}
    for span in circuits:
        up = Between(span.before or between.before, span.after or between.after)
        now = _directions(span.link, up)
        past = moved.get(span.link.name)
        moved[span.link.name] = now if past is None else (_sum(past[0], now[0]), _sum(past[1], now[1]))
    links = {link.name: _directions(link, between) for link in fabric.links if link.name not in moved}
    return {**links, **moved}


def _sum(first: LinkUsage, second: LinkUsage) -> LinkUsage:
    return LinkUsage(*(getattr(first, name) + getattr(second, name) for name in LinkUsage.__slots__))


def _directions(link: Link, between: Between) -> tuple[LinkUsage, LinkUsage]:
    def direction(source: End, destination: End) -> LinkUsage:
        sent, received = between[endpoint_at(source)], between[endpoint_at(destination)]
        return LinkUsage(
            frames=sent.from_frames,
            bytes=sent.from_bytes,
            busy_ps=sent.from_bytes * 8 * 10**12 // link.rate_bps,
            lost_frames=max(0, sent.from_frames - received.to_frames - received.waiting_frames),
            refused_frames=0,
            max_queued_bytes=0,
        )

    return direction(link.a, link.b), direction(link.b, link.a)


@final
@dataclass(frozen=True, slots=True)
class Lost:
    """Lost frames by key of emulation.fidelity.DROP_PLACES, and frames sent to down links."""

    places: Mapping[str, int]
    to_dead_links: int


def lost(
    fabric: Fabric,
    between: Between,
    seen: Mapping[str, SwitchReport],
    paces: Mapping[str, Pace],
    struck: Set[End],
) -> Lost:
    """Return the lost frames of a run; losses at the `struck` ends, down for a time, count as "fault".

    Losses within a switch follow from sums: frames that arrived and that the program neither sent nor refused
    did not reach the program; frames that the program sent and that did not leave were dropped behind it.

    Args:
        fabric: the fabric.
        between: counters of endpoints over the run.
        seen: report of each node's switch.
        paces: pace of each host, by node.
        struck: ends that have been down.
    """
    ring = queue = dead = refused = 0
    for node in fabric.nodes:
        counted = seen[node.name]
        received = counted.packet_outs
        for port, sent in counted.sent.items():
            if port == _CPU_PORT:
                continue
            endpoint = endpoint_at(End(node.name, port))
            left = between[endpoint].from_frames if endpoint in between.after else 0
            if End(node.name, port) in struck:
                dead += max(0, sent - left)
            else:
                queue += max(0, sent - left)
        received += sum(
            between[endpoint_at(End(node.name, port.number))].to_frames
            for port in node.ports
            if endpoint_at(End(node.name, port.number)) in between.after
        )
        ring += max(0, received - sum(counted.sent.values()) - counted.refused)
        refused += counted.refused
    # Frames that entered an endpoint of a link that was down, and did not leave one, are lost by the fault,
    # wherever they were dropped. `dead` already has the frames that a switch sent and a veth refused.
    dark = {endpoint_at(end) for end in struck}
    dark |= {host_endpoint(end.node) for end in struck if end.port == HOST_PORT}
    veth = filtered = vanished = 0
    for endpoint in between.after:
        passed = between[endpoint]
        if endpoint in dark:
            vanished += passed.from_frames - passed.to_frames - passed.to_dropped_queue
        else:
            veth += passed.from_dropped_veth + passed.to_dropped_veth
            filtered += passed.from_dropped_filter
    for node, pace in paces.items():
        # While the kernel believes that an interface has no carrier, it drops frames without counting them.
        endpoint = host_endpoint(node)
        silent = max(0, len(pace.late_us) - between[endpoint].from_frames) if endpoint in between.after else 0
        if endpoint in dark:
            vanished += silent
        else:
            veth += silent
    endpoints = [between[endpoint] for endpoint in between.after]
    return Lost(
        {
            "agent ring": sum(pace.missed for pace in paces.values()),
            "switch ring": ring,
            "switch queue": queue,
            "link queue": sum(endpoint.to_dropped_queue for endpoint in endpoints),
            "veth": veth,
            "program": refused,
            "fault": dead + filtered + max(0, vanished),
        },
        dead,
    )


def percentiles(parts: Iterable[np.ndarray]) -> tuple[float, float, float]:
    """Return median, 99th percentile and maximum of all values in `parts`; zeros if there are none."""
    values = np.concatenate(list(parts) or [np.zeros(0)])
    if not len(values):
        return 0.0, 0.0, 0.0
    median, most, worst = np.percentile(values, (50, 99, 100))
    return float(median), float(most), float(worst)


@final
@dataclass(frozen=True, slots=True)
class Ending:
    """All counts of a run, taken at its end.

    Attributes:
        ended: Reports of the hosts.
        between: Counters of the cross-connect at the start and at the end.
        seconds: Real duration of the run.
        cpu_busy: Share of the time in which the processors of the machine were busy.
        used: Processor seconds of each switch process, by name.
        circuits: Counters before and after each time that a circuit was up, for circuits that moved.
    """

    ended: Reports
    between: Between
    seconds: float
    cpu_busy: float
    used: Mapping[str, float]
    circuits: Sequence[Span] = ()

    @property
    def reports(self) -> Mapping[str, Report]:
        """Final reports of the hosts by node."""
        return self.ended.hosts

    @property
    def agent_seconds(self) -> float:
        """Processor time of all agents together."""
        return sum(self.ended.seconds.values())

    @property
    def switch_seconds(self) -> float:
        """Processor time of all switch processes together."""
        return sum(self.used.values())

    def bins(self) -> tuple[int, ...]:
        """Return the bytes of data received by hosts in each time bin."""
        merged: dict[int, int] = {}
        for report in self.reports.values():
            for index, size in report.bins.items():
                merged[index] = merged.get(index, 0) + size
        return tuple(merged.get(index, 0) for index in range(max(merged, default=-1) + 1))

    def usage(self, fabric: Fabric) -> dict[str, tuple[LinkUsage, LinkUsage]]:
        """Return the usage of links by name."""
        return usage(fabric, self.between, self.circuits)

    def measured(
        self,
        fabric: Fabric,
        dilation: int,
        seen: Mapping[str, SwitchReport],
        struck: Set[End],
        *,
        shaped: bool,
        steps: int,
    ) -> tuple[Measured, int]:
        """Return the measurements for judging the run, and the number of frames sent to down links."""
        by_node = {node: report.pace for node, report in self.reports.items()}
        paces = by_node.values()
        losses = lost(fabric, self.between, seen, by_node, struck)
        used = {**self.used, **self.ended.seconds}
        busiest = max(used, key=lambda name: used[name])
        again = sum(pace.refused for pace in paces)
        measured = Measured(
            dilation=dilation,
            seconds=self.seconds,
            stated_bps=fabric.host_lanes * fabric.lane_rate_bps / dilation,
            offered_bytes=sum(pace.offered_bytes for pace in paces),
            sent_bytes=sum(pace.sent_bytes for pace in paces),
            lateness_us=percentiles(pace.late_us for pace in paces),
            waiting_us=percentiles(pace.waited_us for pace in paces),
            cpu_busy=min(1.0, max(0.0, self.cpu_busy)),
            busiest=(busiest, used[busiest] / self.seconds),
            drops=losses.places,
            shaped=shaped,
            notes=_notes(fabric, again),
            steps=steps,
        )
        return measured, losses.to_dead_links


def _notes(fabric: Fabric, again: int) -> tuple[str, ...]:
    delays = sorted({link.delay_ps for link in fabric.links})
    notes = []
    if any(delays):
        some = " or ".join(f"{delay / 1000:g}" for delay in delays)
        notes.append(f"links have no delay of their own in real time; the fabric's is {some} ns")
    if again:
        notes.append(f"generators had to offer frames again {again:,} times")
    return tuple(notes)
