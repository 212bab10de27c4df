# SPDX-License-Identifier: Apache-2.0
"""Repetition of notices: when, how often, by which paths, and what an acknowledgement ends."""

from dataclasses import replace

import networkx as nx

from controller import Notice, Outgoing, Subscription, make_plan
from controller.recovery.delivery import MAX_REPETITIONS, Delivery
from controller.recovery.messages import Acknowledgement
from controller.recovery.shared_schemes import SharedSchemes
from topologies import from_graph, full_mesh, ub_pod

US = 10**6
NONE: frozenset[str] = frozenset()
FABRIC = full_mesh([4, 4])
ROUTERS = SharedSchemes(make_plan(FABRIC, peers=[]))


def address(node: str) -> int:
    return FABRIC.node(node).address


def notice(sequence: int = 1) -> Notice:
    a, b = FABRIC.link("npu0-npu1").a, FABRIC.link("npu0-npu1").b
    return Notice(address(a.node), a.port, address(b.node), b.port, False, sequence, address("npu0"))


def answer(to: Notice, origin: str) -> Acknowledgement:
    link = (to.cna_a, to.port_a, to.cna_b, to.port_b)
    return Acknowledgement(*link, subscription=False, sequence=to.sequence, origin=address(origin))


def walk(start: str, ports: tuple[int, ...]) -> list[str]:
    nodes = [start]
    for port in ports:
        end = FABRIC.peer(nodes[-1], port)
        assert end is not None
        nodes.append(end.node)
    return nodes


def test_a_notice_is_repeated_by_other_paths_with_growing_pauses_until_it_is_given_up() -> None:
    end = Delivery(ROUTERS, "npu0", 20 * US)
    end.sent(Outgoing(notice(), address("npu5")), 0)
    times, paths = [], []
    while (now := end.deadline_ps) is not None:
        for again in end.on_timer(now, NONE):
            times.append(now // US)
            paths.append(tuple(walk("npu0", again.ports)))
    assert times == [20, 60, 140, 300, 620, 1260]
    assert len(times) == MAX_REPETITIONS == end.repeated
    assert set(paths) == {("npu0", "npu1", "npu5"), ("npu0", "npu4", "npu5")}
    assert [outgoing.destination_cna for outgoing in end.unconfirmed] == [address("npu5")]


def test_pending_messages_that_are_given_up_are_unconfirmed() -> None:
    end = Delivery(ROUTERS, "npu0", 20 * US)
    end.sent(Outgoing(notice(), address("npu5")), 0)
    end.sent(Outgoing(notice(), address("npu6")), 0)
    end.on_acknowledgement(answer(notice(), "npu6"))
    end.give_up()
    assert end.deadline_ps is None
    assert [outgoing.destination_cna for outgoing in end.unconfirmed] == [address("npu5")]


def test_an_acknowledgement_ends_the_repetition_of_its_sequence_number_only() -> None:
    end = Delivery(ROUTERS, "npu0", 20 * US)
    end.sent(Outgoing(notice(1), address("npu5")), 0)
    end.sent(Outgoing(notice(2), address("npu5")), US)  # the link is back
    end.on_acknowledgement(answer(notice(1), "npu5"))
    end.on_acknowledgement(answer(notice(2), "npu6"))
    assert end.deadline_ps == 21 * US
    end.on_acknowledgement(answer(notice(2), "npu5"))
    assert end.deadline_ps is None
    assert not end.unconfirmed


def test_a_repetition_is_confirmed_by_another_path_than_the_first_notice() -> None:
    receiver = Delivery(ROUTERS, "npu5", 20 * US)
    link = FABRIC.link("npu5-npu7")
    other = Notice(address("npu5"), link.a.port, address("npu7"), link.b.port, False, 1, address("npu0"))
    first, *later = [receiver.acknowledge(other, address("npu0"), 1, NONE) for _ in range(3)]
    assert first == Outgoing(answer(other, "npu5"), address("npu0"))  # by the tables
    ways = {tuple(walk("npu5", again.ports)) for again in later if again is not None}
    assert ways == {("npu5", "npu1", "npu0"), ("npu5", "npu4", "npu0")}


def test_an_acknowledgement_avoids_the_link_that_the_notice_announces() -> None:
    """The receiver's own route to the sender leads over the link until its tables are rewritten."""
    receiver = Delivery(ROUTERS, "npu5", 20 * US)
    assert ROUTERS.planned_path("npu5", "npu0") == ("npu5", "npu1", "npu0")
    first = receiver.acknowledge(notice(), address("npu0"), 1, NONE)
    assert first is not None
    assert walk("npu5", first.ports) == ["npu5", "npu4", "npu0"]
    assert receiver.acknowledge(replace(notice(), up=True), address("npu0"), 1, NONE) is not None


def test_nothing_is_repeated_into_a_link_that_is_known_to_be_down() -> None:
    ring = from_graph(nx.cycle_graph(4), "ring")
    end = Delivery(SharedSchemes(make_plan(ring, peers=[])), "0", 20 * US)
    a, b = ring.link("0-1").a, ring.link("0-1").b
    cut = Notice(ring.node("0").address, a.port, ring.node("1").address, b.port, False, 1, 0)
    end.sent(Outgoing(cut, ring.node("2").address, (1, 2)), 0)
    (again,) = end.on_timer(20 * US, frozenset({"0-1"}))
    assert again.ports == (ring.port_to("0", "3"), ring.port_to("3", "2"))
    assert end.on_timer(60 * US, frozenset({"0-1", "2-3"})) == ()
    while (now := end.deadline_ps) is not None:
        end.on_timer(now, frozenset({"0-1", "2-3"}))
    assert (end.repeated, len(end.unconfirmed)) == (1, 1)


def test_an_npu_confirms_to_a_switch_that_is_no_neighbour() -> None:
    pod = ub_pod(dims=(2, 2, 2, 1), planes=1, uplink_lanes=4)
    routers = SharedSchemes(make_plan(pod, peers=[]))
    link = pod.link_between("lrs0p0r1", "lrs1p0r1")
    ends = [field for end in (link.a, link.b) for field in (pod.node(end.node).address, end.port)]
    watch = Subscription(*ends, origin=0)
    outgoing = Delivery(routers, "npu0", US).acknowledge(watch, pod.node("lrs0p0r1").address, 1, NONE)
    assert outgoing is not None
    node = "npu0"
    for port in outgoing.ports:
        end = pod.peer(node, port)
        assert end is not None
        node = end.node
    assert node == "lrs0p0r1"
