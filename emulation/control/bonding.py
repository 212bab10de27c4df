# SPDX-License-Identifier: Apache-2.0
"""LACP on a running testbed: bundles come up before the first job, and ToRs learn host routes from LACPDUs.

A ToR has a host route only while it hears the host. HPN learns hosts from ARP, which this testbed's network
header lacks; a host's LACPDUs carry its system address, so ToRs learn hosts from them. Once bundles are up, a
port that leaves its bundle is handled like a failed link (`controller.recovery.node_controller`): the ToR
withdraws the host route and notifies the nodes that send into its plane.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol, final

from controller.plan.diff import diff
from controller.plan.entry import Entry
from controller.plan.plan import Plan
from controller.plan.updates import Update
from controller.recovery.lacp import (
    TOR_IDENTITIES,
    Bond,
    LacpAnswer,
    TorIdentity,
    bonded_ports,
    tor_numbers,
)
from controller.recovery.shared_schemes import SharedSchemes
from emulation.control.frames import lacpdu_frame, read_lacpdu
from emulation.traffic.frames.values import mac
from topologies import Fabric, Node

__all__ = ["Bonding", "LacpTimes"]

# LACP periods that jobs wait for bundles; ports outside their bundle by then count as failed.
_PATIENCE = 10


@final
@dataclass(frozen=True, slots=True)
class LacpTimes:
    """LACP settings: a port sends every `period_ps` and leaves its bundle after `multiplier` silent periods.

    `tors` are the identities of the ToRs of a set.
    """

    period_ps: int
    multiplier: int = 3
    tors: tuple[TorIdentity, ...] = TOR_IDENTITIES


class _Runtime(Protocol):
    """Operations of the control loop used by bonding."""

    @property
    def now_ps(self) -> int: ...
    def at(self, time_ps: int, callback: Callable[[], None]) -> None: ...
    def learn(self, node: str, updates: Sequence[Update]) -> None:
        """Write updates without counting them as reactions to a failure."""
        ...

    def send_frames(self, node: str, frames: Sequence[tuple[int, bytes]]) -> int:
        """Send each frame out of its port; return the number sent."""
        ...

    def port_changed(self, node: str, port: int, up: bool) -> None:
        """React to a port becoming usable or unusable."""
        ...


@final
class _Hosts:
    """Host routes of a ToR, installed as it hears its hosts; `unheard` are ports without a heard host."""

    def __init__(self, schemes: SharedSchemes, fabric: Fabric, tor: str, ports: Sequence[int]) -> None:
        self._schemes = schemes
        self._fabric = fabric
        self._tor = tor
        self.unheard = set(ports)
        self._entries = self._entries_without(frozenset())
        self.withheld = self._step()

    def heard(self, port: int) -> Sequence[Update]:
        """Note the host heard at a port, and return the updates for its route."""
        self.unheard.discard(port)
        return self._step()

    def all(self) -> Sequence[Update]:
        """Return the updates that complete the planned tables."""
        before, self._entries = self._entries, self._entries_without(frozenset())
        return diff(before, self._entries)

    def _step(self) -> Sequence[Update]:
        before, self._entries = self._entries, self._entries_without(frozenset(self.unheard))
        return diff(before, self._entries)

    def _entries_without(self, without: frozenset[int]) -> tuple[Entry, ...]:
        links = (self._fabric.link_at(self._tor, port) for port in without)
        failed = self._schemes.plan.failed | {link.name for link in links if link is not None}
        return self._schemes.without(failed).address_entries(self._tor)


@final
class Bonding:
    """Drives a `Bond` for every NIC and ToR with bonded ports; reactions take effect after `processing_ps`.

    With `withhold`, a ToR gets a host route once it has heard the host. Otherwise host routes exist from the
    start, as in real time, where hosts send from the start.
    """

    def __init__(
        self, runtime: _Runtime, plan: Plan, times: LacpTimes, *, processing_ps: int, withhold: bool
    ) -> None:
        self._runtime = runtime
        self._plan = plan
        self._fabric = plan.fabric
        self._times = times
        self._processing_ps = processing_ps
        self._withhold = withhold
        self._bonds: dict[str, Bond] = {}
        self._hosts: dict[str, _Hosts] = {}
        numbers = tor_numbers(plan.fabric)
        self._system = {node.name: _system(node) for node in plan.fabric.nodes}
        self._system |= {tor: times.tors[number].system for (tor, _), number in numbers.items()}
        self._ports = {
            node.name: ports for node in plan.fabric.nodes if (ports := bonded_ports(plan.fabric, node.name))
        }
        self._waiting: list[Callable[[], None]] = []
        self._active: Callable[[], bool] = lambda: False
        self._give_up_ps = 0
        self.strangers = 0  # hosts heard at a port where the plan has another host
        self.sent = 0
        self.up_ps: int | None = None  # time at which all bundles were up or were given up

    @property
    def period_ps(self) -> int:
        """Period of LACPDUs."""
        return self._times.period_ps

    def uses_lacp(self, node: str, port: int) -> bool:
        """Return whether a port exchanges LACPDUs."""
        return port in self._ports.get(node, ())

    def when_up(self, _: str, then: Callable[[], None]) -> None:
        """Begin a job by calling `then` once all bundles are up."""
        if self.up_ps is None:
            self._waiting.append(then)
        else:
            then()

    def start(self, active: Callable[[], bool]) -> None:
        """Withhold host routes and send LACPDUs while `active()` is true."""
        self._active = active
        schemes = SharedSchemes(self._plan)
        now = self._runtime.now_ps
        for node, ports in self._ports.items():
            if self._withhold and self._fabric.node(node).is_switch:
                self._hosts[node] = _Hosts(schemes, self._fabric, node, ports)
                self._runtime.learn(node, self._hosts[node].withheld)
            self._bonds[node] = Bond(
                self._fabric,
                node,
                system=_system,
                period_ps=self._times.period_ps,
                multiplier=self._times.multiplier,
                start_ps=now,
                tors=self._times.tors,
            )
            self._wake_at(now, node)
        self._give_up_ps = now + _PATIENCE * self._times.period_ps

    def on_port(self, node: str, port: int, up: bool) -> None:
        """Handle a change of carrier of an LACP port."""
        if node in self._bonds:
            self._apply(node, self._bonds[node].on_carrier(port, up))

    def on_frame(self, node: str, port: int, frame: bytes) -> None:
        """Handle a frame of a slow protocol."""
        pdu = read_lacpdu(frame)
        if pdu is not None and node in self._bonds and self.uses_lacp(node, port):
            self._apply(node, self._bonds[node].on_pdu(port, pdu, self._runtime.now_ps))

    def _wake_at(self, time_ps: int, node: str) -> None:
        self._runtime.at(time_ps, lambda: self._wake(node))

    def _wake(self, node: str) -> None:
        if self._active() or self.up_ps is None:
            bond = self._bonds[node]
            self._apply(node, bond.on_timer(self._runtime.now_ps))
            if self.up_ps is None and self._runtime.now_ps >= self._give_up_ps:
                self._finish()
            self._wake_at(bond.deadline_ps, node)

    def _apply(self, node: str, answer: LacpAnswer) -> None:
        for port, up in answer.changes:
            if self.up_ps is not None:
                self._runtime.port_changed(node, port, up)
            elif up and node in self._hosts and self._is_known(node, port):
                self._runtime.at(
                    self._runtime.now_ps + self._processing_ps, lambda at=port: self._learn(node, at)
                )
        source = self._system[node]
        frames = [(port, lacpdu_frame(pdu, source)) for port, pdu in answer.pdus]
        self.sent += self._runtime.send_frames(node, frames)
        if answer.changes and not self._hosts:
            self._finish_when_up()

    def _is_known(self, tor: str, port: int) -> bool:
        """Return whether a ToR hears the planned host at a port; count any other host."""
        partner, planned = self._bonds[tor].partner(port), self._fabric.peer(tor, port)
        assert partner is not None
        assert planned is not None
        known = partner.system == self._system[planned.node]
        self.strangers += not known
        return known

    def _learn(self, tor: str, port: int) -> None:
        if self.up_ps is None and self._bonds[tor].carries(port):
            self._runtime.learn(tor, self._hosts[tor].heard(port))
            self._finish_when_up()

    def _finish_when_up(self) -> None:
        learnt = not any(hosts.unheard for hosts in self._hosts.values())
        if learnt and len(self._bonds) == len(self._ports) and all(b.is_up for b in self._bonds.values()):
            self._finish()

    def _finish(self) -> None:
        if self.up_ps is not None:
            return
        self.up_ps = self._runtime.now_ps
        for tor, hosts in self._hosts.items():
            self._runtime.learn(tor, hosts.all())
        for node, bond in self._bonds.items():
            for port in self._ports[node]:
                if not bond.carries(port):
                    self._runtime.port_changed(node, port, False)
        for then in self._waiting:
            then()


def _system(node: Node) -> str:
    return mac(node.address)
