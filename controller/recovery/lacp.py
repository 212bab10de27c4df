# SPDX-License-Identifier: Apache-2.0
"""LACP between a host's NIC and two independent ToRs (HPN, non-stacked dual-ToR).

A NIC bundles its two ports when both partners announce the same system and key and different port numbers
(IEEE 802.1AX). Both ToRs announce the system 00:00:5E:00:01:01, which VRRP has reserved, and add 300 times
their number in the set to their port number, which is below 256 (HPN, non-stacked dual-ToR). So the ToRs need
not know of each other, and no link joins them.

Taken from the standard: the state bits; a port joins when both ends see each other's current state; LACPDUs
are sent once a period and whenever the partner's view is outdated; a port leaves after `multiplier` missing
LACPDUs. Marker frames and port limits are left out, and all priorities are equal.

State machines without clock or socket, like those of `controller.recovery.hello`: the driver passes carrier
changes, LACPDUs and the time in, sends the returned LACPDUs and tells the node's controller the usable ports.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from enum import IntFlag
from typing import final

from controller.errors import PlanError
from topologies import Fabric, Node
from topologies.model.computed_once import computed_once
from topologies.model.places import nic_ports

__all__ = [
    "PORT_OFFSET",
    "SYSTEM",
    "UNKNOWN_PARTNER",
    "Bond",
    "LacpAnswer",
    "Lacpdu",
    "Participant",
    "State",
    "TOR_IDENTITIES",
    "TorIdentity",
    "bonded_ports",
    "tor_numbers",
]

# From the range of VRRP, the same on all ToRs (HPN, non-stacked dual-ToR).
SYSTEM = "00:00:5e:00:01:01"
PORT_OFFSET = 300


class State(IntFlag):
    """State bits of a port, as in LACPDUs."""

    ACTIVITY = 0x01
    SHORT_TIMEOUT = 0x02
    AGGREGATION = 0x04
    SYNCHRONIZATION = 0x08
    COLLECTING = 0x10
    DISTRIBUTING = 0x20
    DEFAULTED = 0x40
    EXPIRED = 0x80


_NO_STATE = State(0)
_ALWAYS = State.ACTIVITY | State.SHORT_TIMEOUT | State.AGGREGATION
_CARRIES = State.SYNCHRONIZATION | State.COLLECTING | State.DISTRIBUTING


@final
@dataclass(frozen=True, slots=True)
class Participant:
    """A port as an end of a link sees it: its system, its number and its state."""

    system: str
    key: int
    port: int
    state: State = _NO_STATE

    def is_port(self, other: "Participant") -> bool:
        """Return whether `other` is the same port, in any state."""
        return (self.system, self.key, self.port) == (other.system, other.key, other.port)


# Announced partner before an LACPDU of the partner has arrived.
UNKNOWN_PARTNER = Participant("00:00:00:00:00:00", 0, 0)


@final
@dataclass(frozen=True, slots=True)
class TorIdentity:
    """Identity announced by a ToR in its LACPDUs: its system, and the offset added to its port numbers."""

    system: str = SYSTEM
    port_offset: int = 0


# Identities of the ToRs of a set, by their number in it (HPN, non-stacked dual-ToR).
TOR_IDENTITIES = (TorIdentity(), TorIdentity(port_offset=PORT_OFFSET))


@final
@dataclass(frozen=True, slots=True)
class Lacpdu:
    """LACPDU: the sender's port, and the sender's view of its partner."""

    actor: Participant
    partner: Participant


@final
@dataclass(frozen=True, slots=True)
class LacpAnswer:
    """Reaction to an event: `changes`, (own port, True if now usable), and `pdus`, (egress port, LACPDU)."""

    changes: tuple[tuple[int, bool], ...] = ()
    pdus: tuple[tuple[int, Lacpdu], ...] = ()


@computed_once
def tor_numbers(fabric: Fabric) -> dict[tuple[str, int], int]:
    """Return the number of each ToR in its set, by switch and port; the NIC's port has the same number."""
    numbers: dict[tuple[str, int], int] = {}
    for node in fabric.nodes:
        for number, port in enumerate(nic_ports(node)):
            if (neighbour := fabric.peer(node.name, port)) is not None:
                numbers[neighbour.node, neighbour.port] = number
    return numbers


def bonded_ports(fabric: Fabric, node: str) -> tuple[int, ...]:
    """Return the LACP ports of a node: a NIC's ports, and ToR ports linked to a NIC."""
    here = fabric.node(node)
    if not here.is_switch:
        return tuple(port for port in nic_ports(here) if fabric.peer(node, port) is not None)
    known = tor_numbers(fabric)
    return tuple(port.number for port in here.ports if (node, port.number) in known)


@final
class _Port:
    __slots__ = ("actor", "carrier", "expires", "partner", "said", "seen")

    def __init__(self, actor: Participant) -> None:
        self.actor = actor
        self.partner: Participant | None = None
        self.seen: Participant | None = None  # what the partner last said of this end
        self.said: Participant | None = None  # what this end last said of itself
        self.carrier = True
        self.expires: int | None = None

    @property
    def heard(self) -> bool:
        """True if a partner has been heard and knows this end."""
        return self.carrier and self.seen is not None and self.seen.is_port(self.actor)

    @property
    def in_step(self) -> bool:
        """True if the partner has put its port into the bundle."""
        return self.partner is not None and bool(self.partner.state & State.SYNCHRONIZATION)

    @property
    def pdu(self) -> "Lacpdu":
        return Lacpdu(self.actor, self.partner or UNKNOWN_PARTNER)


@final
class Bond:
    """LACP of one node: all ports of a NIC form one bundle, each port of a ToR its own.

    Times are picoseconds. `system` gives a host's system id, `tors` the identity of a ToR by its number in
    its set. Where ToRs announce different systems or equal port numbers, only one port joins the bundle.
    """

    def __init__(
        self,
        fabric: Fabric,
        node: str,
        *,
        system: Callable[[Node], str],
        period_ps: int,
        multiplier: int = 3,
        start_ps: int = 0,
        tors: Sequence[TorIdentity] = TOR_IDENTITIES,
    ) -> None:
        if period_ps <= 0 or multiplier < 1:
            raise PlanError(
                f"{node} cannot send an LACPDU every {period_ps} ps with a multiplier of {multiplier}",
                remedy="give a period above 0 and a multiplier of 1 or more",
            )
        self.node = node
        self._period = period_ps
        self._multiplier = multiplier
        self._next = start_ps
        here = fabric.node(node)
        self._is_host = not here.is_switch
        numbers = tor_numbers(fabric)
        self._ports: dict[int, _Port] = {}
        for index, port in enumerate(bonded_ports(fabric, node)):
            if self._is_host:
                actor = Participant(system(here), 1, index + 1, _ALWAYS)
            else:
                # Both ToRs of a set use the same key for a host.
                identity = tors[numbers[node, port]]
                actor = Participant(identity.system, port, port + identity.port_offset, _ALWAYS)
            self._ports[port] = _Port(actor)

    @property
    def deadline_ps(self) -> int:
        """Time to call on_timer next."""
        return min(
            [self._next, *(member.expires for member in self._ports.values() if member.expires is not None)]
        )

    def carries(self, port: int) -> bool:
        """Return whether a port is in its bundle at both ends, so that frames may use it."""
        member = self._port(port)
        return member.heard and member.in_step and member.actor.state & _CARRIES == _CARRIES

    def partner(self, port: int) -> Participant | None:
        """Return the partner at the other end; None before the partner has been heard."""
        return self._port(port).partner

    @property
    def is_up(self) -> bool:
        """True if all ports are in their bundles at both ends."""
        return all(self.carries(port) for port in self._ports)

    def on_carrier(self, port: int, up: bool) -> LacpAnswer:
        """Handle a change of a port's carrier, and discard the partner's state."""
        member = self._port(port)
        before = self._carrying()
        member.carrier = up
        member.partner = member.seen = None
        member.said = member.expires = None
        return self._answer(before)

    def on_pdu(self, port: int, pdu: Lacpdu, now: int) -> LacpAnswer:
        """Handle the arrival of an LACPDU at a port."""
        member = self._port(port)
        before = self._carrying()
        member.partner, member.seen = pdu.actor, pdu.partner
        member.expires = now + self._silence
        return self._answer(before, heard=port)

    def on_timer(self, now: int) -> LacpAnswer:
        """Do what is due: discard silent partners and send LACPDUs."""
        before = self._carrying()
        for member in self._ports.values():
            if member.expires is not None and member.expires <= now:
                member.partner = member.seen = None
                member.expires = None
        if self._next <= now:
            for member in self._ports.values():
                member.said = None
            # A driver that calls late skips the periods that have passed.
            self._next += self._period * ((now - self._next) // self._period + 1)
        return self._answer(before)

    @property
    def _silence(self) -> int:
        return self._period * self._multiplier + self._period // 2

    def _carrying(self) -> dict[int, bool]:
        return {port: self.carries(port) for port in self._ports}

    def _answer(self, before: dict[int, bool], heard: int | None = None) -> LacpAnswer:
        self._select()
        changes = [(port, now_up) for port, now_up in self._carrying().items() if now_up != before[port]]
        pdus: list[tuple[int, Lacpdu]] = []
        for port, member in self._ports.items():
            # Send an LACPDU if this end's state changed, or the partner's view of this end is outdated.
            if member.carrier and (
                member.said != member.actor or (heard == port and member.seen != member.actor)
            ):
                member.said = member.actor
                pdus.append((port, member.pdu))
        return LacpAnswer(tuple(changes), tuple(pdus))

    def _select(self) -> None:
        """Select the ports of the bundle; the first partner heard decides its system and key."""
        bundle: Participant | None = None
        taken: set[int] = set()
        for member in self._ports.values():
            partner = member.partner
            joined = partner is not None
            if partner is not None and self._is_host:
                bundle = bundle or partner
                whose = (partner.system, partner.key) == (bundle.system, bundle.key)
                joined = whose and partner.port not in taken
                taken.add(partner.port)
            state = _ALWAYS
            if joined:
                state |= State.SYNCHRONIZATION
                if member.heard and member.in_step:
                    state |= State.COLLECTING | State.DISTRIBUTING
            elif partner is None:
                state |= State.DEFAULTED
            member.actor = replace(member.actor, state=state)

    def _port(self, port: int) -> _Port:
        try:
            return self._ports[port]
        except KeyError:
            raise PlanError(
                f"port {port} of {self.node} does not use LACP",
                remedy="ask for ports between a NIC and a ToR",
            ) from None
