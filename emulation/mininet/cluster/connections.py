# SPDX-License-Identifier: Apache-2.0
"""Links of a fabric over several machines as connections, made by orders to the parts."""

from collections.abc import Collection, Mapping, Sequence, Set
from dataclasses import replace
from pathlib import Path
from typing import Final, final

from emulation.linux.record import RunRecord
from emulation.mininet.cluster.clocks import Clocks
from emulation.mininet.cluster.cutting import Cut
from emulation.mininet.cluster.plans import Tunnels
from emulation.mininet.cluster.session import Session
from emulation.mininet.cluster.sessions import Sessions
from emulation.mininet.links.cabling import endpoint_at
from emulation.mininet.links.connections import Tapped
from emulation.mininet.links.counters import EndpointCounters
from emulation.testbed import Impairment
from topologies import End, Link

__all__ = ["MachinesConnections"]

_PIECE: Final = 1 << 20


@final
class MachinesConnections:
    """`LinkConnections` over several machines; both ends of a link between two are connected to a tunnel."""

    def __init__(
        self, cut: Cut, sessions: Sessions, tunnels: Tunnels, clocks: Clocks, hosts: Collection[str]
    ) -> None:
        self._cut = cut
        self._sessions = sessions
        self._new_tunnels = tunnels
        self._clocks = clocks
        self.hosts: Collection[str] = hosts
        self._tunnels: dict[tuple[str, str], EndpointCounters] = {}
        self._captures: list[tuple[Session, Path]] = []

    def limiters(self, rate_bps: float) -> frozenset[str]:
        """Return the mechanisms of all machines; see `LinkConnections.limiters`."""
        by_machine = self._sessions.each(lambda session: session.call("connections.limiters", rate_bps))
        return frozenset().union(*by_machine.values())

    # -- links

    def join(self, link: Link) -> None:
        """Connect the two ends of a link, by a new tunnel if they are on two machines."""
        machines = self._machines(link)
        if len(machines) == 1:
            self._sessions[machines[0]].call("connections.join", link, None)
            return
        tunnels = self._new_tunnels.tunnel(link)
        self._sessions.each(
            lambda session: session.call("connections.join", link, tunnels[session.machine.name]), machines
        )

    def cut(self, link: Link) -> None:
        """Disconnect the two ends of a link, and remove its tunnel, if any."""
        self._sessions.each(lambda session: session.call("connections.cut", link), self._machines(link))

    def set_carrier(self, link: Link, up: bool) -> None:
        """Take or restore the carrier of both ends of a connected link, on one machine or two."""
        self._sessions.each(
            lambda session: session.call("connections.set_carrier", link, up), self._machines(link)
        )

    def set_host_carrier(self, node: str, up: bool) -> None:
        """Take or restore the carrier of both ends of a host's link."""
        self._of(node).call("connections.set_host_carrier", node, up)

    def impair(self, link: Link, direction: int, how: Impairment) -> None:
        """Replace the impairment of direction 0 or 1 of a connected link, on the sender's machine."""
        sender = link.b.node if direction == 1 else link.a.node
        self._of(sender).call("connections.impair", link, direction, how)

    # -- counters and captures

    def counters(self) -> Mapping[str, EndpointCounters]:
        """Return the counters of every endpoint with a device, by name.

        Frames that drop or wait at the end of a tunnel count at the endpoint of the port that it stands for.
        """
        counted = self._sessions.each(lambda session: session.call("connections.counters"))
        merged: dict[str, EndpointCounters] = {}
        tunnels: dict[tuple[str, str], EndpointCounters] = {}
        for machine, endpoints in counted.items():
            for name, endpoint in endpoints.items():
                node, _, _ = name.rpartition(":")
                if self._cut.machine_of[node] == machine:
                    merged[name] = endpoint
                else:
                    tunnels[machine, name] = endpoint
        for (_, name), endpoint in tunnels.items():
            dropped = replace(endpoint, from_frames=0, from_bytes=0, to_frames=0, to_bytes=0)
            merged[name] = merged[name] + dropped
        self._tunnels = tunnels
        return merged

    def lost_between(self, struck: Set[End]) -> int:
        """Return the number of frames lost inside tunnels, as of the last `counters`.

        Links with an end in `struck` do not count: they were down for a time.
        """
        lost = 0
        for link in self._cut.crossing:
            if {link.a, link.b} & struck:
                continue
            for sender, receiver in ((link.a, link.b), (link.b, link.a)):
                entered = self._tunnels[self._cut.machine_of[sender.node], endpoint_at(receiver)]
                left = self._tunnels[self._cut.machine_of[receiver.node], endpoint_at(sender)]
                lost += max(0, entered.to_frames - left.from_frames - left.from_dropped_veth)
        return lost

    def record(self, link: Link, path: Path, record: RunRecord) -> None:
        """Capture the frames of a link on the machine of its first end; close() copies the file to `path`."""
        session = self._of(link.a.node)
        session.call("record", link, path.name)
        self._captures.append((session, path))

    def recent(self, link: Link) -> Sequence[Tapped]:
        """Return the last frames of a link, tapped at its first end from the first call on."""
        machine = self._cut.machine_of[link.a.node]
        return [
            (number, self._clocks.own(machine, at_ns), backwards, frame)
            for number, at_ns, backwards, frame in self._sessions[machine].call("connections.recent", link)
        ]

    def forget(self, link: Link) -> None:
        self._of(link.a.node).call("connections.forget", link)

    def close(self) -> None:
        """End all captures, and copy their files to this machine."""
        captures, self._captures = self._captures, []
        for session in dict.fromkeys(session for session, _ in captures):
            session.call("connections.end_captures")
        for session, path in captures:
            with path.open("wb") as file:
                while piece := session.call("capture", path.name, file.tell(), _PIECE):
                    file.write(piece)

    def _machines(self, link: Link) -> Sequence[str]:
        return list(dict.fromkeys(self._cut.machine_of[end.node] for end in (link.a, link.b)))

    def _of(self, node: str) -> Session:
        return self._sessions[self._cut.machine_of[self._cut.fabric.node(node).name]]
