# SPDX-License-Identifier: Apache-2.0
"""Hellos between neighbours, to detect the failure of a link with its carrier up.

Modelled on bidirectional forwarding detection (RFC 5880). Each end of a link sends a hello once a period. An
end declares the link dead half a period after the last of `multiplier` missing hellos was due. A hello says
whether its sender hears the other end, so both ends stop using a link that works in one direction only. A
dead link returns once its ends have heard `multiplier` hellos in a row, so a link that loses many frames
stays out of use.

A state machine without clock or socket: its driver passes events and the time in, sends the hellos that it
returns and passes the changes to the node's controller.
"""

from dataclasses import dataclass
from typing import final

from controller.errors import PlanError
from topologies import Fabric

__all__ = ["Hello", "HelloAnswer", "HelloSessions"]


@final
@dataclass(frozen=True, slots=True)
class Hello:
    """Hello from a port to the neighbour's port; the sender knows both ports and their nodes' addresses."""

    cna: int
    port: int
    neighbour_cna: int
    neighbour_port: int
    hears: bool


@final
@dataclass(frozen=True, slots=True)
class HelloAnswer:
    """Reaction to an event: `changes`, (own port, True if now usable), and `hellos`, (egress port, Hello)."""

    changes: tuple[tuple[int, bool], ...] = ()
    hellos: tuple[tuple[int, Hello], ...] = ()


@final
class _Session:
    """State of a link at one of its ends; a link is assumed to work at first, as the plan assumes."""

    __slots__ = (
        "carrier",
        "cna",
        "expires",
        "heard",
        "hears",
        "in_a_row",
        "last",
        "neighbour_cna",
        "neighbour_port",
        "port",
    )

    def __init__(self, cna: int, port: int, neighbour_cna: int, neighbour_port: int) -> None:
        self.cna, self.port = cna, port
        self.neighbour_cna, self.neighbour_port = neighbour_cna, neighbour_port
        self.carrier = True
        self.hears = True  # this end receives the neighbour's hellos
        self.heard = True  # the neighbour says that it receives this end's hellos
        self.in_a_row = 0
        self.last = 0
        self.expires = 0

    @property
    def usable(self) -> bool:
        return self.carrier and self.hears and self.heard

    def hello(self) -> Hello:
        return Hello(self.cna, self.port, self.neighbour_cna, self.neighbour_port, self.hears)


@final
class HelloSessions:
    """Hello sessions of one node, one for each linked port. Times are picoseconds.

    The first hellos leave at `start_ps`; silence counts from there.
    """

    def __init__(
        self, fabric: Fabric, node: str, *, period_ps: int, multiplier: int = 3, start_ps: int = 0
    ) -> None:
        if period_ps <= 0 or multiplier < 1:
            raise PlanError(
                f"{node} cannot send a hello every {period_ps} ps with a multiplier of {multiplier}",
                remedy="give a period above 0 and a multiplier of 1 or more",
            )
        self.node = node
        self.unexpected = 0  # hellos from or to another port than the plan has
        self._period = period_ps
        self._multiplier = multiplier
        self._next = start_ps
        self._sessions: dict[int, _Session] = {}
        own = fabric.node(node)
        for port in own.ports:
            neighbour = fabric.peer(node, port.number)
            if neighbour is not None:
                session = _Session(
                    own.address, port.number, fabric.node(neighbour.node).address, neighbour.port
                )
                session.expires = start_ps + self._silence
                self._sessions[port.number] = session

    @property
    def _silence(self) -> int:
        return self._period * self._multiplier + self._period // 2

    @property
    def deadline_ps(self) -> int:
        """Time to call on_timer next."""
        return min([self._next, *(session.expires for session in self._sessions.values())])

    def usable(self, port: int) -> bool:
        """Return whether a port has a carrier, and each end of its link hears the other end."""
        return self._session(port).usable

    @property
    def silent_ports(self) -> tuple[int, ...]:
        """Ports that have a carrier but are unusable."""
        return tuple(
            session.port for session in self._sessions.values() if session.carrier and not session.usable
        )

    def readdress(self, fabric: Fabric) -> None:
        """Continue with the node addresses of `fabric`, a fabric with the same links.

        Hellos under way with old addresses are counted as unexpected.
        """
        for session in self._sessions.values():
            neighbour = fabric.peer(self.node, session.port)
            assert neighbour is not None
            session.cna, session.neighbour_cna = (
                fabric.node(self.node).address,
                fabric.node(neighbour.node).address,
            )

    def on_carrier(self, port: int, up: bool) -> HelloAnswer:
        """Handle a change of a port's carrier; after a silence, hellos have to return as well."""
        session = self._session(port)
        before = session.usable
        session.carrier = up
        return self._changed(session, before)

    def on_hello(self, port: int, hello: Hello, now: int) -> HelloAnswer:
        """Handle the arrival of a hello at a port."""
        session = self._session(port)
        there = (session.neighbour_cna, session.neighbour_port, session.cna, session.port)
        if (hello.cna, hello.port, hello.neighbour_cna, hello.neighbour_port) != there:
            self.unexpected += 1
            return HelloAnswer()
        before = session.usable
        if not session.hears:
            # Twice the period: clocks and queues shift hellos, yet a missing hello is noticed.
            close = now - session.last < 2 * self._period
            session.in_a_row = session.in_a_row + 1 if close else 1
            session.hears = session.in_a_row >= self._multiplier
        session.heard = hello.hears
        session.last = now
        session.expires = now + self._silence
        return self._changed(session, before)

    def on_timer(self, now: int) -> HelloAnswer:
        """Do what is due: report silent ports as down and send hellos.

        A port that stays silent is reported again after the same time: a notice of the other end, sent before
        that end knew of the failure, may have reported the link as working.
        """
        changes: list[tuple[int, bool]] = []
        for session in self._sessions.values():
            if session.expires <= now:
                session.hears = False
                session.in_a_row = 0
                session.expires = now + self._silence
                changes.append((session.port, False))
        hellos: list[tuple[int, Hello]] = []
        if self._next <= now:
            hellos = [(port, session.hello()) for port, session in self._sessions.items() if session.carrier]
            # A driver that calls late skips the periods that have passed.
            self._next += self._period * ((now - self._next) // self._period + 1)
        return HelloAnswer(tuple(changes), tuple(hellos))

    def _changed(self, session: _Session, before: bool) -> HelloAnswer:
        if session.usable == before:
            return HelloAnswer()
        return HelloAnswer(changes=((session.port, not before),))

    def _session(self, port: int) -> _Session:
        try:
            return self._sessions[port]
        except KeyError:
            raise PlanError(
                f"{self.node} has no link on port {port}", remedy="ask for ports that have a link"
            ) from None
