# SPDX-License-Identifier: Apache-2.0
"""LACP between NICs and ToRs, its frames carried over the links of a fabric in simulated time."""

import heapq
import itertools
from collections.abc import Callable, Sequence

import pytest

from controller import PlanError
from controller.recovery.lacp import (
    PORT_OFFSET,
    SYSTEM,
    TOR_IDENTITIES,
    Bond,
    LacpAnswer,
    Lacpdu,
    TorIdentity,
    bonded_ports,
)
from topologies import Fabric, Node, hpn

PERIOD = 1000
DELAY = 5
# A frame each way, and one that says that it came.
SOON = 4 * DELAY


def own(host: Node) -> str:
    return f"02:00:00:00:00:{host.address:02x}"


class Wire:
    """Bonds of all nodes, whose frames arrive after DELAY unless they are lost."""

    def __init__(self, fabric: Fabric, tors: Sequence[TorIdentity] = TOR_IDENTITIES) -> None:
        self.fabric = fabric
        self.now = 0
        self.carries: Callable[[str, str], bool] = lambda node, neighbour: True
        self.changes: list[tuple[int, str, int, bool]] = []
        self.said: list[tuple[str, int, Lacpdu]] = []
        self.bonds = {
            node.name: Bond(fabric, node.name, system=own, period_ps=PERIOD, tors=tors)
            for node in fabric.nodes
            if bonded_ports(fabric, node.name)
        }
        self._count = itertools.count()
        self._events: list[tuple[int, int, Callable[[], None]]] = []
        for name in self.bonds:
            self._at(0, lambda name=name: self._wake(name))

    def run(self, until: int) -> None:
        while self._events and self._events[0][0] <= until:
            self.now, _, event = heapq.heappop(self._events)
            event()
        self.now = until

    def carrier(self, node: str, port: int, up: bool) -> None:
        neighbour = self.fabric.peer(node, port)
        assert neighbour is not None
        self.heed(node, self.bonds[node].on_carrier(port, up))
        self.heed(neighbour.node, self.bonds[neighbour.node].on_carrier(neighbour.port, up))

    def heed(self, node: str, answer: LacpAnswer) -> None:
        self.changes += [(self.now, node, port, up) for port, up in answer.changes]
        for port, pdu in answer.pdus:
            remote = self.fabric.peer(node, port)
            assert remote is not None
            self.said.append((node, port, pdu))
            if self.carries(node, remote.node):
                self._at(
                    self.now + DELAY,
                    lambda neighbour=remote, pdu=pdu: self._arrives(neighbour.node, neighbour.port, pdu),
                )

    def carrying(self, node: str) -> list[bool]:
        return [self.bonds[node].carries(port) for port in bonded_ports(self.fabric, node)]

    def _arrives(self, node: str, port: int, pdu: Lacpdu) -> None:
        self.heed(node, self.bonds[node].on_pdu(port, pdu, self.now))

    def _wake(self, node: str) -> None:
        self.heed(node, self.bonds[node].on_timer(self.now))
        self._at(self.bonds[node].deadline_ps, lambda: self._wake(node))

    def _at(self, time: int, event: Callable[[], None]) -> None:
        heapq.heappush(self._events, (time, next(self._count), event))


@pytest.fixture
def wire() -> Wire:
    return Wire(hpn(1, 2, 2, aggs=1))


def test_both_ports_of_all_nics_join_at_once(wire: Wire) -> None:
    wire.run(SOON)
    assert all(bond.is_up for bond in wire.bonds.values())
    assert all(up for _, _, _, up in wire.changes)


def test_tors_are_one_system_with_ports_of_their_own(wire: Wire) -> None:
    wire.run(SOON)
    partners = [wire.bonds["gpu2"].partner(port) for port in bonded_ports(wire.fabric, "gpu2")]
    assert [partner and (partner.system, partner.key, partner.port) for partner in partners] == [
        (SYSTEM, 2, 2),
        (SYSTEM, 2, 2 + PORT_OFFSET),
    ]


def test_of_ports_with_one_number_one_joins() -> None:
    wire = Wire(hpn(1, 2, 2, aggs=1), tors=(TorIdentity(), TorIdentity()))
    wire.run(10 * PERIOD)
    assert wire.carrying("gpu0") == [True, False]
    assert wire.carrying("tor0.0.1") == [False, False]


def test_another_system_does_not_join(wire: Wire) -> None:
    port = bonded_ports(wire.fabric, "gpu0")[1]
    wire.run(SOON)
    stranger = wire.bonds["gpu0"].partner(port)
    assert stranger is not None
    strange = Lacpdu(
        type(stranger)("02:00:00:00:00:99", stranger.key, stranger.port, stranger.state),
        next(pdu.actor for node, at, pdu in reversed(wire.said) if (node, at) == ("gpu0", port)),
    )
    wire.heed("gpu0", wire.bonds["gpu0"].on_pdu(port, strange, wire.now))
    assert wire.carrying("gpu0") == [True, False]


def test_once_a_period_is_enough(wire: Wire) -> None:
    wire.run(SOON)
    before = len(wire.said)
    wire.run(10 * PERIOD + SOON)
    links = 2 * 4
    assert len(wire.said) - before == 10 * 2 * links
    assert wire.bonds["gpu0"].deadline_ps == 11 * PERIOD


def test_a_carrier_that_goes_takes_its_port_out_and_back(wire: Wire) -> None:
    wire.run(SOON)
    wire.carrier("gpu0", bonded_ports(wire.fabric, "gpu0")[0], False)
    assert wire.carrying("gpu0") == [False, True]
    assert wire.carrying("tor0.0.0") == [False, True]
    wire.run(5 * PERIOD)
    wire.carrier("gpu0", bonded_ports(wire.fabric, "gpu0")[0], True)
    assert wire.carrying("gpu0") == [False, True]
    wire.run(5 * PERIOD + SOON)
    assert wire.carrying("gpu0") == [True, True]


@pytest.mark.parametrize("lost", [("gpu0", "tor0.0.1"), ("tor0.0.1", "gpu0")])
def test_silence_either_way_is_noticed_by_both_ends(wire: Wire, lost: tuple[str, str]) -> None:
    wire.run(SOON)
    wire.carries = lambda node, neighbour: (node, neighbour) != lost
    wire.run(2 * PERIOD + 2 * DELAY)
    assert wire.carrying("gpu0") == [True, True]
    wire.run(4 * PERIOD + SOON)
    assert wire.carrying("gpu0") == [True, False]
    assert wire.carrying("tor0.0.1") == [False, True]
    wire.carries = lambda node, neighbour: True
    wire.run(6 * PERIOD)
    assert all(bond.is_up for bond in wire.bonds.values())


def test_nothing_but_nics_and_tors_speaks(wire: Wire) -> None:
    assert bonded_ports(wire.fabric, "agg0.0") == ()
    with pytest.raises(PlanError, match="port 1 of gpu0 does not use LACP"):
        wire.bonds["gpu0"].carries(1)
    with pytest.raises(PlanError, match="give a period above 0"):
        Bond(wire.fabric, "gpu0", system=own, period_ps=0)
