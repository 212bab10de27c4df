# SPDX-License-Identifier: Apache-2.0
"""IPv4 beside UB: sockets of ordinary programs on hosts, and the UB frames that carry their packets."""

from __future__ import annotations

import errno
import os
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from scapy.packet import Packet

from controller.planner import make_plan
from emulation.errors import EmulationError, TestbedError
from emulation.linux import netns
from emulation.mininet.ip.programs import Programs, check_command, variables
from emulation.mininet.switches.processes import SwitchKind
from emulation.mininet.testbed import MininetTestbed
from emulation.traffic.frames.dissector import dissector as ub_dissector
from emulation.traffic.frames.layers import NTH, SRH, TPH, Ether
from emulation.traffic.frames.values import ETHERTYPE, Opcode
from harness.run.boot import booted
from tests.emulation.mininet.benches import no_rights
from tests.emulation.mininet.commands import ROOT, Machine, railyard
from topologies.families.full_mesh import full_mesh

reason = no_rights()
pytestmark = pytest.mark.skipif(bool(reason), reason=reason)

SECONDS = 120.0
_IP_MTU_DISCOVER, _IP_PMTUDISC_DO = 10, 2

# Every rank sends a number to its successor and adds what it receives, once around the ring.
RING = """
import os, socket
rank, ranks = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
hosts = os.environ["RAILYARD_HOSTS"].split(",")
server = socket.create_server((hosts[rank], 7000))
before = None
while before is None:
    try:
        after = socket.create_connection((hosts[(rank + 1) % ranks], 7000), timeout=1)
        before = True
    except OSError:
        pass
server.settimeout(100)
before, _ = server.accept()
total = value = rank + 1
for _ in range(ranks - 1):
    after.sendall(value.to_bytes(4, "big"))
    value = int.from_bytes(before.recv(4, socket.MSG_WAITALL), "big")
    total += value
assert total == ranks * (ranks + 1) // 2, total
print("total", total)
"""


@pytest.fixture(scope="module")
def bed() -> Iterator[MininetTestbed]:
    fabric = full_mesh([2, 2])
    testbed = MininetTestbed(fabric, switch="builtin", ip=True)
    with booted(testbed, make_plan(fabric)):
        yield testbed


def launch(bed: MininetTestbed, words: list[str], say: Callable[[str, str], None]) -> None:
    assert bed.ip is not None
    Programs(words, bed.namespaces, bed.environment(), variables(bed.ip.addresses)).follow(say)


def udp(bed: MininetTestbed, node: str) -> socket.socket:
    def bound() -> socket.socket:
        opened = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        opened.bind((address(bed, node), 0))
        return opened

    opened = netns.inside(bed.namespaces[node], bound)
    opened.settimeout(SECONDS)
    return opened


def address(bed: MininetTestbed, node: str) -> str:
    assert bed.ip is not None
    return str(bed.ip.addresses[node])


def test_a_datagram_crosses_the_switches_with_a_source_route(bed: MininetTestbed) -> None:
    def listening() -> socket.socket:
        raw = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(ETHERTYPE))
        raw.settimeout(SECONDS)
        return raw

    with (
        netns.inside(bed.shared_namespaces["fabric"], listening) as switches,
        udp(bed, "npu0") as sender,
        udp(bed, "npu3") as receiver,
    ):
        sender.sendto(b"all over the fabric", receiver.getsockname())
        assert receiver.recvfrom(100) == (b"all over the fabric", sender.getsockname())
        seen: list[Packet] = []
        while len(seen) < 3:
            frame = switches.recv(20000)
            if b"all over the fabric" in frame:
                seen.append(Ether(frame))
    assert [frame[TPH].opcode for frame in seen] == [Opcode.IPV4] * 3
    assert {(frame[NTH].scna, frame[NTH].dcna) for frame in seen} == {(0, 3)}
    assert [frame[SRH].ptr if SRH in frame else None for frame in seen] == [None, 1, 2]


def test_the_longest_packet_passes_and_a_longer_one_is_refused_by_the_sender(bed: MininetTestbed) -> None:
    assert bed.ip is not None
    longest = bed.ip.mtu - 28
    assert longest == 10240 - 32 - 28
    with udp(bed, "npu0") as sender, udp(bed, "npu3") as receiver:
        sender.setsockopt(socket.IPPROTO_IP, _IP_MTU_DISCOVER, _IP_PMTUDISC_DO)
        payload = os.urandom(longest)
        sender.sendto(payload, receiver.getsockname())
        assert receiver.recv(longest + 1) == payload
        with pytest.raises(OSError, match=os.strerror(errno.EMSGSIZE)):
            sender.sendto(payload + b"x", receiver.getsockname())


def test_a_stream_arrives_whole_and_the_counters_tell(bed: MininetTestbed) -> None:
    assert bed.ip is not None
    before, ports = bed.carried(), bed.ip.counters()
    content = os.urandom(1 << 20)
    server = netns.inside(bed.namespaces["npu3"], lambda: socket.create_server((address(bed, "npu3"), 0)))
    client = netns.inside(
        bed.namespaces["npu0"], lambda: socket.create_connection(server.getsockname(), SECONDS)
    )
    with server, client:
        connection, _ = server.accept()
        sending = threading.Thread(target=client.sendall, args=(content,))
        sending.start()
        with connection:
            connection.settimeout(SECONDS)
            assert connection.makefile("rb").read(len(content)) == content
        sending.join()
    least = len(content) / bed.ip.mtu
    # A carrier counts a packet after it has handed it on.
    deadline = time.monotonic() + SECONDS
    while (
        bed.ip.counters()["npu0"].sent - ports["npu0"].sent < least
        or bed.ip.counters()["npu3"].received - ports["npu3"].received < least
    ):
        assert time.monotonic() < deadline, bed.ip.counters()
        time.sleep(0.01)
    crossed = sum(sum(now) - sum(before[link]) for link, now in bed.carried().items())
    assert crossed >= 2 * least, "two links lie between the hosts"


def test_a_program_on_every_host_exchanges_numbers(tmp_path: Path) -> None:
    machine = Machine(tmp_path)
    (tmp_path / "ring.py").write_text(RING)
    options = ["--testbed", "mininet", "--switch", "builtin", "--ip", "--launch", f"{sys.executable} ring.py"]
    code, said, err = railyard(tmp_path, "up", "full-mesh", "--dims", "2x2", *options)
    assert code == 0, said + err
    lines = said.splitlines()
    assert sorted(line for line in lines if "total" in line) == [f"npu{rank}: total 10" for rank in range(4)]
    assert "IPv4: 10.1.0.0 to 10.1.0.3 on ub0, MTU 10208" in lines
    assert any(line.startswith("UB frames: ") and line.endswith(" links") for line in lines)
    assert machine.left() == []


def test_a_program_that_fails_ends_the_others(bed: MininetTestbed) -> None:
    words = check_command("sh -c 'if [ $RANK = 2 ]; then echo lost; exit 5; fi; sleep 10000'")
    said: list[tuple[str, str]] = []
    with pytest.raises(EmulationError, match="the program on npu2 has ended with code 5"):
        launch(bed, words, lambda *line: said.append(line))
    assert said == [("npu2", "lost")]


def test_the_end_of_a_carrier_is_told() -> None:
    with MininetTestbed(full_mesh([2]), switch="builtin", ip=True) as testbed:
        assert testbed.ip is not None
        os.kill(testbed.ip.processes["ip0"].pid, signal.SIGKILL)
        with pytest.raises(TestbedError, match="ip0, which carries IPv4 packets, has ended by SIGKILL"):
            testbed.serve(threading.Event())


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (["--launch", "true"], "add --ip"),
        (["--ip", "--launch", "no-such-program"], "no program named 'no-such-program'"),
        (["--ip", "--launch", "'"], "close every quotation mark"),
    ],
)
def test_what_cannot_be_launched_is_refused(
    refused: Callable[..., tuple[int, str, str]], options: list[str], says: str
) -> None:
    code, _, err = refused("up", "full-mesh", "--dims", "2", "--testbed", "mininet", *options)
    assert code == 2
    assert says in " ".join(err.replace("│", " ").split())


def _has_gloo() -> bool:
    asked = "import torch.distributed as d; assert d.is_gloo_available()"
    python = shutil.which("python3", path="/usr/bin")
    return python is not None and subprocess.run([python, "-c", asked], capture_output=True).returncode == 0


@pytest.mark.long
@pytest.mark.parametrize("kind", ["builtin", pytest.param("bmv2", marks=pytest.mark.bmv2)])
def test_an_allreduce_of_gloo_crosses_the_switches(tmp_path: Path, kind: SwitchKind) -> None:
    if shutil.which("tshark") is None or not _has_gloo():
        pytest.skip("no tshark, or no Gloo in the system's Python: install tshark and python3-torch")
    fabric = full_mesh([2, 4])
    captures = {link.name: tmp_path / f"{link.name}.pcap" for link in fabric.links}
    said: list[str] = []
    with booted(testbed := MininetTestbed(fabric, switch=kind, ip=True), make_plan(fabric)):
        assert testbed.ip is not None
        for link, capture in captures.items():
            testbed.record(link, capture)
        script = ROOT / "experiments" / "30_gloo" / "allreduce.py"
        launch(testbed, ["/usr/bin/python3", str(script), "100000"], lambda _, text: said.append(text))
        packets = sum(counted.sent for counted in testbed.ip.counters().values())
    assert sum("100000 elements in" in line and " 0 wrong" in line for line in said) == 8
    dissector = tmp_path / "ub.lua"
    dissector.write_text(ub_dissector({node.address: node.name for node in fabric.nodes}))
    every = tmp_path / "all.pcap"
    subprocess.run(["mergecap", "-w", every, *captures.values()], check=True)
    frames = _shown(every, dissector, "frame")
    carrying_tcp = "ub.srh && ub.tph.opcode == 80 && tcp && ub.node && ip.src == 10.1.0.0/16"
    assert _shown(every, dissector, carrying_tcp) == frames
    assert frames >= packets > 8 * 7 * 100000 * 4 / 8 / testbed.ip.mtu, "every packet crosses a link or two"


def _shown(capture: Path, dissector: Path, wanted: str) -> int:
    """Return how many frames of a capture match a display filter of tshark."""
    command = ["tshark", "-n", "-X", f"lua_script:{dissector}", "-r", str(capture), "-Y", wanted]
    command += ["-T", "fields", "-e", "frame.number"]
    return len(subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines())
