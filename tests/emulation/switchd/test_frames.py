# SPDX-License-Identifier: Apache-2.0
"""Frames through railyard-switchd on veth pairs, and what it captures and counts of them."""

import signal
import time
from pathlib import Path

import pytest
from scapy.utils import rdpcap

from tests.emulation.switchd.switchd_process import SwitchdProcess, on_interfaces, ports
from tests.emulation.switchd.wire_program import BUILD, PROGRAM, frame_to


@on_interfaces
def test_frames_leave_as_they_came(process: SwitchdProcess) -> None:
    process.start(*ports(process), str(PROGRAM))
    sizes = (14, 15, 59, 60, 64, 100, 1400, 1514, 9000, 9514)
    for length in sizes:
        process.send(0, frame_to(2, length))
    assert [process.receive(1) for _ in sizes] == [frame_to(2, length) for length in sizes]
    process.send(1, frame_to(2))  # out of the port it came in by
    process.send(1, frame_to(3))
    assert process.receive(2) == frame_to(3)
    assert process.receive(1) == frame_to(2)


@on_interfaces
@pytest.mark.parametrize(
    "tag", [b"\x81\x00\x60\x05", b"\x88\xa8\x00\x07", b"\x81\x00\x00\x01\x81\x00\x0f\xfe"]
)
def test_vlan_tags_stay_where_they_were(process: SwitchdProcess, tag: bytes) -> None:
    process.start(*ports(process), str(PROGRAM))
    plain = frame_to(2)
    tagged = plain[:12] + tag + b"\x08\x00" + plain[14:]
    process.send(0, tagged)
    assert process.receive(1) == tagged


@on_interfaces
def test_bursts_come_out_whole_and_in_order(process: SwitchdProcess) -> None:
    process.start(*ports(process), str(PROGRAM))
    burst = [frame_to(2)[:60] + number.to_bytes(4) for number in range(60)]
    for _ in range(5):
        for frame in burst:
            process.send(0, frame)
        assert [process.receive(1) for _ in burst] == burst


@on_interfaces
def test_priorities_beyond_the_queues_are_dropped(process: SwitchdProcess) -> None:
    process.start(*ports(process), "--priority-queues", "2", str(PROGRAM))
    process.send(0, frame_to(2, priority=2))
    process.send(0, frame_to(2, priority=1))
    assert process.receive(1) == frame_to(2, priority=1)


@on_interfaces
def test_a_port_keeps_its_rate_and_holds_what_waits(process: SwitchdProcess) -> None:
    """A frame of 1,000 bytes takes 10 ms at 800 kbit/s; a queue of 64 would lose some of a hundred."""
    process.start(*ports(process), "--rate", "0:2=800000", "--queue-depth", "100", str(PROGRAM))
    frames = [frame_to(2, 1000)[:996] + number.to_bytes(4) for number in range(100)]
    began = time.monotonic()
    for frame in frames:
        process.send(0, frame)
    process.send(0, frame_to(3))
    assert process.receive(2) == frame_to(3)
    assert [process.receive(1) for _ in frames] == frames
    assert time.monotonic() - began >= 0.99


@on_interfaces
def test_a_frame_that_takes_seconds_keeps_nobody_waiting(process: SwitchdProcess) -> None:
    """A loop within the rounds that a frame may have, of several microseconds a round."""
    process.start(*ports(process), "--log-console", str(BUILD / "slow.json"))
    slow, quick = (b"\x02" + rounds.to_bytes(3) + bytes(60) for rounds in (1_000_000, 0))
    process.send(0, slow)
    process.wait_for("0.5 s of processor time")
    process.send(0, quick)
    assert process.receive(1) == quick
    for _ in range(16):
        process.send(0, slow)
    code, told = process.stop()
    assert code == 0
    assert "failed" in told


@on_interfaces
def test_captures_hold_every_frame(process: SwitchdProcess, tmp_path: Path) -> None:
    process.start(*ports(process), "--pcap", str(tmp_path), "--dump-packet-data", "4", str(PROGRAM))
    process.send(0, frame_to(2, 100))
    assert process.receive(1) == frame_to(2, 100)
    process.stop()
    seen = {
        name: [bytes(packet) for packet in rdpcap(str(tmp_path / name))]
        for name in ("s0_in.pcap", "s1_out.pcap")
    }
    assert seen == {"s0_in.pcap": [frame_to(2, 100)], "s1_out.pcap": [frame_to(2, 100)]}
    assert {path.name for path in tmp_path.glob("*.pcap")} == {
        f"{name}_{way}.pcap" for name in process.near for way in ("in", "out")
    }


@on_interfaces
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_ends_it_in_good_order(
    process: SwitchdProcess, tmp_path: Path, number: signal.Signals
) -> None:
    process.start(*ports(process), "--log-console", "--thrift-port", "9090", str(PROGRAM))
    process.send(0, frame_to(2))
    process.receive(1)
    code, told = process.stop(number)
    assert code == 0
    assert "Traceback" not in told
    assert "port 1: received 1, received_bytes 64" in told
    assert "port 2: sent 1, sent_bytes 64" in told
    assert not (tmp_path / "p4runtime.sock").exists()
