# SPDX-License-Identifier: Apache-2.0
"""Values that the controlling process puts together from the answers of all machines."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from ipaddress import IPv4Address
from typing import Any, cast

import pytest

from emulation.mininet.cluster.checks import processors
from emulation.mininet.cluster.clocks import Clocks
from emulation.mininet.cluster.connections import MachinesConnections
from emulation.mininet.cluster.cutting import Cut
from emulation.mininet.cluster.machines import Machine, Machines
from emulation.mininet.cluster.orders import Hello
from emulation.mininet.cluster.plans import Tunnels
from emulation.mininet.cluster.session import ClockOffset
from emulation.mininet.cluster.sessions import Sessions
from emulation.mininet.links.counters import EndpointCounters
from topologies import End
from topologies.families.full_mesh import full_mesh

MACHINES = Machines(
    tuple(
        Machine(name, IPv4Address(f"10.0.0.{number}"), ("ssh",), ("python",))
        for number, name in enumerate("ab", 1)
    )
)


class Answers:
    """A machine with answers known beforehand, by method; it keeps the orders."""

    def __init__(self, name: str, *offsets: ClockOffset, **answers: Any) -> None:
        self.machine = MACHINES.machines["ab".index(name)]
        self._answers = answers
        self._offsets = list(offsets)
        self.orders: list[tuple[Any, ...]] = []

    def call(self, method: str, *arguments: Any) -> Any:
        self.orders.append((method, *arguments))
        return self._answers.get(method)

    def clock(self) -> ClockOffset:
        return self._offsets.pop(0)


class Both(dict[str, Answers]):
    """Both machines, one after the other."""

    def each(self, act: Callable[[Any], Any], machines: Iterable[str] | None = None) -> dict[str, Any]:
        return {name: act(self[name]) for name in (self if machines is None else machines)}


def over(a: Answers, b: Answers) -> tuple[Sessions, Both]:
    both = Both(a=a, b=b)
    return cast(Sessions, both), both


def endpoint(**counted: int) -> EndpointCounters:
    return EndpointCounters(**dict.fromkeys(EndpointCounters.__slots__, 0) | counted)


def connections(
    at_a: Mapping[str, EndpointCounters], at_b: Mapping[str, EndpointCounters]
) -> MachinesConnections:
    """Connections of two nodes, npu0 on machine a and npu1 on b, whose endpoints have counted this."""
    sessions, _ = over(
        Answers("a", ClockOffset(0, 0, 1), **{"connections.counters": at_a}),
        Answers("b", ClockOffset(0, 0, 1), **{"connections.counters": at_b}),
    )
    cut = Cut(full_mesh([2]), {"npu0": "a", "npu1": "b"})
    return MachinesConnections(cut, sessions, Tunnels(cut, MACHINES), Clocks(sessions), ["npu0", "npu1"])


def test_a_time_is_told_in_each_machines_own_clock() -> None:
    sessions, _ = over(
        Answers("a", ClockOffset(5_000, 7, 10), ClockOffset(5_040, 7, 20)),
        Answers("b", ClockOffset(-900, 0, 15), ClockOffset(-905, 0, 15)),
    )
    clocks = Clocks(sessions)
    assert clocks.at("a", 100) == 5_100
    assert clocks.own("a", 5_100) == 100
    assert clocks.at("b", 1_000) == 100
    assert clocks.error_ns == 2 * 15
    clocks.compare_again()
    # Clock a has run 40 ns ahead meanwhile, by comparisons with errors of up to 10 and 20 ns.
    assert clocks.error_ns == 40 + 10 + 20
    clocks.arrived(0)
    assert not any("late" in note for note in clocks.notes())
    clocks.arrived(3_000_000)
    clocks.arrived(2_000_000)
    assert clocks.notes()[-1] == "an order to begin arrived 3.000 ms late"


def test_a_endpoint_has_what_the_ends_of_its_tunnel_dropped() -> None:
    both = connections(
        {
            "npu0:1": endpoint(from_frames=100, to_frames=90),
            "npu1:1": endpoint(from_frames=91, to_frames=97, to_dropped_queue=3, waiting_frames=2),
        },
        {
            "npu1:1": endpoint(from_frames=95, to_frames=96),
            "npu0:1": endpoint(from_frames=96, to_frames=95, from_dropped_veth=1),
        },
    )
    merged = both.counters()
    assert merged["npu0:1"] == endpoint(from_frames=100, to_frames=90, from_dropped_veth=1)
    assert merged["npu1:1"] == endpoint(from_frames=95, to_frames=96, to_dropped_queue=3, waiting_frames=2)
    # Four of the 95 frames that entered the tunnel at machine b did not leave it at a: 91 did.
    assert both.lost_between(frozenset()) == 4
    (link,) = full_mesh([2]).links
    assert both.lost_between({End(link.a.node, link.a.port)}) == 0


def test_a_link_is_worked_at_the_machines_of_its_ends() -> None:
    mesh = full_mesh([2, 2])
    cut = Cut(mesh, {"npu0": "a", "npu1": "a", "npu2": "b", "npu3": "b"})
    sessions, both = over(Answers("a", ClockOffset(0, 0, 1)), Answers("b", ClockOffset(0, 0, 1)))
    work = MachinesConnections(cut, sessions, Tunnels(cut, MACHINES), Clocks(sessions), [])
    work.set_carrier(mesh.link("npu0-npu1"), False)
    assert [order[0] for order in both["a"].orders] == ["connections.set_carrier"]
    assert both["b"].orders == []
    crossing = mesh.link("npu0-npu2")
    work.cut(crossing)
    work.join(crossing)
    for name, others in (("a", {"npu2", "npu3"}), ("b", {"npu0", "npu1"})):
        (_, cut_link), (_, joined, (end, tunnel)) = both[name].orders[-2:]
        assert cut_link == joined == crossing
        assert end.node in others
        assert str(tunnel.remote) == str(MACHINES.machines["ba".index(name)].address)


@pytest.mark.parametrize(("boots", "count"), [(("x", "y"), 12), (("x", "x"), 4)])
def test_machines_of_one_kernel_share_its_processors(boots: tuple[str, str], count: int) -> None:
    hellos = {
        name: Hello("1", name, {}, boot, 4 if boot == "x" else 8)
        for name, boot in zip("ab", boots, strict=True)
    }
    assert processors(hellos) == count
