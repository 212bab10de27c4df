# SPDX-License-Identifier: Apache-2.0
"""Optical circuit switches on the embedded testbed: under traffic, with faults, with credits."""

from collections.abc import Mapping
from pathlib import Path

import pytest

from emulation._engine import Program
from emulation.embedded.testbed import EmbeddedTestbed
from emulation.errors import DeadlockedError
from emulation.testbed import Impairment
from tests.emulation.embedded.circuits import DARK, SIZE, Chatter, every, running, single_port
from tests.emulation.engine.wires import WIRE, steer
from topologies import Fabric, optical_rings


def at(testbed: EmbeddedTestbed, time: int, joined: Mapping[int, int]) -> None:
    def apply() -> None:
        testbed.circuits["ocs0"].apply(joined)

    testbed.at(time, apply)


def test_circuits_change_under_traffic_at_exactly_the_times_they_should() -> None:
    fabric = single_port(4, {0: 1, 2: 3}, lane_rate_gbps=25, delay_ns=0)  # a byte is 80 ps
    arrived: dict[tuple[int, int], list[int]] = {}
    ports: list[tuple[int, str, int, bool]] = []
    with running(fabric) as testbed:
        testbed.on_port = lambda *event: ports.append((testbed.now_ps, *event))
        for i in range(4):
            testbed.attach(
                f"npu{i}",
                Chatter(
                    i,
                    every(100_000, 10_000_000),
                    lambda to, now, data: arrived.setdefault((data[1], to), []).append(now),
                ),
            )
        ocs = testbed.circuits["ocs0"]
        done: list[int] = []
        testbed.at(4_001_000, lambda: done.append(ocs.apply({0: 2, 1: 3}).dark_until_ps))
        assert testbed.run()
        usage = testbed.link_usage()
    assert done == [7_001_000]
    flight = -(-SIZE * 8 * 10**12 // (72 * 25 * 10**9)) * 2 + SIZE * 80
    assert {way: [time - flight for time in times] for way, times in arrived.items()} == {
        **dict.fromkeys([(0, 1), (1, 0), (2, 3), (3, 2)], every(100_000, 4_000_000)),
        **dict.fromkeys([(0, 2), (2, 0), (1, 3), (3, 1)], every(100_000, 10_000_000, 7_100_000)),
    }
    # The frame of 4,000,000 was on the wire; those of 4,100,000 to 7,000,000 came while all was dark.
    for name in ("ocs0:0-1", "ocs0:2-3"):
        assert [(way.frames, way.lost_frames, way.refused_frames) for way in usage[name]] == [(41, 1, 30)] * 2
    for name in ("ocs0:0-2", "ocs0:1-3"):
        assert [(way.frames, way.lost_frames, way.refused_frames) for way in usage[name]] == [(29, 0, 0)] * 2
    down, up = ports[:4], ports[4:]
    assert sorted(down) == [(4_001_000, f"npu{i}", 1, False) for i in range(4)]
    assert sorted(up) == [(7_001_000, f"npu{i}", 1, True) for i in range(4)]


def test_a_fault_of_a_circuit_and_a_new_map_both_hold_it_down() -> None:
    fabric = single_port(4, {0: 1, 2: 3})
    events: list[tuple[int, str, bool]] = []
    with running(fabric) as testbed:
        testbed.on_port = lambda node, _, up: events.append((testbed.now_ps, node, up))
        testbed.at(100, lambda: testbed.set_link("ocs0:0-1", False))
        at(testbed, 200, {2: 3})  # already dark: nobody notices
        testbed.at(300, lambda: testbed.set_link("ocs0:0-1", True))  # repaired, but not joined
        testbed.at(400, lambda: testbed.set_link("ocs0:0-2", False))  # has never stood
        at(testbed, 500, {0: 2, 1: 3})
        testbed.at(DARK + 1000, lambda: testbed.set_link("ocs0:0-2", True))
        assert testbed.run()
    both = [(100, "npu0", False), (100, "npu1", False)]
    assert events[:2] == both
    assert sorted(events[2:4]) == [(500, "npu2", False), (500, "npu3", False)]
    assert events[4:6] == [(DARK + 500, "npu1", True), (DARK + 500, "npu3", True)]
    assert events[6:] == [(DARK + 1000, "npu0", True), (DARK + 1000, "npu2", True)]


def test_a_circuit_can_be_impaired_and_recorded_before_it_stands(tmp_path: Path) -> None:
    fabric = single_port(2)
    seen: list[bytes] = []
    with running(fabric) as testbed:
        testbed.impair("ocs0:0-1", 0, Impairment(blocked=True))
        testbed.record("ocs0:0-1", tmp_path / "x.pcap")
        testbed.circuits["ocs0"].apply({0: 1})
        for i in range(2):
            times = every(10_000, 2 * DARK + 100_000, 2 * DARK)
            testbed.attach(f"npu{i}", Chatter(i, times, lambda _, __, data: seen.append(data)))
        assert testbed.run()
        there, back = testbed.link_usage()["ocs0:0-1"]
        assert len((tmp_path / "x.pcap").read_bytes()) == 24 + 20 * (16 + SIZE)
    assert (there.frames, there.lost_frames, back.frames, back.lost_frames) == (10, 10, 10, 0)
    assert {data[1] for data in seen} == {1}


def test_time_goes_on_to_the_end_of_a_dark_time_and_stop_does_not_wait_for_it() -> None:
    with running(single_port(4, {0: 1})) as testbed:
        testbed.circuits["ocs0"].apply({2: 3})
        assert not testbed.run(DARK - 1)
        assert testbed.circuits["ocs0"].crossconnect == {}
        assert testbed.run()
        assert testbed.now_ps == DARK
        testbed.circuits["ocs0"].apply({0: 1})
    testbed.stop()


def test_deadlock_among_circuits_names_them_and_dark_ports_are_none() -> None:
    """Four NPUs on a ring of circuits, each sending two hops on with room for one frame: nothing can move.

    Without one circuit of the ring the same frames arrive or are refused, and nothing is stuck.
    """
    fabric = optical_rings(4, reconfiguration_us=DARK / 10**6)

    def flood(joined: Mapping[int, int]) -> int:
        arrived: list[bytes] = []
        with EmbeddedTestbed(fabric, credit_bytes=SIZE) as testbed:
            for i in range(4):
                testbed.network.set_program(i, Program(WIRE.read_bytes()))
                steer(testbed.network, i, {14: (1, 15), 15: (1, 0)})
            testbed.circuits["ocs0"].apply(joined)
            testbed.run(DARK)
            for i in range(4):
                times = every(1, DARK + 20, DARK)
                testbed.attach(
                    f"npu{i}", Chatter(i, times, lambda _, __, data: arrived.append(data), port=14)
                )
            assert testbed.run()
        return len(arrived)

    whole = {port: neighbour for port, neighbour in _map_of(fabric).items() if port < neighbour}
    with pytest.raises(DeadlockedError) as caught:
        flood(whole)
    assert {name for name, _, _ in caught.value.cycle} == {link.name for link in fabric.links}
    ends = [way.split("->") for _, way, _ in caught.value.cycle]
    assert [end for _, end in ends] == [begin for begin, _ in ends[1:] + ends[:1]]
    # In another order of the ring: the circuits are new, and so is the cycle.
    turned = {0: 5, 4: 3, 2: 7, 6: 1}  # npu0 to npu2 to npu1 to npu3
    with pytest.raises(DeadlockedError) as caught:
        flood(turned)
    assert {name for name, _, _ in caught.value.cycle} == {"ocs0:0-5", "ocs0:3-4", "ocs0:2-7", "ocs0:1-6"}
    del turned[6]
    assert 0 < flood(turned) < 80


def _map_of(fabric: Fabric) -> dict[int, int]:
    (ocs,) = fabric.optical
    return {ocs.ends.index(link.a): ocs.ends.index(link.b) for link in fabric.links}
