# SPDX-License-Identifier: Apache-2.0
"""LACP between a host's NIC and two ToRs that know nothing of each other (HPN, non-stacked dual-ToR).

A NIC takes its two ports for one bundle when both partners have the same system and key, and port numbers of
their own (IEEE 802.1AX). Both ToRs say that they are system 00:00:5E:00:01:01, which VRRP has reserved, and
add 300 times their number in the set to their port's number, which is below 256 (HPN, non-stacked dual-ToR).
So no ToR needs to hear of the other, and no link joins them.

What is carried over from the standard: the state bits, a port that joins when both ends see each other as
they are, LACPDUs once a period and whenever the partner's view is old, and a port that leaves when
`multiplier` of them did not come. Marker frames and limits of ports are left out, and priorities are equal.

State machines without clock or socket, as those of `controller.recovery.hello`: the driver feeds them
carrier changes,
LACPDUs and the time, sends what they return and tells the node's controller which ports can be used.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from enum import IntFlag
from typing import final

from controller.errors import PlanError
from topologies import Fabric, Node
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
    "bonded_ports",
    "tor_numbers",
]

# From the range of VRRP, the same on all ToRs (HPN, non-stacked dual-ToR).
SYSTEM = "00:00:5e:00:01:01"
PORT_OFFSET = 300


class State(IntFlag):
    """Of a port, as LACPDUs carry it."""

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
    """A port as one end of a link sees it: whose it is, which one, and how it does."""

    system: str
    key: int
    port: int
    state: State = _NO_STATE

    def is_port(self, other: "Participant") -> bool:
        """Whether both are the same port, in whatever state."""
        return (self.system, self.key, self.port) == (other.system, other.key, other.port)


# What is said of a partner that has not been heard.
UNKNOWN_PARTNER = Participant("00:00:00:00:00:00", 0, 0)


@final
@dataclass(frozen=True, slots=True)
class Lacpdu:
    """What one end says: its own port, and what it knows of the other."""

    actor: Participant
    partner: Participant


@final
@dataclass(frozen=True, slots=True)
class LacpAnswer:
    """`changes`: own ports, and whether they carry now. `pdus`: each with the port it goes out of."""

    changes: tuple[tuple[int, bool], ...] = ()
    pdus: tuple[tuple[int, Lacpdu], ...] = ()


def tor_numbers(fabric: Fabric) -> dict[tuple[str, int], int]:
    """By switch and port, which of its NIC's ports a link leads to: the number of the ToR in its set."""

    def find() -> dict[tuple[str, int], int]:
        found: dict[tuple[str, int], int] = {}
        for node in fabric.nodes:
            for number, port in enumerate(nic_ports(node)):
                if (far := fabric.peer(node.name, port)) is not None:
                    found[far.node, far.port] = number
        return found

    return fabric.cached("tor numbers", find)


def bonded_ports(fabric: Fabric, node: str) -> tuple[int, ...]:
    """The ports of a node that speak LACP: a NIC's, and those of ToRs that lead to one."""
    here = fabric.node(node)
    if not here.tier:
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
        """Whether there is a partner, and it knows this end."""
        return self.carrier and self.seen is not None and self.seen.is_port(self.actor)

    @property
    def in_step(self) -> bool:
        """Whether the other end has put its port into the bundle."""
        return self.partner is not None and bool(self.partner.state & State.SYNCHRONIZATION)

    @property
    def pdu(self) -> "Lacpdu":
        return Lacpdu(self.actor, self.partner or UNKNOWN_PARTNER)


@final
class Bond:
    """The ports of one node that speak LACP: of a NIC one bundle, of a ToR a bundle each.

    Times are picoseconds. `system` gives a host's system id. With an `offset` of 0 two ToRs say the same of
    different ports, and only one of these joins the bundle.
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
        offset: int = PORT_OFFSET,
    ) -> None:
        if period_ps <= 0 or multiplier < 1:
            raise PlanError(
                f"LACP of {node}: a frame in {period_ps} ps, gone after {multiplier}",
                remedy="give a period above 0 and a multiplier of 1 or more",
            )
        self.node = node
        self._period = period_ps
        self._multiplier = multiplier
        self._next = start_ps
        here = fabric.node(node)
        self._is_host = not here.tier
        numbers = tor_numbers(fabric)
        self._ports: dict[int, _Port] = {}
        for index, port in enumerate(bonded_ports(fabric, node)):
            if self._is_host:
                actor = Participant(system(here), 1, index + 1, _ALWAYS)
            else:
                # The same on both ToRs of a set: a key a host.
                actor = Participant(SYSTEM, port, port + offset * numbers[node, port], _ALWAYS)
            self._ports[port] = _Port(actor)

    @property
    def deadline_ps(self) -> int:
        """When on_timer has something to do next."""
        return min([self._next, *(one.expires for one in self._ports.values() if one.expires is not None)])

    def carries(self, port: int) -> bool:
        """Whether a port is in its bundle at both ends, so that frames may take it."""
        one = self._port(port)
        return one.heard and one.in_step and one.actor.state & _CARRIES == _CARRIES

    def partner(self, port: int) -> Participant | None:
        """Who is at the other end, None before it has been heard."""
        return self._port(port).partner

    @property
    def is_up(self) -> bool:
        """Whether all ports carry."""
        return all(self.carries(port) for port in self._ports)

    def on_carrier(self, port: int, up: bool) -> LacpAnswer:
        """The carrier of a port came or went: what was known of the partner is void."""
        one = self._port(port)
        before = self._carrying()
        one.carrier = up
        one.partner = one.seen = None
        one.said = one.expires = None
        return self._answer(before)

    def on_pdu(self, port: int, pdu: Lacpdu, now: int) -> LacpAnswer:
        """An LACPDU came in by a port."""
        one = self._port(port)
        before = self._carrying()
        one.partner, one.seen = pdu.actor, pdu.partner
        one.expires = now + self._silence
        return self._answer(before, heard=port)

    def on_timer(self, now: int) -> LacpAnswer:
        """Do what is due: forget partners that are silent, speak."""
        before = self._carrying()
        for one in self._ports.values():
            if one.expires is not None and one.expires <= now:
                one.partner = one.seen = None
                one.expires = None
        if self._next <= now:
            for one in self._ports.values():
                one.said = None
            self._next += self._period * ((now - self._next) // self._period + 1)  # late ones are not made up
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
        for port, one in self._ports.items():
            # Also when the partner's view of this end is old.
            if one.carrier and (one.said != one.actor or (heard == port and one.seen != one.actor)):
                one.said = one.actor
                pdus.append((port, one.pdu))
        return LacpAnswer(tuple(changes), tuple(pdus))

    def _select(self) -> None:
        """Which ports are in the bundle; the first partner heard decides whose it is."""
        bundle: Participant | None = None
        taken: set[int] = set()
        for one in self._ports.values():
            partner = one.partner
            joined = partner is not None
            if partner is not None and self._is_host:
                bundle = bundle or partner
                whose = (partner.system, partner.key) == (bundle.system, bundle.key)
                joined = whose and partner.port not in taken
                taken.add(partner.port)
            state = _ALWAYS
            if joined:
                state |= State.SYNCHRONIZATION
                if one.heard and one.in_step:
                    state |= State.COLLECTING | State.DISTRIBUTING
            elif partner is None:
                state |= State.DEFAULTED
            one.actor = replace(one.actor, state=state)

    def _port(self, port: int) -> _Port:
        try:
            return self._ports[port]
        except KeyError:
            raise PlanError(
                f"{self.node}: port {port} speaks no LACP", remedy="ask for ports between a NIC and a ToR"
            ) from None
