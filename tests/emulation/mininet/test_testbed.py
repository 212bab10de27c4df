# SPDX-License-Identifier: Apache-2.0
"""The Mininet testbed without hosts or programs: links, faults and circuits as raw frames see them."""

from __future__ import annotations

import random
import socket
import subprocess
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import final

import pytest

from emulation.errors import TestbedError
from emulation.linux import kernel
from emulation.linux.record import run as recording
from emulation.mininet.switches import processes as switches
from emulation.mininet.switches.processes import SwitchKind
from emulation.mininet.testbed import MininetTestbed
from emulation.testbed import Impairment
from tests.emulation.mininet.benches import no_rights
from tests.emulation.mininet.commands import KINDS, Machine
from tests.emulation.mininet.foreign import Foreign
from tests.emulation.mininet.tapped import DILATION, TappedTestbed, doubled, send, taken
from topologies import HOST_PORT
from topologies.families.full_mesh import full_mesh
from topologies.families.optical_rings import optical_rings

reason = no_rights()
pytestmark = pytest.mark.skipif(bool(reason), reason=reason)

MOST_TURNS = 60_000
"""Bound on the milliseconds to wait for a frame that must arrive."""


@pytest.fixture(scope="module")
def bed() -> Iterator[TappedTestbed]:
    bed = TappedTestbed(doubled())
    try:
        yield bed
    finally:
        bed.close()


@pytest.fixture(autouse=True)
def settled(request: pytest.FixtureRequest) -> Iterator[None]:
    """Every test finds a testbed that is well and quiet, and leaves it so."""
    yield
    if "bed" in request.fixturenames:
        bed: TappedTestbed = request.getfixturevalue("bed")
        bed.pass_time(0.05)
        assert bed.ports == []
        for link in bed.testbed.fabric.links:
            assert bed.passed(link.name) == (20, 20), link.name


def test_a_link_goes_down_and_comes_up(bed: TappedTestbed) -> None:
    bed.apply("link", "npu0-npu1")
    bed.told(*((*end, False) for end in bed.ends("npu0-npu1")))
    assert bed.passed("npu0-npu1") == (0, 0)
    assert bed.passed("npu0-npu2") == (20, 20)
    bed.apply("link", "npu0-npu1", "up")
    bed.told(*((*end, True) for end in bed.ends("npu0-npu1")))


def test_parallel_links_fail_one_by_one(bed: TappedTestbed) -> None:
    for down, other in (("npu0-npu1", "twin"), ("twin", "npu0-npu1")):
        bed.apply("link", down)
        bed.told(*((*end, False) for end in bed.ends(down)))
        assert bed.passed(down) == (0, 0)
        assert bed.passed(other) == (20, 20)
        bed.apply("link", down, "up")
        bed.told(*((*end, True) for end in bed.ends(down)))


def test_a_port_takes_its_link_down(bed: TappedTestbed) -> None:
    bed.apply("port", "npu1:9")
    bed.told(("npu0", 9, False), ("npu1", 9, False))
    bed.apply("port", "npu1:9", "up")
    bed.told(("npu0", 9, True), ("npu1", 9, True))


def test_a_flap_goes_down_and_up_again_and_again(bed: TappedTestbed, monkeypatch: pytest.MonkeyPatch) -> None:
    """The link changes six times; a busy machine may tell of several turns as of one."""
    changes: list[bool] = []
    set_link = bed.testbed.set_link

    def noted(name: str, up: bool) -> None:
        changes.append(up)
        set_link(name, up)

    with monkeypatch.context() as context:
        context.setattr(bed.testbed, "set_link", noted)
        period = round(0.1 * 1e12 / DILATION)
        bed.apply("link", "npu0-npu1", "flap", period_ps=period, count=3)
        bed.until(lambda: len(changes) == 6, "the last turn of the flap")
    assert changes == [False, True] * 3

    def told(node: str, port: int) -> list[bool]:
        return [up for *end, up in bed.ports if end == [node, port]]

    ends = bed.ends("npu0-npu1")
    for event in ("down", "up"):  # nothing is told late of the flap once this is told
        bed.apply("link", "npu0-npu1", event)
        last = event == "up"
        bed.until(lambda last=last: all(told(*end)[-1:] == [last] for end in ends), f"the link {event}")
    for end in ends:
        assert told(*end) == [False, True] * (len(told(*end)) // 2)
    bed.ports.clear()


def test_one_direction_fails_and_nobody_loses_a_carrier(bed: TappedTestbed) -> None:
    bed.apply("direction", "npu0->npu2")
    assert bed.passed("npu0-npu2") == (0, 20)
    bed.apply("direction", "npu0->npu2", "up")
    bed.apply("direction", "npu2->npu0")
    assert bed.passed("npu0-npu2") == (20, 0)
    bed.apply("direction", "npu2->npu0", "up")
    assert bed.ports == []


def test_a_share_of_the_frames_is_lost(bed: TappedTestbed) -> None:
    bed.apply("link", "npu0-npu2", "loss", loss=0.5)
    there, back = bed.passed("npu0-npu2", 400)
    assert 120 < there < 280  # 8 standard deviations
    assert 120 < back < 280
    bed.apply("link", "npu0-npu2", "clear")


def test_a_rate_is_cut_and_nothing_is_lost(bed: TappedTestbed) -> None:
    """At 4 kbit/s the frames wait, and all arrive once the rate is the link's own again."""
    source, destination = bed.ends("npu0-npu2")
    share = 4_000 * DILATION / bed.testbed.fabric.link("npu0-npu2").rate_bps
    bed.apply("link", "npu0-npu2", "rate", rate=share)
    sent = bed.counters(*source).from_frames
    taken(bed.sockets[destination])
    for number in range(50):
        assert send(bed.sockets[source], number, length=1000)
    bed.until(
        lambda: bed.counters(*source).from_frames - sent == 50, "the arrival of all frames at the queue"
    )
    assert bed.counters(*destination).waiting_frames > 20  # the rest was let through at once
    arrived = taken(bed.sockets[destination])
    assert len(arrived) < 30
    bed.apply("link", "npu0-npu2", "clear")

    def all_arrived() -> bool:
        arrived.extend(taken(bed.sockets[destination]))
        return len(arrived) >= 50

    bed.until(all_arrived, "the end of the queue")
    assert [int.from_bytes(frame[22:30]) for frame in arrived] == list(range(50))


@pytest.mark.skipif(not reason and kernel.NETEM not in kernel.missing(), reason="the kernel has netem")
def test_a_delay_that_the_kernel_cannot_do_changes_nothing(bed: TappedTestbed) -> None:
    with pytest.raises(TestbedError, match=r"sch_netem \(CONFIG_NET_SCH_NETEM\), for the delay of a link"):
        bed.testbed.impair("npu0-npu2", 0, Impairment(extra_delay_ps=10**6))
    assert bed.passed("npu0-npu2") == (20, 20)


def test_an_npu_fails_and_its_host_keeps_its_configuration(bed: TappedTestbed) -> None:
    inside = ["ip", "-n", bed.testbed.namespaces["npu1"]]

    def ip(*arguments: str) -> str:
        return subprocess.run([*inside, *arguments], check=True, capture_output=True, text=True).stdout

    ip("address", "add", "10.9.8.7/24", "dev", "eth0")
    ip("neighbour", "add", "10.9.8.1", "lladdr", "02:00:00:00:00:01", "dev", "eth0", "nud", "permanent")
    before = ip("address", "show", "dev", "eth0").split("inet ")[1:]
    links = ["npu0-npu1", "npu1-npu3", "twin"]
    ends = [end for link in links for end in bed.ends(link)]
    host = bed.hosts["npu1"], bed.sockets["npu1", HOST_PORT]
    assert bed.crossed(*host) == 20
    bed.apply("npu", "npu1")
    bed.told(*((*end, False) for end in ends))
    bed.until(lambda: "NO-CARRIER" in ip("link", "show", "dev", "eth0"), "the loss of the host's carrier")
    assert bed.crossed(*host) == 0
    assert ip("address", "show", "dev", "eth0").split("inet ")[1:] == before
    bed.apply("npu", "npu1", "up")
    bed.told(*((*end, True) for end in ends))
    bed.until(lambda: "LOWER_UP" in ip("link", "show", "dev", "eth0"), "the host's carrier")
    assert bed.crossed(*host) == 20
    assert ip("address", "show", "dev", "eth0").split("inet ")[1:] == before
    assert "02:00:00:00:00:01" in ip("neighbour", "show", "dev", "eth0")
    ip("address", "delete", "10.9.8.7/24", "dev", "eth0")


def test_what_two_faults_hold_down_comes_back_with_the_last(bed: TappedTestbed) -> None:
    links = ["npu0-npu1", "twin", "npu0-npu2", "npu1-npu3"]
    ends = [end for link in links for end in bed.ends(link)]
    bed.apply("board", 0)
    bed.told(*((*end, False) for end in ends))
    bed.apply("link", "npu0-npu2")
    bed.apply("board", 0, "up")
    held = bed.ends("npu0-npu2")
    bed.told(*((*end, True) for end in ends if end not in held))
    assert bed.passed("npu0-npu2") == (0, 0)
    bed.apply("link", "npu0-npu2", "up")
    bed.told(*((*end, True) for end in held))


@pytest.mark.parametrize("kind", KINDS)
def test_switches_outlive_the_failure_of_all_their_links(kind: SwitchKind) -> None:
    """A switch that loses its interfaces may stop altogether: behavioral-model, issue 1215."""
    bed = TappedTestbed(full_mesh([2]), kind)
    try:
        for event in ("down", "up") * 3:
            bed.apply("npu", "npu0", event)
            bed.told(("npu0", 1, event == "up"), ("npu1", 1, event == "up"))
        assert bed.passed("npu0-npu1") == (20, 20)
        for address in bed.testbed.addresses.values():
            with socket.socket(socket.AF_UNIX) as server:
                server.connect(address.removeprefix("unix:"))
    finally:
        bed.close()


# -- optical switches


@final
class Traffic:
    """Frames sent out of every port, and by port and number when sending each of them began and ended."""

    def __init__(self, sockets: Sequence[socket.socket]) -> None:
        self._sockets = sockets
        self.sent: list[list[tuple[int, int]]] = [[] for _ in sockets]
        self.came: list[list[tuple[int, int, int]]] = [[] for _ in sockets]

    def burst(self) -> None:
        for port, raw in enumerate(self._sockets):
            for _ in range(2):
                before = time.time_ns()
                if send(raw, len(self.sent[port]), port):
                    self.sent[port].append((before, time.time_ns()))

    def received(self, ports: Sequence[int]) -> int:
        """Return the number of frames that have arrived at some ports."""
        return sum(len(self.came[port]) for port in ports)

    def take(self) -> None:
        """Note sender, number and time of arrival of every frame that has arrived."""
        for port, raw in enumerate(self._sockets):
            while True:
                try:
                    content, control, _, address = raw.recvmsg(2048, 64)
                except BlockingIOError:
                    break
                if address[2] != 4:  # PACKET_OUTGOING
                    seconds, ns = (int.from_bytes(control[0][2][at : at + 8], "little") for at in (0, 8))
                    sender, number = (int.from_bytes(content[at : at + 8]) for at in (14, 22))
                    self.came[port].append((sender, number, seconds * 10**9 + ns))


@pytest.mark.parametrize("reconfigurations", [16, pytest.param(40, marks=pytest.mark.long)])
@pytest.mark.parametrize("kind", KINDS)
def test_circuits_change_under_traffic(kind: SwitchKind, reconfigurations: int) -> None:
    """No frame leaves a port that was not its circuit's; circuits that stay lose nothing."""
    chance = random.Random(7)
    dark_ps = round(0.01 * 1e12 / DILATION)
    bed = TappedTestbed(optical_rings(6, reconfiguration_us=dark_ps / 10**6), kind)
    try:
        fabric = bed.testbed.fabric
        circuits = bed.testbed.circuits["ocs0"]
        ends = fabric.optical_switch("ocs0").ends
        traffic = Traffic([bed.sockets[end.node, end.port] for end in ends])
        first = dict(circuits.crossconnect)
        untouched = (0, first[0])
        free = [port for port in first if port not in untouched]
        carried = 0
        stood: dict[tuple[int, int], list[list[int]]] = {}
        standing: set[tuple[int, int]] = set()

        def look() -> None:
            """Note which circuits have come, before anything can be sent over them, and which have gone."""
            now = {(low, high) for low, high in circuits.crossconnect.items() if low < high}
            for circuit in now - standing:
                stood.setdefault(circuit, []).append([began[0], 0])
            for circuit in standing - now:
                stood[circuit][-1][1] = time.time_ns()
            standing.clear()
            standing.update(now)

        began = [time.time_ns()]
        look()
        bed.pass_time(0.001)
        for _ in range(reconfigurations):
            chance.shuffle(free)
            pairs = [free[at : at + 2] for at in range(0, len(free), 2)]
            wanted = {low: high for low, high in pairs if chance.random() < 0.8} | dict([untouched])
            done = circuits.apply(wanted)
            look()
            assert (min(untouched), max(untouched)) in done.kept
            turns = chance.randrange(1, 25)  # some maps end before their circuits stand,
            used = traffic.received(free) if len(wanted) > 1 and chance.random() < 0.5 else None
            carried += used is not None  # and some only when they have carried a frame
            while turns > 0 or (used is not None and traffic.received(free) == used):
                assert turns > -MOST_TURNS, f"no frame over {sorted(wanted.items())}"
                turns -= 1
                traffic.burst()
                began[0] = time.time_ns()
                bed.pass_time(0.001)
                look()
                traffic.take()
        bed.pass_time(0.05)
        look()
        traffic.burst()
        bed.flush()
        traffic.take()
    finally:
        bed.close()
    now = time.time_ns()
    assert carried >= reconfigurations / 8
    for port, frames in enumerate(traffic.came):
        for sender, number, arrived in frames:
            before, after = traffic.sent[sender][number]
            times = stood.get((min(sender, port), max(sender, port)), [])
            assert any(start <= after and before <= arrived <= (end or now) for start, end in times), (
                f"frame {number} of port {sender} came out of port {port} while there was no such circuit"
            )
    for sender, port in (untouched, untouched[::-1]):
        assert [number for _, number, _ in traffic.came[port]] == list(range(len(traffic.sent[sender])))


def test_a_fault_of_a_circuit_outlives_reconfigurations() -> None:
    """Down before it was ever made, it stands only when it is mended; what is wrong with it stays wrong."""
    bed = TappedTestbed(optical_rings(4, reconfiguration_us=0.02 * 1e6 / DILATION))
    try:
        ends = [(end.node, end.port) for end in bed.testbed.fabric.optical[0].ends]
        item, four = bed.sockets[ends[1]], bed.sockets[ends[4]]
        ocs = bed.testbed.circuits["ocs0"]
        bed.apply("circuit", "ocs0:1-4")
        ocs.apply({1: 4})
        bed.until(lambda: ocs.crossconnect == {1: 4, 4: 1}, "the circuit")
        bed.pass_time(0.1)
        assert (bed.crossed(item, four), bed.crossed(four, item)) == (0, 0)
        bed.ports.clear()
        bed.apply("circuit", "ocs0:1-4", "up")
        bed.told((*ends[1], True), (*ends[4], True))
        assert (bed.crossed(item, four), bed.crossed(four, item)) == (20, 20)
        bed.apply("circuit", "ocs0:1-4", "loss", loss=1.0)
        for joined in ({}, {1: 4}):
            ocs.apply(joined)
            bed.until(lambda joined=joined: len(ocs.crossconnect) == 2 * len(joined), "the map")
        bed.pass_time(0.1)
        assert (bed.crossed(item, four), bed.crossed(four, item)) == (0, 0)
        bed.apply("circuit", "ocs0:1-4", "clear")
        assert (bed.crossed(item, four), bed.crossed(four, item)) == (20, 20)
    finally:
        bed.close()


# -- starting and stopping


@pytest.mark.parametrize("starts", [2, pytest.param(6, marks=pytest.mark.long)])
@pytest.mark.parametrize("kind", KINDS)
def test_start_and_stop_again_and_again(tmp_path: Path, kind: SwitchKind, starts: int) -> None:
    with Foreign(tmp_path) as foreign:
        machine = Machine(tmp_path)
        for _ in range(starts):
            with MininetTestbed(full_mesh([2, 2]), switch=kind) as testbed:
                run = testbed.shared_namespaces["fabric"].split("-")[1]
                assert set(testbed.addresses) == {f"npu{index}" for index in range(4)}
            foreign.check()
            assert machine.left([run]) == []


def test_a_testbed_that_cannot_start_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    machine = Machine(tmp_path)
    choose, runs = recording._free_id, list[str]()
    monkeypatch.setattr(recording, "_free_id", lambda root: runs.append(choose(root)) or runs[-1])
    monkeypatch.setattr(switches.sys, "executable", "/bin/false")
    with pytest.raises(TestbedError, match=r"the switch process switchd0 has ended with code 1: no output"):
        MininetTestbed(full_mesh([2, 2]), switch="builtin").start()
    assert len(runs) == 1
    assert machine.left(runs) == []
