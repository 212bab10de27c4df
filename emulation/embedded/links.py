# SPDX-License-Identifier: Apache-2.0
"""Links and circuits of a fabric in the engine: state, impairments, captures and usage.

The engine numbers links in the order in which they are connected: the fabric's links, then circuits in the
order of their first use. Callers hold the lock of the network.
"""

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from types import MappingProxyType
from typing import Any, Literal, final

from emulation._engine import Network, QueuePolicy
from emulation.errors import TestbedError
from emulation.targets import LinkDirection
from emulation.testbed import RECENT_FRAMES, Impairment, LinkUsage, RecentFrame
from topologies import Fabric, Link
from topologies.model.circuits import circuit_link, circuit_of

__all__ = ["Links", "usage_of"]


@final
class Links:
    """Links and circuits of a fabric in the engine, by name.

    `switches` has the engine's number of each node. `credit_bytes`, `scheduler` and `policy` (the limits of
    queues) hold for all links, as in EmbeddedTestbed; `port_policies` replaces `policy` for
    single directions of links.
    """

    def __init__(
        self,
        fabric: Fabric,
        network: Network,
        switches: Mapping[str, int],
        credit_bytes: int,
        scheduler: Literal["strict", "round-robin"],
        policy: QueuePolicy | None = None,
        port_policies: Mapping[LinkDirection, QueuePolicy] = MappingProxyType({}),
    ) -> None:
        self._fabric = fabric
        self._network = network
        self._switches = switches
        self._credit_bytes = credit_bytes
        self._scheduler: Literal["strict", "round-robin"] = scheduler
        self._policy = policy
        self._port_policies = port_policies
        self._links: list[Link] = []
        self._numbers: dict[str, int] = {}
        # A circuit is up if its optical switch joins its ports and no fault holds it down.
        self._joined: set[str] = set()
        self._failed: set[str] = set()
        self._kept: set[str] = set()  # links whose last frames the engine keeps

    def build(self) -> None:
        """Connect the fabric's links, including its present circuits."""
        for link in self._fabric.links:
            self._connect(link)
            if circuit_of(self._fabric, link.name) is not None:
                self._joined.add(link.name)

    def set_up(self, name: str, up: bool) -> None:
        """Take a link down or up; a circuit comes up only while its optical switch joins its ports."""
        number = self._number(name)
        if up:
            self._failed.discard(name)
        else:
            self._failed.add(name)
        joined = name in self._joined or circuit_of(self._fabric, name) is None
        self._network.set_link(number, up and joined)

    def cut(self, name: str) -> None:
        """Tear a circuit down."""
        self._joined.discard(name)
        self._network.set_link(self._number(name), False)

    def join(self, name: str) -> None:
        """Set up a circuit between two dark ports."""
        number = self._number(name)
        self._joined.add(name)
        self._network.plug(number)
        self._network.set_link(number, name not in self._failed)

    def impair(self, name: str, direction: int, how: Impairment) -> None:
        """Replace the impairment of a direction, 0 or 1; TestbedError for an invalid direction or value."""
        if direction not in (0, 1):
            raise TestbedError(f"link {name} has no direction {direction}", remedy="give 0 or 1")
        number = self._number(name)
        try:
            self._network.impair(number, direction, **asdict(how))
        except ValueError as error:
            raise TestbedError(str(error), remedy="correct the impairment") from error

    def send_pause(self, name: str, direction: int, stop: bool) -> None:
        """Send a pause frame to stop or resume all classes; TestbedError if links ignore pause frames."""
        try:
            self._network.send_pause(self._number(name), direction, stop)
        except ValueError as error:
            raise TestbedError(
                f"link {name}: {error}", remedy="give `pfc:` under `link.queues.data`"
            ) from error

    def record(self, name: str, path: Path | str, direction: int | None) -> None:
        """Write a link's frames, of one direction or both (None), to a capture file; or TestbedError."""
        number = self._number(name)
        try:
            self._network.record(number, str(path), direction)
        except OSError as error:
            raise TestbedError(
                f"link {name} cannot be recorded: {error.strerror}", remedy="give another file"
            ) from error
        except ValueError as error:
            raise TestbedError(str(error), remedy="leave the direction out to record both") from error

    def deadlocked(self) -> tuple[tuple[str, str, int], ...]:
        """Return (link, "from->to", VL) of each buffer in a cycle of buffers that wait for each other."""
        cycle = []
        for number, direction, vl in self._network.deadlock():
            link = self._links[number]
            ends = (link.a.node, link.b.node) if direction == 0 else (link.b.node, link.a.node)
            cycle.append((link.name, "->".join(ends), vl))
        return tuple(cycle)

    @property
    def names(self) -> Sequence[str]:
        """Names of all links in the engine, in the order of its numbers."""
        return [*self._numbers]

    def queued(self, name: str, direction: int) -> Mapping[int, int]:
        """Return the bytes queued for a direction, by VL; empty VLs are left out."""
        queued = self._network.queued_by_vl(self._number(name), direction)
        return {vl: waiting for vl, waiting in enumerate(queued) if waiting}

    def recent(self, name: str) -> Sequence[RecentFrame]:
        """Return the last RECENT_FRAMES frames of a link; the engine keeps frames from the first call on."""
        number = self._number(name)
        if name not in self._kept:
            self._kept.add(name)
            self._network.keep_recent(number, RECENT_FRAMES)
        return [RecentFrame(*values) for values in self._network.recent(number)]

    def forget(self, name: str) -> None:
        """Stop keeping frames of a link."""
        if name in self._kept:
            self._kept.discard(name)
            self._network.keep_recent(self._number(name), 0)

    def usage(self) -> Mapping[str, tuple[LinkUsage, LinkUsage]]:
        """Return the usage of each link: from its first to its second end, and the reverse.

        Directions with equal counters share an object: a finished run is stored several times as fast.
        """
        stats = self._network.link_stats
        known: dict[tuple[int, ...], LinkUsage] = {}

        def of(number: int, direction: int) -> LinkUsage:
            seen = stats(number, direction)
            del seen["frames_by_vl"]  # a list, of which a LinkUsage has nothing
            counts = tuple(seen.values())
            if counts not in known:
                known[counts] = usage_of(seen)
            return known[counts]

        return {link.name: (of(number, 0), of(number, 1)) for number, link in enumerate(self._links)}

    def _connect(self, link: Link, *, plugged: bool = True) -> int:
        number = self._network.connect(
            self._switches[link.a.node],
            link.a.port,
            self._switches[link.b.node],
            link.b.port,
            link.rate_bps,
            link.delay_ps,
            self._credit_bytes,
            scheduler=self._scheduler,
            plugged=plugged,
            policy=self._port_policies.get((link.name, 0), self._policy),
            policy_back=self._port_policies.get((link.name, 1), self._policy),
        )
        self._links.append(link)
        self._numbers[link.name] = number
        return number

    def ends(self, name: str) -> tuple[str, str]:
        """Return the nodes at the first and the second end of a link or circuit."""
        link = self._links[self._numbers[name]]
        return link.a.node, link.b.node

    def _number(self, name: str) -> int:
        """Return the engine's number of a link or possible circuit; connect a circuit at its first use."""
        if name not in self._numbers and (circuit := circuit_of(self._fabric, name)) is not None:
            return self._connect(circuit_link(self._fabric, *circuit), plugged=False)
        if name not in self._numbers:
            self._fabric.link(name)  # raises an error that lists the links
        return self._numbers[name]


def usage_of(seen: Mapping[str, Any]) -> LinkUsage:
    """Return the engine's counters of a direction as a LinkUsage."""
    return LinkUsage(
        frames=seen["frames"],
        bytes=seen["bytes"],
        busy_ps=seen["busy_ps"],
        lost_frames=seen["lost"] + seen["impaired"],
        refused_frames=seen["refused_down"] + seen["refused_full"],
        max_queued_bytes=seen["max_queued_bytes"],
        full_queue_frames=seen["refused_full"],
        trimmed_frames=seen["trimmed"],
        pause_frames=seen["pauses_sent"],
        overrun_frames=seen["overruns"],
        watchdog_frames=seen["watchdog_dropped"],
        watchdog_ends=seen["watchdog"],
    )
