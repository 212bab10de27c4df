# SPDX-License-Identifier: Apache-2.0
import re
from dataclasses import replace

import pytest

from emulation.embedded.testbed import EmbeddedTestbed
from emulation.errors import TestbedError
from emulation.faults import Fault, Faults, unmatched_clears
from emulation.targets import Target, find_target
from emulation.testbed import Impairment
from tests.emulation.fake_testbed import FakeTestbed
from topologies import (
    HOST_PORT,
    AddressField,
    AddressPlan,
    End,
    Fabric,
    Link,
    Node,
    NodeKind,
    Port,
    TopologyError,
    full_mesh,
    ub_rack,
)
from topologies.families.optical_rings import optical_rings

RATE = 400_000_000_000


@pytest.fixture(scope="module")
def rack() -> Fabric:
    return ub_rack()


@pytest.fixture
def testbed() -> FakeTestbed:
    return FakeTestbed(full_mesh([4, 4]))


def twins() -> Fabric:
    """Two NPUs, two links between them."""
    ports = (Port(HOST_PORT, "host", 8, None), Port(1, "x1", 4, 0), Port(2, "x1b", 4, 0))
    nodes = tuple(Node(f"npu{i}", i, NodeKind.NPU, "ub_npu", i, (i,), ports) for i in range(2))
    links = tuple(
        Link(name, End("npu0", port), End("npu1", port), 4, RATE, 5000, 0)
        for name, port in (("first", 1), ("second", 2))
    )
    return replace(full_mesh([2]), name="twins", nodes=nodes, links=links)


def planes() -> Fabric:
    """Two NPUs joined by two planes of two low-radix switches each; a model only, nothing runs it."""
    npus = [Node(f"npu{i}", i, NodeKind.NPU, "ub_npu", i, (i,), ()) for i in range(2)]
    switches = [Node(f"lrs{i}", 2 + i, NodeKind.LRS, "ub_switch", 16 + i, (i,), ()) for i in range(4)]
    pairs = [("npu0", "lrs0"), ("lrs0", "lrs1"), ("lrs1", "npu1")]
    pairs += [("npu0", "lrs2"), ("lrs2", "lrs3"), ("lrs3", "npu1")]
    links = tuple(
        Link(f"{a}-{b}", End(a, 1 + n), End(b, 1 + n), 4, RATE, 5000, 0) for n, (a, b) in enumerate(pairs)
    )
    plan = AddressPlan((AddressField("all", 16),))
    return Fabric("planes", (4,), (*npus, *switches), links, plan, RATE // 4, 8, 5000, ((0,),))


def fault(testbed: FakeTestbed, event: str, at_ps: int, kind: str, name: str | int, **more) -> Fault:
    return Fault(at_ps, find_target(testbed.fabric, kind, name), event, **more)


def strike(testbed: FakeTestbed, *struck: Fault) -> None:
    Faults(testbed).schedule(struck)
    assert testbed.run()


def test_a_link_goes_down_and_up(testbed: FakeTestbed) -> None:
    strike(
        testbed,
        fault(testbed, "down", 5, "link", "npu0-npu1"),
        fault(testbed, "up", 9, "link", "npu0-npu1"),
    )
    assert testbed.done == [(5, "link", "npu0-npu1", False), (9, "link", "npu0-npu1", True)]


def test_a_link_is_down_while_anything_holds_it_down(testbed: FakeTestbed) -> None:
    strike(
        testbed,
        fault(testbed, "down", 1, "link", "npu0-npu1"),
        fault(testbed, "down", 2, "port", "npu0:1"),
        fault(testbed, "down", 3, "board", 0),
        fault(testbed, "up", 4, "link", "npu0-npu1"),
        fault(testbed, "up", 5, "port", "npu0:1"),
    )
    assert (1, "link", "npu0-npu1", False) in testbed.done
    assert testbed.links().count(("npu0-npu1", False)) == 1
    assert ("npu0-npu1", True) not in testbed.links()


def test_a_board_that_comes_back_leaves_a_link_that_failed_by_itself_down(testbed: FakeTestbed) -> None:
    strike(
        testbed,
        fault(testbed, "down", 1, "link", "npu0-npu1"),
        fault(testbed, "down", 3, "board", 0),
        fault(testbed, "up", 4, "board", 0),
    )
    down = {name for name, up in testbed.links() if not up}
    up = {name for name, up in testbed.links() if up}
    assert down - up == {"npu0-npu1"}
    assert {(what, node, on) for _, what, node, on in testbed.done if what == "host"} == {
        ("host", f"npu{i}", on) for i in range(4) for on in (True, False)
    }


def test_a_fault_twice_is_one_fault(testbed: FakeTestbed) -> None:
    down, up = fault(testbed, "down", 1, "npu", "npu5"), fault(testbed, "up", 3, "switch", "npu5")
    strike(testbed, down, down, up)
    links = testbed.links()
    assert len(links) == len(set(links)) == 2 * 6
    assert all("npu5" in str(name).split("-") for name, _ in links)
    assert [item[2:] for item in testbed.done if item[1] == "host"] == [("npu5", False), ("npu5", True)]


def test_one_direction_loses_its_frames_and_keeps_its_carrier(testbed: FakeTestbed) -> None:
    strike(
        testbed,
        fault(testbed, "down", 1, "direction", "npu0->npu1"),
        fault(testbed, "down", 2, "direction", "npu1->npu0"),
        fault(testbed, "up", 3, "direction", "npu0 -> npu1"),
    )
    assert testbed.done == [
        (1, "impair", "npu0-npu1", 0, Impairment(blocked=True)),
        (2, "impair", "npu0-npu1", 1, Impairment(blocked=True)),
        (3, "impair", "npu0-npu1", 0, Impairment()),
    ]


def test_a_flap_goes_down_and_up_and_ends_up(testbed: FakeTestbed) -> None:
    strike(testbed, fault(testbed, "flap", 10, "link", "npu0-npu1", period_ps=4, count=3))
    assert [(time, up) for time, _, _, up in testbed.done] == [
        (10, False), (12, True), (14, False), (16, True), (18, False), (20, True)
    ]  # fmt: skip


def test_a_link_that_flaps_stays_down_while_something_else_holds_it(testbed: FakeTestbed) -> None:
    strike(
        testbed,
        fault(testbed, "flap", 10, "link", "npu0-npu1", period_ps=4, count=3),
        fault(testbed, "down", 13, "board", 0),
        fault(testbed, "up", 17, "board", 0),
    )
    seen = [(time, up) for time, what, name, up in testbed.done if name == "npu0-npu1"]
    assert seen == [(10, False), (12, True), (13, False), (17, True), (18, False), (20, True)]


def test_loss_rate_and_delay_come_together_and_clear_ends_them(testbed: FakeTestbed) -> None:
    name = "npu0-npu1"
    strike(
        testbed,
        fault(testbed, "loss", 1, "link", name, loss=0.05),
        fault(testbed, "rate", 2, "link", name, rate=0.25),
        fault(testbed, "delay", 3, "link", name, delay_ps=700),
        fault(testbed, "loss", 4, "link", name, loss=0.5),
        fault(testbed, "clear", 5, "link", name),
    )
    there = [(time, how) for time, _, _, direction, how in testbed.done if direction == 0]
    back = [(time, how) for time, _, _, direction, how in testbed.done if direction == 1]
    assert there == back
    assert there == [
        (1, Impairment(loss=0.05)),
        (2, Impairment(loss=0.05, rate_bps=RATE // 4)),
        (3, Impairment(loss=0.05, rate_bps=RATE // 4, extra_delay_ps=700)),
        (4, Impairment(loss=0.5, rate_bps=RATE // 4, extra_delay_ps=700)),
        (5, Impairment()),
    ]


def test_a_storm_sends_its_pause_frames_and_ends_with_the_last_or_a_clear(testbed: FakeTestbed) -> None:
    storm = fault(testbed, "storm", 10, "direction", "npu0->npu1", period_ps=4, count=3)
    assert storm.end_ps == 22
    strike(
        testbed,
        storm,
        fault(testbed, "storm", 11, "direction", "npu2->npu3", period_ps=4, count=3),
        fault(testbed, "clear", 16, "direction", "npu2->npu3"),
    )
    assert [(time, name, stop) for time, what, name, _, stop in testbed.done if what == "pause"] == [
        (10, "npu0-npu1", True),
        (11, "npu2-npu3", True),
        (14, "npu0-npu1", True),
        (15, "npu2-npu3", True),
        (16, "npu2-npu3", False),
        (18, "npu0-npu1", True),
        (22, "npu0-npu1", False),
    ]


def test_a_fault_slows_a_link_down_from_the_rate_that_its_lanes_give(testbed: FakeTestbed) -> None:
    faults = Faults(testbed)
    own = testbed.fabric.link("npu0-npu1").rate_bps
    testbed.at(1, lambda: faults.set_rates({"npu0-npu1": 2 * own}))
    testbed.at(5, lambda: faults.set_rates({"npu0-npu1": 3 * own}))
    faults.schedule(
        [
            fault(testbed, "rate", 3, "direction", "npu0->npu1", rate=0.25),
            fault(testbed, "clear", 7, "direction", "npu0->npu1"),
        ]
    )
    assert testbed.run()
    rates = [
        (when, direction, how.rate_bps)
        for when, _, _, direction, how in testbed.done
        if isinstance(how, Impairment)
    ]
    assert rates == [
        (1, 0, 2 * own),
        (1, 1, 2 * own),
        (3, 0, own // 2),
        (5, 0, own * 3 // 4),
        (5, 1, 3 * own),
        (7, 0, 3 * own),
    ]


def test_what_several_targets_do_to_a_direction_adds_up(testbed: FakeTestbed) -> None:
    strike(
        testbed,
        fault(testbed, "loss", 1, "board", 0, loss=0.5),
        fault(testbed, "loss", 2, "direction", "npu0->npu1", loss=0.5),
        fault(testbed, "delay", 3, "board", 0, delay_ps=5),
        fault(testbed, "delay", 4, "direction", "npu0->npu1", delay_ps=7),
        fault(testbed, "rate", 5, "board", 0, rate=0.5),
        fault(testbed, "rate", 6, "direction", "npu0->npu1", rate=0.75),
        fault(testbed, "down", 7, "direction", "npu0->npu1"),
        fault(testbed, "clear", 8, "board", 0),
        fault(testbed, "clear", 9, "direction", "npu0->npu1"),
        fault(testbed, "up", 10, "direction", "npu0->npu1"),
    )
    seen = {
        time: how for time, _, name, direction, how in testbed.done if (name, direction) == ("npu0-npu1", 0)
    }
    assert seen == {
        1: Impairment(loss=0.5),
        2: Impairment(loss=0.75),
        3: Impairment(loss=0.75, extra_delay_ps=5),
        4: Impairment(loss=0.75, extra_delay_ps=12),
        5: Impairment(loss=0.75, rate_bps=RATE // 2, extra_delay_ps=12),
        # 6: the lower rate counts already
        7: Impairment(blocked=True, loss=0.75, rate_bps=RATE // 2, extra_delay_ps=12),
        8: Impairment(blocked=True, loss=0.5, rate_bps=3 * RATE // 4, extra_delay_ps=7),
        9: Impairment(blocked=True),
        10: Impairment(),
    }


def test_parallel_links_fail_one_by_one() -> None:
    testbed = FakeTestbed(twins())
    ways = [find_target(testbed.fabric, "direction", "second", node) for node in ("npu0", "npu1")]
    assert [way.one_way for way in ways] == [(("second", 0),), (("second", 1),)]
    assert [way.name for way in ways] == ["npu0->npu1 of second", "npu1->npu0 of second"]
    assert find_target(testbed.fabric, "port", "npu1:2").links == ("second",)
    with pytest.raises(
        TopologyError, match="2 links lead there; name one of first, second and add `from: npu0`"
    ):
        find_target(testbed.fabric, "direction", "npu0->npu1")


def test_both_ways_to_name_a_direction_are_one(rack: Fabric) -> None:
    assert find_target(rack, "direction", "npu1->npu0") == find_target(rack, "direction", "npu0-npu1", "npu1")


def test_targets_of_a_rack(rack: Fabric) -> None:
    board = find_target(rack, "board", 2)
    assert board.hosts == tuple(f"npu{i}" for i in range(16, 24))
    assert len(board.links) == 28 + 8 * 7  # among themselves, and to the other seven boards
    npu = find_target(rack, "npu", "npu20")
    assert (len(npu.links), npu.hosts, npu.one_way) == (14, ("npu20",), ())
    assert len(npu.directions) == 28
    assert find_target(rack, "port", "npu0:host") == Target("npu0:host", hosts=("npu0",))
    assert find_target(rack, "port", "npu0:0") == Target("npu0:host", hosts=("npu0",))
    assert find_target(rack, "port", "npu0:1").links == ("npu0-npu1",)


def test_targets_of_an_optical_switch() -> None:
    fabric = optical_rings(4)  # eight ports, npu i at 2 i and 2 i + 1
    assert find_target(fabric, "circuit", "ocs0:0-3").links == ("ocs0:0-3",)
    assert find_target(fabric, "circuit", "ocs0:1-4").links == ("ocs0:1-4",)  # may be made
    of_port = find_target(fabric, "port", "npu1:1")
    assert of_port.links == ("ocs0:0-2", "ocs0:1-2", *(f"ocs0:2-{port}" for port in range(3, 8)))
    assert find_target(fabric, "port", "ocs0:2").links == of_port.links
    assert len(find_target(fabric, "npu", "npu1").links) == 13
    assert len(find_target(fabric, "switch", "ocs0").links) == 28
    assert find_target(fabric, "switch", "ocs0").hosts == ()
    for name, expected in {
        "ocs0:3-0": "name two ports of 0 to 7, the lower one first",
        "ocs0:3-8": "name two ports of 0 to 7, the lower one first",
        "ocs1:0-3": "no optical switch named 'ocs1'; did you mean ocs0?",
    }.items():
        with pytest.raises(TopologyError, match=re.escape(expected)):
            find_target(fabric, "circuit", name)
    with pytest.raises(TopologyError, match="no port 8 on ocs0; ocs0 has 0 to 7"):
        find_target(fabric, "port", "ocs0:8")


def test_the_rate_of_a_circuit_is_that_of_its_switch() -> None:
    testbed = FakeTestbed(optical_rings(4))
    strike(testbed, fault(testbed, "rate", 1, "circuit", "ocs0:1-4", rate=0.5))
    assert [item[2:] for item in testbed.done] == [
        ("ocs0:1-4", way, Impairment(rate_bps=RATE // 2)) for way in (0, 1)
    ]


def test_a_plane_is_the_low_radix_switches_that_are_joined() -> None:
    item = find_target(planes(), "plane", 1)
    assert item.name == "plane 1"
    assert item.links == ("npu0-lrs2", "lrs2-lrs3", "lrs3-npu1")
    assert item.hosts == ()
    with pytest.raises(TopologyError, match="no plane 2; its planes are 0 to 1"):
        find_target(planes(), "plane", 2)
    with pytest.raises(TopologyError, match="lrs0 is no NPU but lrs; write `switch: lrs0`"):
        find_target(planes(), "npu", "lrs0")


@pytest.mark.parametrize(
    ("kind", "name", "source", "expected"),
    [
        ("link", "npu1-npu0", None, "no link named 'npu1-npu0'; did you mean npu0-npu1?"),
        (
            "direction",
            "npu0-npu1",
            None,
            "none is chosen; write npu0->npu1, or add `from:`",
        ),
        ("direction", "npu0-npu1", "npu2", "has no end at npu2"),
        ("direction", "npu0->npu9", None, "no link joins npu0 and npu9"),
        ("direction", "npu0->npu1", "npu0", "names its source twice"),
        ("link", "npu0-npu1", "npu0", "give `from` only for a direction of a link"),
        ("port", "npu0", None, "no port named 'npu0'; write NODE:PORT"),
        ("port", "npu0:x", None, "no port named 'npu0:x'"),
        ("port", "npu0:99", None, "no port 99 on npu0"),
        ("port", "npu99:1", None, "no node named 'npu99'"),
        ("switch", "npu64", None, "no node named 'npu64'"),
        ("board", 8, None, "no board 8; its boards are 0 to 7"),
        ("plane", 0, None, "no plane 0; it has no planes"),
        ("circuit", "ocs0", None, "no circuit named 'ocs0'; write SWITCH:PORT-PORT"),
        ("circuit", "ocs0:1-2", None, "no optical switch named 'ocs0'; it has none"),
    ],
)
def test_what_is_not_there_is_named(
    rack: Fabric, kind: str, name: str | int, source: str | None, expected: str
) -> None:
    with pytest.raises(TopologyError) as caught:
        find_target(rack, kind, name, source)
    assert expected in str(caught.value)


def test_a_link_to_a_nodes_own_side_goes_down_and_nothing_else(testbed: FakeTestbed) -> None:
    strike(testbed, fault(testbed, "flap", 1, "port", "npu3:host", period_ps=2, count=1))
    assert testbed.done == [(1, "host", "npu3", False), (2, "host", "npu3", True)]
    with pytest.raises(TestbedError, match="npu3:host: the link to a node's host cannot have a fault loss"):
        fault(testbed, "loss", 1, "port", "npu3:host", loss=0.1)


def test_an_end_without_a_beginning_is_found(testbed: FakeTestbed) -> None:
    events: list[tuple[str, int, str]] = [
        ("up", 3, "npu0-npu1"),
        ("down", 1, "npu0-npu1"),
        ("up", 4, "npu0-npu1"),
        ("clear", 5, "npu0-npu1"),
        ("loss", 6, "npu0-npu2"),
        ("up", 7, "npu0-npu2"),
        ("clear", 8, "npu0-npu2"),
        ("flap", 8, "npu0-npu3"),
        ("up", 9, "npu0-npu3"),
    ]
    struck = [fault(testbed, event, time, "link", name) for event, time, name in events]
    assert list(unmatched_clears(struck)) == [2, 3, 5]


def test_faults_in_words(testbed: FakeTestbed) -> None:
    def says(event: str, **more) -> str:
        return fault(testbed, event, 1, "link", "npu0-npu1", **more).text

    assert says("down") == "npu0-npu1 goes down"
    assert says("flap", period_ps=2, count=3) == "npu0-npu1 flaps 3 times"
    assert says("loss", loss=0.05) == "npu0-npu1 loses 5 % of its frames"
    assert says("rate", rate=0.25) == "npu0-npu1 slows down to 25 % of its rate"
    assert says("delay", delay_ps=1500) == "npu0-npu1 takes 1.5 ns more"
    assert says("clear") == "npu0-npu1 is well again"
    assert says("storm", count=3) == "npu0-npu1 carries 3 pause frames for every class"


def test_a_circuit_that_failed_before_it_was_made_stands_when_it_is_mended() -> None:
    """A fault of a circuit outlives a reconfiguration on the embedded testbed too."""
    heard: list[tuple[int, str, int, bool]] = []
    with EmbeddedTestbed(optical_rings(4, reconfiguration_us=0.001)) as testbed:
        testbed.on_port = lambda node, port, up: heard.append((testbed.now_ps, node, port, up))
        target = find_target(testbed.fabric, "circuit", "ocs0:1-4")
        Faults(testbed).schedule([Fault(10, target, "down"), Fault(5000, target, "up")])
        testbed.at(20, lambda: testbed.circuits["ocs0"].apply({1: 4}) and None)
        assert testbed.run()
    assert {(time, up) for time, _, _, up in heard[:-2]} == {(20, False)}
    assert sorted(heard[-2:]) == [(5000, "npu0", 2, True), (5000, "npu2", 1, True)]


@pytest.mark.parametrize("kind", ["switch", "npu"])
def test_a_node_that_comes_back_on_the_embedded_testbed(kind: str) -> None:
    """All its ports lose their carrier, all get it back, and those of a link that failed by itself do not."""
    heard: list[tuple[int, str, int, bool]] = []
    with EmbeddedTestbed(full_mesh([3, 2])) as testbed:
        testbed.on_port = lambda node, port, up: heard.append((testbed.now_ps, node, port, up))
        node, link = (
            find_target(testbed.fabric, kind, "npu0"),
            find_target(testbed.fabric, "link", "npu0-npu1"),
        )
        Faults(testbed).schedule([Fault(10, node, "down"), Fault(20, link, "down"), Fault(30, node, "up")])
        assert testbed.run()
    neighbour = {("npu0", 1), ("npu0", 2), ("npu0", 3), ("npu1", 1), ("npu2", 1), ("npu3", 3)}
    wired = [item for item in heard if item[1:3] != ("npu0", HOST_PORT)]
    assert {(name, port) for time, name, port, up in wired if (time, up) == (10, False)} == neighbour
    assert {(name, port) for time, name, port, up in wired if (time, up) == (30, True)} == neighbour - {
        ("npu0", 1),
        ("npu1", 1),
    }


def test_nodes_lose_their_power_before_their_links_and_have_it_before_these(testbed: FakeTestbed) -> None:
    faults = Faults(testbed)
    faults.on_power = lambda node, on: testbed.done.append((testbed.now_ps, "power", node, on))
    faults.schedule(
        [
            fault(testbed, "down", 1, "board", 0),
            fault(testbed, "down", 2, "npu", "npu0"),
            fault(testbed, "up", 3, "board", 0),
            fault(testbed, "down", 4, "link", "npu4-npu5"),
            fault(testbed, "down", 5, "switch", "npu0"),
            fault(testbed, "up", 6, "npu", "npu0"),
        ]
    )
    assert testbed.run()
    power = [(at, *rest) for at, what, *rest in testbed.done if what == "power"]
    assert power == [
        *((1, f"npu{number}", False) for number in range(4)),
        *((3, f"npu{number}", True) for number in (1, 2, 3)),
        (6, "npu0", True),
    ]
    for at in (1, 3, 6):
        kinds = [what for time, what, *_ in testbed.done if time == at]
        assert kinds.index("link") > max(place for place, what in enumerate(kinds) if what == "power")
