# SPDX-License-Identifier: Apache-2.0
"""The cross-connect: frames cross where they are connected, and nowhere else."""

import shutil
import socket
import struct
import time
from collections.abc import Sequence
from ipaddress import IPv4Address
from pathlib import Path

import pytest

from emulation.errors import TestbedError
from emulation.linux import netns
from emulation.linux.netlink import Refusal, Request, RouteSocket
from emulation.mininet.links.cross_connect import CrossConnect
from emulation.mininet.links.endpoints import Endpoint, Tunnel
from tests.emulation.mininet.benches import MTU, STALLED, Bench, frame, no_rights, number, until

reason = no_rights()
pytestmark = pytest.mark.skipif(bool(reason), reason=reason)


# -- frames


def test_frames_cross_as_they_are(bench: Bench) -> None:
    bench.connect(0, 1)
    sizes = (60, 64, 1514, 9000, MTU + 14)
    for length in sizes:
        bench.send(0, frame(length, length))
        bench.send(1, frame(length + 1, length))
    assert bench.receive(1, len(sizes)) == [frame(length, length) for length in sizes]
    assert bench.receive(0, len(sizes)) == [frame(length + 1, length) for length in sizes]


def test_a_tap_keeps_frames_while_its_link_is_down_and_after(bench: Bench) -> None:
    bench.connect(0, 1)
    tap = bench.cross_connect.tap("j0", int.from_bytes(frame(1)[12:14]), 8)
    bench.send(0, frame(1))
    assert bench.receive(1, 1) == [frame(1)]
    bench.cross_connect.set_carrier("j0", "j1", False)
    assert [item[3] for item in tap.take()] == [frame(1)]
    bench.cross_connect.set_carrier("j0", "j1", True)
    until(lambda: bench.carriers() == {"d0", "d1"})
    bench.send(0, frame(2))
    assert bench.receive(1, 1) == [frame(2)]
    assert [item[3] for item in tap.take()] == [frame(1), frame(2)]
    tap.close()


def test_connections_do_not_hear_of_each_other(bench: Bench) -> None:
    bench.connect(0, 1)
    bench.connect(2, 3)
    bench.send(0, *map(frame, range(100)))
    bench.send(3, *map(frame, range(100, 200)))
    assert [number(item) for item in bench.receive(1, 100)] == list(range(100))
    assert [number(item) for item in bench.receive(2, 100)] == list(range(100, 200))
    assert [bench.rest(device) for device in (0, 1, 2, 3)] == [[]] * 4


def test_links_say_nothing_of_themselves(bench: Bench) -> None:
    bench.connect(0, 1)
    time.sleep(0.6)  # the kernel's own chatter, if there is any, comes within this time
    assert [bench.rest(device) for device in (0, 1)] == [[], []]


def test_a_endpoint_has_a_carrier_while_it_is_patched(bench: Bench) -> None:
    assert bench.carriers() == set()
    bench.connect(0, 1)
    bench.connect(2, 3)
    bench.cross_connect.disconnect("j0", "j1")
    until(lambda: bench.carriers() == {"d2", "d3"})
    bench.cross_connect.set_carrier("j3", "j2", False)
    until(lambda: bench.carriers() == set())
    bench.cross_connect.set_carrier("j2", "j3", True)
    until(lambda: bench.carriers() == {"d2", "d3"})
    bench.send(2, frame(7))
    assert bench.receive(3, 1) == [frame(7)]


def test_what_waits_for_a_link_is_gone_with_it(bench: Bench) -> None:
    bench.connect(0, 1, rate_bps=STALLED)
    bench.send(0, *(frame(i, 1000) for i in range(200)))
    bench.rest(1)
    assert bench.cross_connect.counters()["j1"].waiting_frames > 150
    bench.cross_connect.disconnect("j0", "j1")
    bench.rest(1)
    bench.connect(1, 2)
    bench.connect(0, 3)
    assert bench.cross_connect.counters()["j1"].waiting_frames == 0
    assert [bench.rest(device) for device in (1, 2, 3)] == [[]] * 3


# -- endpoints


def test_a_tunnel_that_is_made_again_counts_on(bench: Bench) -> None:
    loopback, other = IPv4Address("127.0.0.1"), IPv4Address("127.0.0.2")
    sent = 0
    for identifier, frames in ((77, 3), (78, 4)):
        tunnel = Tunnel(identifier, loopback, other, 4789)
        bench.cross_connect.add([Endpoint("far", f"vx{identifier}", "", "", 1400, tunnel)])
        bench.cross_connect.connect("j0", "far")
        until(lambda: "d0" in bench.carriers(), "the carrier of a device connected to a tunnel")
        bench.send(0, *map(frame, range(frames)))
        sent += frames
        until(
            lambda all=sent: bench.cross_connect.counters()["far"].to_frames == all,
            f"{sent} frames in the tunnel",
        )
        bench.cross_connect.disconnect("j0", "far")
        bench.cross_connect.remove_tunnel("far")
        bench.cross_connect.remove_tunnel("j0")  # has a device, and stays
        assert bench.cross_connect.counters()["far"].to_frames == sent
        until(lambda: "d0" not in bench.carriers(), "a device without a carrier")
    assert bench.cross_connect.counters()["j0"].from_frames == sent


@pytest.mark.parametrize("count", [200, pytest.param(1000, marks=pytest.mark.long)])
def test_many_jacks_take_few_calls_of_the_kernel(
    bench: Bench, monkeypatch: pytest.MonkeyPatch, count: int
) -> None:
    """Requests sent one by one would take seconds: creation and removal go in batches."""
    calls: list[int] = []
    send = RouteSocket._send

    def counted(route: RouteSocket, batch: Sequence[Request]) -> list[Refusal]:
        calls.append(len(batch))
        return send(route, batch)

    monkeypatch.setattr(RouteSocket, "_send", counted)
    bench.cross_connect.add([Endpoint(f"k{i}", f"k{i}", bench.devices, f"k{i}", MTU) for i in range(count)])
    assert sum(calls) == 2 * count  # a pair of interfaces and a place for filters each
    assert len(calls) <= count / 50
    calls.clear()
    for i in range(0, count, 2):
        bench.cross_connect.connect(f"k{i}", f"k{i + 1}", rate_bps=20e6)
    assert len(calls) == count  # two batches a connection: queues and filters, carriers
    assert len(bench.cross_connect.counters()) == count + 6
    until(lambda: len(bench.carriers()) == count, "the carriers of all connections")
    calls.clear()
    bench.cross_connect.close()
    assert calls == [1]
    names = netns.inside(bench.devices, socket.if_nameindex)
    assert [name for _, name in names] == ["lo"]


def test_closing_twice(bench: Bench) -> None:
    bench.cross_connect.close()
    bench.cross_connect.close()


# -- what cannot be


def test_errors_name_the_endpoint(bench: Bench) -> None:
    cross_connect = bench.cross_connect
    bench.connect(0, 1)
    for call, said in (
        (lambda: cross_connect.connect("j0", "j2"), "j0 is connected to j1"),
        (lambda: cross_connect.connect("j2", "j2"), "j2 cannot be connected to itself"),
        (lambda: cross_connect.connect("j2", "nobody"), "no endpoint nobody"),
        (lambda: cross_connect.connect("j2", "j3", rate_bps=0), "rate is 0 bit/s"),
        (
            lambda: cross_connect.connect("j2", "j3", rate_bps=1e6, queue_bytes=100),
            "queue between j2 and j3 has 100 bytes",
        ),
        (lambda: cross_connect.disconnect("j0", "j2"), "j0 and j2 are not connected"),
        (lambda: cross_connect.impair("j0", "j1", loss=1.5), "loss from j0 to j1 is 1.5"),
        (lambda: cross_connect.impair("j0", "j1", delay_s=-1), "delay from j0 to j1 is -1"),
        (lambda: cross_connect.set_carrier("j2", "j3", False), "j2 and j3 are not connected"),
    ):
        with pytest.raises(TestbedError, match=said):
            call()


@pytest.mark.parametrize(
    ("endpoint", "said"),
    [
        (("j0", "x", "", "x", 1500), "two endpoints have the name j0"),
        (("x", "p0", "", "x", 1500), "has an interface p0 already"),
        (("x", "x", "", "d0", 1500), "has an interface d0 already"),
        (("x", "interface-name-x", "", "x", 1500), "interface-name-x"),
        (("x", "x", "railyard-none", "x", 1500), "railyard-none does not exist"),
        (("x", "x", "", "x", 10), "x in .*: Invalid argument"),
    ],
)
def test_jacks_that_cannot_be(bench: Bench, endpoint: tuple[str, str, str, str, int], said: str) -> None:
    name, interface, namespace, device_interface, mtu = endpoint
    before = bench.cross_connect.counters()
    with pytest.raises(TestbedError, match=said):
        bench.cross_connect.add(
            [
                Endpoint("y", "y", bench.devices, "y", 1500),
                Endpoint(name, interface, namespace or bench.devices, device_interface, mtu),
            ]
        )
    assert bench.cross_connect.counters() == before
    bench.cross_connect.add([Endpoint("x", "x", bench.devices, "x", 1500)])
    bench.cross_connect.connect("x", "j1")


def test_a_panel_of_a_namespace_that_is_not_there() -> None:
    with pytest.raises(TestbedError, match="railyard-none does not exist"):
        CrossConnect("railyard-none")


# -- capture


@pytest.mark.skipif(shutil.which("tcpdump") is None, reason="tcpdump is not installed")
def test_a_capture_has_both_directions(bench: Bench, tmp_path: Path) -> None:
    bench.connect(0, 1)
    bench.cross_connect.impair("j0", "j1", blocked=True)
    path = tmp_path / "link.pcap"
    tcpdump = bench.cross_connect.capture("j0", path, bench.record)
    bench.send(0, frame(1), frame(2))
    bench.send(1, frame(3))
    bench.receive(0, 1)
    until(lambda: len(_frames(path)) == 3, "a capture of three frames")
    assert sorted(number(content) for content in _frames(path)) == [1, 2, 3]
    assert bench.rest(1) == []
    tcpdump.terminate()
    tcpdump.wait()


def test_a_capture_that_cannot_be(bench: Bench, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    if shutil.which("tcpdump"):
        with pytest.raises(TestbedError, match="nowhere"):
            bench.cross_connect.capture("j0", tmp_path / "nowhere" / "x.pcap", bench.record)
    monkeypatch.setattr(shutil, "which", lambda _: None)
    with pytest.raises(TestbedError, match="install the package tcpdump"):
        bench.cross_connect.capture("j0", tmp_path / "x.pcap", bench.record)


def _frames(path: Path) -> list[bytes]:
    """Return the frames of a pcap file that may still be written."""
    data = path.read_bytes()
    assert struct.unpack_from("<I", data)[0] == 0xA1B23C4D  # times in nanoseconds
    result, at = [], 24
    while at + 16 <= len(data):
        length = struct.unpack_from("<I", data, at + 8)[0]
        result.append(data[at + 16 : at + 16 + length])
        at += 16 + length
    return result
