# SPDX-License-Identifier: Apache-2.0
"""Links of a fabric in real time: their state, faults, circuits and counters, over connections."""

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import final

from emulation.errors import TestbedError
from emulation.linux.record import RunRecord
from emulation.mininet.links.carried import Carried
from emulation.mininet.links.connections import LinkConnections
from emulation.mininet.links.counters import EndpointCounters
from emulation.mininet.switches.processes import SwitchKind
from emulation.testbed import Impairment, RecentFrame
from topologies import HOST_PORT, End, Fabric, Link
from topologies.model.circuits import circuit_link, circuit_of

__all__ = ["Links"]

_SETTLE_LOOKS, _SETTLE_SECONDS = 20, 0.05
_WELL = Impairment()
_RATES = {
    "tbf": "rates of links: the kernel's tbf, a queue for all frames of a direction",
    "htb": "rates of links: the kernel's htb, a queue for each service level of a direction",
    "switch": "rates of links: the switches' own pacing, as the kernel has no queue that keeps a rate",
    "": "rates of links: none; the kernel lacks the queue, or links are faster than 20 Gbit/s of real time",
}
_QUEUES = {
    "builtin": "queues of links: in the switches, which give the kernel a frame at a time",
    "bmv2": "queues of links: in BMv2, which lets frames of {} bytes go at the rate of the link "
    "(set_egress_queue_rate)",
}


@final
class Links:
    """Links of a fabric. They are connected from the start, circuits while an optical switch joins them."""

    def __init__(self, fabric: Fabric, connections: LinkConnections) -> None:
        self._fabric = fabric
        self._connections = connections
        self._names = dict.fromkeys(link.name for link in fabric.links)
        self._joined = set(self._names)
        self._failed: set[str] = set()
        self._wrong: dict[tuple[str, int], Impairment] = {}
        self.delayed = False
        """True once the kernel's netem has delayed a link."""
        self.struck: set[End] = set()
        """Ends that have lost their carrier at least once."""
        self.carried = Carried(connections.counters)
        """Counters at begin and end of circuits that have been set up or torn down."""

    @property
    def names(self) -> Sequence[str]:
        """Names of the fabric's links, then of further circuits in the order of their first use."""
        return [*self._names]

    @property
    def limiters(self) -> frozenset[str]:
        """Rate limiters of the fabric's links; see `LinkConnections.limiters`."""
        rates = {link.rate_bps for link in self._fabric.links}
        return frozenset().union(*map(self._connections.limiters, rates))

    def means(self, switch: SwitchKind, frame_bytes: int | None) -> Iterator[str]:
        """Yield sentences for the notes of a run: the mechanisms of rates, delays and queues of the links.

        `frame_bytes`: length of data frames if they wait in queues of the switches; None: in the kernel.
        """
        for limiter in sorted(self.limiters, reverse=True):
            yield _RATES[limiter]
        if self.delayed:
            yield "delays of links: the kernel's netem"
        if frame_bytes is not None:
            yield _QUEUES[switch].format(frame_bytes)

    def state(self, name: str) -> int:
        """Return a link's state as a sum: 1 if it is up, 2 and 4 if direction 0 or 1 is impaired."""
        up = name in self._joined and name not in self._failed
        wrong = [self._wrong.get((name, direction), _WELL) != _WELL for direction in (0, 1)]
        return up | wrong[0] << 1 | wrong[1] << 2

    def link(self, name: str) -> Link:
        """Return a link of the fabric, or a circuit of an optical switch, up or not."""
        circuit = circuit_of(self._fabric, name)
        return self._fabric.link(name) if circuit is None else circuit_link(self._fabric, *circuit)

    # -- faults

    def set_link(self, name: str, up: bool) -> None:
        """Take a link down or bring it up; a circuit also needs its optical switch to join it."""
        link = self.link(name)
        (self._failed.discard if up else self._failed.add)(name)
        self.struck |= {link.a, link.b}
        if name in self._joined:
            self._connections.set_carrier(link, up)

    def set_host_link(self, node: str, up: bool) -> None:
        """Take a host's link down or bring it up; the host's interface keeps its configuration."""
        if node not in self._connections.hosts:
            raise TestbedError(f"{node} has no host port", remedy="name one of the fabric's NPUs")
        self.struck.add(End(node, HOST_PORT))
        self._connections.set_host_carrier(node, up)

    def impair(self, name: str, direction: int, how: Impairment) -> None:
        """Replace the impairment of direction 0 or 1; TestbedError if the kernel lacks a feature."""
        if direction not in (0, 1):
            raise TestbedError(f"link {name} has no direction {direction}", remedy="give 0 or 1")
        link = self.link(name)
        if name in self._joined:
            self._connections.impair(link, direction, how)
        self.delayed |= how.extra_delay_ps > 0
        self._wrong[name, direction] = how

    # -- circuits

    def cut(self, optical: str, low: int, high: int) -> None:
        """Tear a circuit down: frames on their way are lost, and both ends lose their carrier."""
        link = circuit_link(self._fabric, optical, (low, high))
        self._joined.discard(link.name)
        self.struck |= {link.a, link.b}
        self._connections.cut(link)
        self.carried.cut(link)

    def join(self, optical: str, low: int, high: int) -> None:
        """Set up a circuit between two dark ports."""
        link = circuit_link(self._fabric, optical, (low, high))
        self.carried.joined(link)
        self._connections.join(link)
        self._joined.add(link.name)
        self._names.setdefault(link.name)
        for direction in (0, 1):
            if (link.name, direction) in self._wrong:
                self._connections.impair(link, direction, self._wrong[link.name, direction])
        if link.name in self._failed:
            self._connections.set_carrier(link, False)

    # -- counters and captures

    def counters(self) -> Mapping[str, EndpointCounters]:
        """Return the counters of every endpoint by name."""
        return self._connections.counters()

    def settled_counters(self) -> Mapping[str, EndpointCounters]:
        """Return the counters once they no longer change, or after a second."""
        after = self.counters()
        for _ in range(_SETTLE_LOOKS):
            time.sleep(_SETTLE_SECONDS)
            before, after = after, self.counters()
            if before == after:
                break
        return after

    def record(self, name: str, path: Path, record: RunRecord) -> None:
        """Write the frames of a link, as its first end sees them, to a pcap file until close()."""
        self._connections.record(self.link(name), path, record)

    def recent(self, name: str, ps: Callable[[int], int]) -> Sequence[RecentFrame]:
        """Return the last frames of a link, tapped from the first call on.

        `ps` returns the scenario time in picoseconds at a monotonic time in nanoseconds.
        """
        return [
            RecentFrame(number, max(0, ps(at_ns)), int(backwards), frame)
            for number, at_ns, backwards, frame in self._connections.recent(self.link(name))
        ]

    def forget(self, name: str) -> None:
        """Remove the tap of a link."""
        self._connections.forget(self.link(name))
