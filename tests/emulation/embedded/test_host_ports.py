# SPDX-License-Identifier: Apache-2.0
"""Frames into and out of the host ports of a fabric that another process would run: gRPC, commands, TAP."""

import os
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import networkx as nx
import pytest
from scapy.layers.inet import IP, UDP
from scapy.layers.l2 import Ether
from scapy.utils import rdpcap, wrpcap

import railyard as api
from controller.p4runtime.client import ProgramFiles
from controller.p4runtime.p4info import P4Info
from controller.plan.entry import Entry, Lpm
from controller.planner import make_plan
from emulation.embedded.testbed import EmbeddedTestbed
from emulation.errors import MachineError, TestbedError
from harness.frames.exchange import Arrival, Departure, exchange, listen
from harness.run.boot import booted, filled
from topologies import Fabric, from_graph, full_mesh

ANY_PORT = "127.0.0.1:0"
BUILD = Path(__file__).resolve().parents[2] / "programs" / "build"


def program(name: str) -> ProgramFiles:
    return ProgramFiles(*((BUILD / name).with_suffix(end).read_bytes() for end in (".json", ".p4info.txtpb")))


def two_switches() -> Fabric:
    """Return h1 at port 1 and h2 at port 2 of s1, and h3 at port 1 of s2."""
    graph = nx.Graph()
    for node in ("s1", "s2"):
        graph.add_node(node, kind="switch")
    for host, switch, port in (("h1", "s1", 1), ("h2", "s1", 2), ("h3", "s2", 1)):
        graph.add_node(host, kind="host")
        graph.add_edge(host, switch, ports=f"{switch}:{port}")
    graph.add_edge("s1", "s2", ports="s1:3 s2:3")
    return from_graph(graph, "two")


def rows() -> dict[str, list[Entry]]:
    def to(network: int, port: int) -> Entry:
        match = (("dst", Lpm(0x0A000000 | network << 8, 24)),)
        return Entry("ipv4", match, "forward", (("mac", 2), ("port", port)))

    return {"s1": [to(1, 1), to(2, 2), to(3, 3)], "s2": [to(1, 3), to(2, 3), to(3, 1)]}


@contextmanager
def serving(bed: EmbeddedTestbed) -> Iterator[str]:
    """Run a started testbed as `railyard up` does, and yield its address."""
    stopped = threading.Event()
    thread = threading.Thread(target=bed.serve, args=(stopped,))
    bed.host_ports.open()
    thread.start()
    try:
        yield bed.address
    finally:
        stopped.set()
        thread.join()


@pytest.fixture(scope="module")
def bed() -> Iterator[EmbeddedTestbed]:
    fabric = two_switches()
    files: dict[str, ProgramFiles] = dict.fromkeys(("s1", "s2"), program("ipv4"))
    testbed = EmbeddedTestbed(fabric, grpc_address=ANY_PORT)
    with filled(testbed, files, rows()), serving(testbed):
        yield testbed


def to(network: int, payload: bytes = b"hello") -> bytes:
    return bytes(
        Ether(dst="02:00:00:00:00:01") / IP(src="10.0.1.1", dst=f"10.0.{network}.9") / UDP() / payload
    )


def test_frames_leave_by_the_ports_that_the_tables_say(bed: EmbeddedTestbed) -> None:
    sent = [Departure("h1", to(3)), Departure("h1", to(2)), Departure("h3", to(1)), Departure("h2", to(9))]
    arrived = list(exchange(bed.address, sent))
    assert sorted((item.host, Ether(item.frame)[IP].ttl) for item in arrived) == [
        ("h1", 62),
        ("h2", 63),
        ("h3", 62),
    ]
    assert all(item.time_ps > 0 for item in arrived)
    assert list(exchange(bed.address, [Departure("h1", to(2))], hosts=["h3"])) == []


def test_python_gets_records_of_what_leaves(bed: EmbeddedTestbed) -> None:
    (record,) = api.exchange(bed.address, [("h1", to(3, b"from Scapy"))])
    assert record["host"] == "h3"
    assert record["frame"].endswith(b"from Scapy")


def test_a_thousand_frames_keep_their_order(bed: EmbeddedTestbed) -> None:
    sent = [Departure("h1", to(3, b"%04d" % number)) for number in range(1000)]
    assert [item.frame[-4:] for item in exchange(bed.address, sent)] == [b"%04d" % n for n in range(1000)]


def test_a_listener_sees_what_another_client_sends(bed: EmbeddedTestbed) -> None:
    heard = listen(bed.address, ["h2"])
    first = threading.Thread(target=lambda: seen.append(next(heard)))
    seen: list[Arrival] = []
    first.start()
    while first.is_alive():  # it may not listen yet
        list(exchange(bed.address, [Departure("h1", to(3)), Departure("h1", to(2))]))
        first.join(0.02)
    assert seen[0].host == "h2"
    heard.close()


@pytest.mark.parametrize(
    ("departure", "message"),
    [
        (Departure("h9", b"x" * 60), "there is no host 'h9'; hosts are h1, h2, h3"),
        (Departure("h1", bytes(65536)), "h1 cannot be sent a frame of 65536 bytes; send 1 to 65535 bytes"),
    ],
)
def test_what_cannot_enter_is_refused(bed: EmbeddedTestbed, departure: Departure, message: str) -> None:
    with pytest.raises(TestbedError, match=message):
        list(exchange(bed.address, [departure]))


def test_an_address_without_fabric_is_the_machines_fault() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
    with pytest.raises(MachineError, match=f"no fabric answers at 127.0.0.1:{port}; start the fabric"):
        list(exchange(f"127.0.0.1:{port}", []))


def test_a_testbed_starts_once() -> None:
    """A start that found its address taken has built the switches; a second one must not build them again."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        testbed = EmbeddedTestbed(two_switches(), grpc_address=f"127.0.0.1:{port}")
        with pytest.raises(MachineError, match=f"cannot listen on 127.0.0.1:{port}"):
            testbed.start()
    with pytest.raises(TestbedError, match="was started before; make a new testbed"):
        testbed.start()
    testbed.stop()


def test_a_fabric_with_agents_takes_no_frames() -> None:
    with (
        EmbeddedTestbed(full_mesh([2]), grpc_address=ANY_PORT) as testbed,
        pytest.raises(TestbedError, match="this fabric runs agents on its hosts"),
    ):
        list(exchange(testbed.address, [Departure("npu0", b"x" * 60)]))


def test_send_prints_and_writes_what_leaves(railyard, bed: EmbeddedTestbed, tmp_path: Path) -> None:
    wrpcap(str(tmp_path / "in.pcap"), [Ether(to(3)), Ether(to(2))])
    code, out, _ = railyard("send", "in.pcap", "--from", "h1", "--grpc", bed.address, "--out", "out.pcapng")
    assert code == 0
    assert {line.split()[2] for line in out.splitlines() if " us " in line} == {"h2", "h3"}
    assert sorted(frame[IP].ttl for frame in rdpcap(str(tmp_path / "out.pcapng"))) == [62, 63]
    wrpcap(str(tmp_path / "in.pcap"), [Ether(to(9))])
    code, out, _ = railyard("send", "in.pcap", "--from", "h1", "--grpc", bed.address)
    assert (code, out.strip()) == (1, "no frame left the fabric")
    (tmp_path / "in.pcap").write_text("no capture")
    for arguments, message in (
        (["in.pcap", "--from", "h1"], "in.pcap is not a capture file"),
        (["none.pcap", "--from", "h1"], "none.pcap cannot be read"),
        (["in.pcap"], "the sending host is missing"),
    ):
        code, _, err = railyard("send", *arguments, "--grpc", bed.address)
        assert code == 2
        assert message in " ".join(err.replace("│", " ").split())


def test_craft_sends_a_frame_into_a_running_fabric(railyard) -> None:
    plan = make_plan(full_mesh([2, 2]))
    testbed = EmbeddedTestbed(plan.fabric, grpc_address=ANY_PORT)
    order = ("craft", "full-mesh", "--dims", "2x2", "--from", "npu0", "--to", "npu3")
    with booted(testbed, plan), serving(testbed) as address:
        code, out, _ = railyard(*order, "--grpc", address, "--count", "2")
        assert code == 0
        assert sum(" us  npu3  " in line for line in out.splitlines()) == 2
        # Port 9 leads nowhere.
        code, out, _ = railyard(*order, "--route", "9", "--grpc", address)
        assert code == 1
        assert "no frame left the fabric" in out


@pytest.mark.skipif(os.geteuid() != 0 or not Path("/dev/net/tun").exists(), reason="TAP devices need root")
def test_tap_devices_carry_frames_and_are_gone_afterwards() -> None:
    from emulation.embedded.taps import INTERFACE, taps
    from emulation.linux import netns

    def packet_socket() -> socket.socket:
        opened = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(0x0800))
        opened.bind((INTERFACE, 0))
        opened.settimeout(30)
        return opened

    testbed = EmbeddedTestbed(two_switches(), grpc_address=ANY_PORT)
    files: dict[str, ProgramFiles] = dict.fromkeys(("s1", "s2"), program("ipv4"))
    with filled(testbed, files, rows()), serving(testbed):
        with taps(testbed.host_ports) as namespaces:
            assert list(namespaces) == ["h1", "h2", "h3"]
            sockets = {host: netns.inside(where, packet_socket) for host, where in namespaces.items()}
            sockets["h1"].send(to(3))
            assert Ether(sockets["h3"].recv(2000))[IP].ttl == 62
            sockets["h3"].send(to(2))
            assert Ether(sockets["h2"].recv(2000))[IP].ttl == 62
            for opened in sockets.values():
                opened.close()
        assert not any(map(netns.exists, namespaces.values()))


def test_default_actions_come_with_entries() -> None:
    info = P4Info.parse(program("ipv4").p4info)
    kept = Entry("ipv4", (), "forward", (("mac", 2), ("port", 1)), default=True)
    fabric = two_switches()
    testbed = EmbeddedTestbed(fabric, grpc_address=ANY_PORT)
    assert kept.key != Entry("ipv4", (), "drop").key
    with (
        filled(testbed, dict.fromkeys(("s1", "s2"), program("ipv4")), {"s2": [kept]}),
        serving(testbed) as at,
    ):
        assert info.layout("ipv4")[1]["forward"] == ("mac", "port")
        (arrived,) = exchange(at, [Departure("h3", to(7))])
    assert arrived.host == "h3"
