# SPDX-License-Identifier: Apache-2.0
"""Optical circuit switches on the embedded testbed: under traffic, with faults, with credits."""

import random
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any, final

import pytest

from emulation._engine import Program
from emulation.embedded.testbed import EmbeddedTestbed
from emulation.errors import DeadlockedError
from emulation.testbed import Impairment
from tests.emulation.engine.wires import RATE, WIRE, Sink, frame, steer, switches
from topologies import Fabric, optical_rings, with_circuits
from topologies.model.checks import check

DARK = 3_000_000
SIZE = 100


# On the embedded testbed


def single_port(npus: int, joined: Mapping[int, int] | None = None, **settings: Any) -> Fabric:
    """NPUs with port 1 on the optical switch and no other: switch port i is NPU i."""
    rings = optical_rings(npus, reconfiguration_us=DARK / 10**6, **settings)
    (ocs,) = rings.optical
    fabric = replace(
        rings,
        nodes=tuple(replace(node, ports=node.ports[:2]) for node in rings.nodes),
        links=(),
        optical=(replace(ocs, ends=ocs.ends[::2]),),
    )
    created = with_circuits(fabric, "ocs0", joined or {})
    check(created)
    return created


@contextmanager
def running(fabric: Fabric, **settings: Any) -> Iterator[EmbeddedTestbed]:
    """Every frame for port 10 + p leaves by port p and ends at the host of the far end."""
    with EmbeddedTestbed(fabric, **settings) as testbed:
        for i, node in enumerate(fabric.nodes):
            testbed.network.set_program(i, Program(WIRE.read_bytes()))
            steer(testbed.network, i, {10 + port.number: (port.number, 0) for port in node.ports[1:]})
        yield testbed


@final
class Chatter:
    """Sends a frame for `port` at every one of `times`; hands what it gets to `seen`."""

    def __init__(
        self, own: int, times: list[int], seen: Callable[[int, int, bytes], None], port: int = 11
    ) -> None:
        self.own, self.times, self.seen, self.port, self.sent = own, times, seen, port, 0

    def _next(self) -> int | None:
        return self.times[self.sent] if self.sent < len(self.times) else None

    def start(self, now: int) -> tuple[list[tuple[bytes, int]], int | None]:
        return [], self._next()

    def on_timer(self, now: int) -> tuple[list[tuple[bytes, int]], int | None]:
        data = frame(self.port, 1) + bytes([self.own]) + bytes(SIZE - 2)
        self.sent += 1
        return [(data, 0)], self._next()

    def on_frame(self, frame: bytes, now: int) -> tuple[list[tuple[bytes, int]], int | None]:
        self.seen(self.own, now, frame)
        return [], self._next()


def at(testbed: EmbeddedTestbed, time: int, joined: Mapping[int, int]) -> None:
    def apply() -> None:
        testbed.circuits["ocs0"].apply(joined)

    testbed.at(time, apply)


def every(period: int, until: int, start: int = 0) -> list[int]:
    return list(range(start, until, period))


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


@final
class Truth:
    """Circuits by time, computed from the maps alone."""

    def __init__(self, joined: Mapping[int, int]) -> None:
        self.spans: dict[int, list[list[int]]] = {port: [] for port in range(64)}  # far port, from, to
        self.joined: dict[int, int] = {}
        self.coming: tuple[int, dict[int, int]] | None = None
        self.joined = {}
        self._join(0, dict(joined))

    def _join(self, now: int, joined: dict[int, int]) -> None:
        for port, neighbour in joined.items():
            if port not in self.joined:
                self.spans[port].append([neighbour, now, 1 << 62])
        self.joined = joined

    def settle(self, now: int) -> None:
        if self.coming is not None and self.coming[0] <= now:
            self._join(*self.coming)
            self.coming = None

    def apply(self, now: int, new: dict[int, int]) -> None:
        self.settle(now)
        for port in [port for port, neighbour in self.joined.items() if new.get(port) != neighbour]:
            self.spans[port][-1][2] = now
            del self.joined[port]
        self.coming = (now + DARK, new)

    def stood(self, port: int, neighbour: int, begin: int, end: int) -> bool:
        """Return whether the two ports were one circuit during the whole interval."""
        return any(
            other == neighbour and since <= begin and end <= to for other, since, to in self.spans[port][-3:]
        )


def random_map(chance: random.Random, now: Mapping[int, int], ports: int) -> dict[int, int]:
    """Some circuits as they are, others between random ports, some ports dark."""
    stays = chance.choice((0.0, 0.5, 0.8, 0.95))
    kept = {(a, b) for a, b in now.items() if a < b and chance.random() < stays}
    free = [port for port in range(ports) if not any(port in pair for pair in kept)]
    chance.shuffle(free)
    created = [(a, b) for a, b in zip(free[::2], free[1::2], strict=False) if chance.random() < 0.9]
    return {end: neighbour for a, b in (*kept, *created) for end, neighbour in ((a, b), (b, a))}


@pytest.mark.long("65536")
@pytest.mark.parametrize("credit_bytes", [65536, 0])
def test_a_thousand_random_reconfigurations_under_traffic(credit_bytes: int) -> None:
    """No frame comes out of a port that was not its circuit's; circuits that stay lose nothing."""
    npus, count, chance = 16, 1000, random.Random(4)
    times, now = [], 0
    for _ in range(count):
        now += chance.randrange(DARK // 10, 3 * DARK)  # many within the dark time of the one before
        times.append(now)
    begun = random_map(chance, {}, npus)
    fabric = single_port(npus, begun)
    (ocs,) = fabric.optical
    to_host = -(-SIZE * 8 * 10**12 // (fabric.host_lanes * fabric.lane_rate_bps)) + fabric.host_delay_ps
    on_circuit = -(-SIZE * 8 * 10**12 // ocs.rate_bps) + ocs.delay_ps
    truth = Truth(begun)
    delivered = kept = torn = overlapping = 0
    with running(fabric, credit_bytes=credit_bytes) as testbed:
        circuits = testbed.circuits["ocs0"]

        def seen(to: int, at: int, data: bytes) -> None:
            nonlocal delivered
            delivered += 1
            arrival = at - to_host
            assert truth.stood(data[1], to, arrival - on_circuit, arrival), (data[1], to, at)

        def misses() -> dict[str, int]:
            """Return the losses and refusals of circuits that are up."""
            usage = testbed.link_usage()
            names = [f"ocs0:{a}-{b}" for a, b in circuits.crossconnect.items() if a < b]
            return {name: sum(way.lost_frames + way.refused_frames for way in usage[name]) for name in names}

        standing: dict[str, int] = misses()

        def settled() -> None:
            truth.settle(testbed.now_ps)
            assert dict(circuits.crossconnect) == truth.joined
            for name, before in misses().items():
                standing.setdefault(name, before)

        def reconfigure() -> None:
            nonlocal kept, torn, overlapping
            now = testbed.now_ps
            overlapping += dict(circuits.crossconnect) != dict(circuits.target)
            assert misses() == standing  # whatever stood until now has lost nothing since it stands
            new = random_map(chance, circuits.target, npus)
            truth.apply(now, new)
            done = circuits.apply(new)
            assert dict(circuits.crossconnect) == truth.joined
            assert dict(circuits.target) == new
            for low, high in done.torn:
                del standing[f"ocs0:{low}-{high}"]
            kept, torn = kept + len(done.kept), torn + len(done.torn)
            testbed.at(now + DARK, settled)

        for time in times:
            testbed.at(time, reconfigure)
        hosts = []
        for i in range(npus):
            gaps = [chance.randrange(20_000, 2 * DARK // 3) for _ in range(times[-1] // (DARK // 3))]
            instants = [start for start, _ in pairwise(_sums(gaps)) if start < times[-1] + 2 * DARK]
            hosts.append(Chatter(i, instants, seen))
            testbed.attach(f"npu{i}", hosts[-1])
        assert testbed.run()
        assert dict(circuits.crossconnect) == dict(circuits.target) == truth.joined
        assert misses() == standing
        usage = [way for both in testbed.link_usage().values() for way in both]
        removed = sum(way.lost_frames + way.refused_frames for way in usage) + testbed.frames_without_link
    sent = sum(host.sent for host in hosts)
    assert delivered + removed == sent
    assert delivered > 10_000
    assert sum(way.lost_frames for way in usage) > 10
    assert min(kept, torn, overlapping) > 200


def _sums(gaps: list[int]) -> list[int]:
    total, out = 0, []
    for gap in gaps:
        total += gap
        out.append(total)
    return out


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


# The engine's part of it


def test_a_port_has_one_receive_buffer_whatever_leads_to_it() -> None:
    """Frames of a circuit that is gone still fill the buffer of their port; the next has what is left."""
    slow, room = RATE // 100, 4
    net, sink = switches(3), Sink()
    first = net.connect(0, 1, 2, 1, RATE, 0, room * SIZE)
    second = net.connect(1, 1, 2, 1, RATE, 0, room * SIZE, plugged=False)
    sources = [net.attach_host(i, 3, RATE, 0, 0) for i in range(2)]
    net.set_handler(net.attach_host(2, 3, slow, 0, 0), sink)
    for i in range(2):
        steer(net, i, {10: (1, 3)})
    for _ in range(10):
        net.send(sources[0], frame(10, SIZE), 0)
    # By then the first frame is on the slow link, three wait behind it, and six are still to come.
    net.alarm(20 * SIZE, 0)
    assert net.run() == 2
    assert net.link_stats(first, 0)["frames"] == room
    net.set_link(first, False)
    net.plug(second)
    net.set_link(second, True)
    while net.take_control():
        pass
    for _ in range(10):
        net.send(sources[1], frame(10, SIZE), 0)
    start = net.now
    net.alarm(start + 10 * SIZE, 0)
    assert net.run() == 2
    net.take_control()
    # Nothing has left the slow link yet, so there is no room at all.
    assert net.link_stats(second, 0)["frames"] == 0
    # Each frame that leaves makes room for one.
    for done in range(1, 8):
        net.alarm(2 * SIZE + done * 100 * SIZE + 2 * SIZE, 0)
        assert net.run() == 2
        net.take_control()
        assert net.link_stats(second, 0)["frames"] == done
    # And back again, while frames of the second circuit fill the buffer.
    net.set_link(second, False)
    net.plug(first)
    net.set_link(first, True)
    while net.take_control():
        pass
    for _ in range(10):
        net.send(sources[0], frame(10, SIZE), 0)
    before = net.link_stats(first, 0)["frames"]
    net.alarm(net.now + 30 * SIZE, 0)
    assert net.run() == 2
    net.take_control()
    assert net.link_stats(first, 0)["frames"] == before
    assert net.run() == 0
    assert net.link_stats(first, 0)["frames"] == before + 10
    assert len(sink.seen) == room + 7 + 10
    assert net.link_stats(first, 0)["lost"] == 6
    assert net.link_stats(second, 0)["lost"] == 3


def test_a_deadlock_through_a_buffer_that_an_earlier_circuit_filled_is_found_and_named() -> None:
    """A ring of four, room for one frame each: all hold what the next one waits for, one over a new link."""
    net = switches(4)
    links = [net.connect(i, 2, (i + 1) % 4, 1, RATE, 10, SIZE) for i in range(4)]
    new = net.connect(0, 2, 1, 1, RATE, 10, SIZE, plugged=False)
    hosts = [net.attach_host(i, 3, RATE, 0, 0) for i in range(4)]
    for i in range(4):
        steer(net, i, {14: (2, 15), 15: (2, 3)})
    # The last link is long at its first frame, behind which the others stop, each at the end of its own.
    net.impair(links[3], 0, rate_bps=RATE // 1000)
    for i in (3, 2, 1, 0):
        net.send(hosts[i], frame(14, SIZE), 0)
        net.alarm(net.now + 1000, 0)
        assert net.run() == 2
        net.take_control()
    assert [net.link_stats(link, 0)["frames"] for link in links] == [1, 1, 1, 1]
    net.set_link(links[0], False)
    net.plug(new)
    net.set_link(new, True)
    while net.take_control():
        pass
    assert net.run() == 3
    assert sorted(link for link, _, _ in net.deadlock()) == [*links[1:], new]
    assert net.link_stats(new, 0)["frames"] == net.link_stats(links[0], 0)["lost"] == 0


def test_a_link_is_plugged_into_ports_that_are_dark_and_only_then_goes_up() -> None:
    net = switches(3)
    first = net.connect(0, 1, 1, 1, RATE, 0, 0)
    second = net.connect(0, 1, 2, 1, RATE, 0, 0, plugged=False)
    net.attach_host(1, 3, RATE, 0, 0)
    third = net.connect(1, 3, 2, 2, RATE, 0, 0, plugged=False)
    with pytest.raises(ValueError, match="switch s0: port 1 is in use by link s0-s1"):
        net.plug(second)
    with pytest.raises(ValueError, match="link s0-s2 is not plugged"):
        net.set_link(second, True)
    with pytest.raises(ValueError, match="switch s1: port 3 is in use by link s1-host"):
        net.plug(third)
    net.set_link(first, False)
    net.plug(second)
    net.plug(second)
    net.set_link(second, True)
    with pytest.raises(ValueError, match="link s0-s1 is not plugged"):
        net.set_link(first, True)
    with pytest.raises(ValueError, match="switch s0: port 1 is in use by link s0-s2"):
        net.plug(first)
