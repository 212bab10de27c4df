# SPDX-License-Identifier: Apache-2.0
"""railyard-switchd on veth pairs, and its command line.

The program is tests/programs/wire.p4: the first byte of a frame names its egress port and priority.
"""

import signal
import struct
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from finsy.proto import p4i, p4r
from google.protobuf import text_format
from scapy.utils import rdpcap

from emulation.errors import EmulationError
from emulation.switchd.command import main
from emulation.switchd.options import SwitchOptions, parse
from tests.emulation.controller_stub import Controller
from tests.emulation.switchd.switchd_process import ROOT, SwitchdProcess, missing_rights

BUILD = ROOT / "tests" / "programs" / "build"
PROGRAM = BUILD / "wire.json"
CPU = 30
# Wishes of tests/programs/queue.p4, in the second byte.
COPIES, DIGEST, CLONE, REPORT, CLONE_ALL = 0x80, 0x40, 0x20, 0x08, 0x04

no_rights = missing_rights()
on_interfaces = pytest.mark.skipif(bool(no_rights), reason=no_rights)


def frame_to(port: int, length: int = 64, priority: int = 0) -> bytes:
    """Distinct bytes behind the one that the program looks at."""
    return bytes([port << 3 | priority]) + bytes((7 * at + length) % 256 for at in range(1, length))


def wishing(port: int, wishes: int) -> bytes:
    return bytes([port << 3, wishes]) + bytes(range(62))


def config(program: str = "wire") -> tuple[bytes, p4i.P4Info]:
    info = text_format.Parse((BUILD / f"{program}.p4info.txtpb").read_text(), p4i.P4Info())
    return (BUILD / f"{program}.json").read_bytes(), info


@pytest.fixture
def process(tmp_path: Path) -> Iterator[SwitchdProcess]:
    with SwitchdProcess(3, tmp_path) as process:
        yield process


def ports(process: SwitchdProcess) -> list[str]:
    return [part for number, name in enumerate(process.near) for part in ("-i", f"{number + 1}@{name}")]


# -- frames


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
    process.start(*ports(process), "--rate", "0:2=800000", "--hold-frames", "100", str(PROGRAM))
    frames = [frame_to(2, 1000)[:996] + number.to_bytes(4) for number in range(100)]
    began = time.monotonic()
    for frame in frames:
        process.send(0, frame)
    process.send(0, frame_to(3))
    assert process.receive(2) == frame_to(3)
    assert [process.receive(1) for _ in frames] == frames
    assert time.monotonic() - began >= 0.99


# -- P4Runtime


@on_interfaces
def test_a_switch_without_a_program_waits_for_one(process: SwitchdProcess) -> None:
    process.start(*ports(process), "--device-id", "7", "--no-p4", "--cpu-port", str(CPU))
    process.send(0, frame_to(2))
    with Controller(process.address, device_id=7) as controller:
        controller.enter()
        controller.push(config())
        process.send(0, frame_to(3))
        assert process.receive(2) == frame_to(3)
        controller.send(packet=p4r.PacketOut(payload=frame_to(2, 80)))
        assert process.receive(1) == frame_to(2, 80)  # and nothing came before it
        process.send(0, frame_to(CPU, 70))
        assert controller.receive().packet.payload == frame_to(CPU, 70)


@on_interfaces
def test_two_switches_in_one_process(process: SwitchdProcess) -> None:
    """Port 1 of the first is wired to nothing of the second: frames cross only where their program says."""
    process.start("--switch", "1:1@s0,2@s1", "--switch", "2:1@s2", "--no-p4", "--cpu-port", str(CPU))
    with Controller(process.address, device_id=2) as second:
        second.enter()
        second.push(config())
        process.send(2, frame_to(1))
        assert process.receive(2) == frame_to(1)
        with Controller(process.address, device_id=1) as first:
            first.enter()
            first.push(config())
            process.send(0, frame_to(2, 90))
            assert process.receive(1) == frame_to(2, 90)
            process.send(0, frame_to(CPU, 70))
            assert first.receive().packet.payload == frame_to(CPU, 70)


@on_interfaces
@pytest.mark.parametrize("program", ["queue", "departures"])
def test_copies_clones_digests_and_idle_entries(process: SwitchdProcess, program: str) -> None:
    """`queue` is `departures` with an egress that reads of its queue, and so runs behind it."""
    process.start(*ports(process), "--no-p4")
    replicas = [p4r.Replica(egress_port=port, instance=1) for port in (2, 3)]
    copies = p4r.MulticastGroupEntry(multicast_group_id=1, replicas=replicas)
    clones = p4r.CloneSessionEntry(session_id=1, replicas=replicas[1:])
    entities = (
        p4r.PacketReplicationEngineEntry(multicast_group_entry=copies),
        p4r.PacketReplicationEngineEntry(clone_session_entry=clones),
    )
    with Controller(process.address, device_id=0) as controller:
        controller.enter()
        controller.push(config(program))
        controller.write(
            *(("INSERT", p4r.Entity(packet_replication_engine_entry=entity)) for entity in entities)
        )

        process.send(0, wishing(9, COPIES))
        assert process.receive(1) == process.receive(2) == wishing(9, COPIES)
        process.send(0, wishing(2, CLONE))
        assert process.receive(1) == process.receive(2) == wishing(2, CLONE)
        process.send(0, wishing(2, REPORT))
        reported = process.receive(1)
        assert reported[:2] + reported[14:] == wishing(2, REPORT)
        enqueued, waited, before, behind = struct.unpack(">IIHH", reported[2:14])
        assert (enqueued > 0) == (program == "queue")
        assert (before, behind) == (0, 0)
        assert waited < 1_000_000

        info = config(program)[1]
        learn = p4r.DigestEntry(digest_id=info.digests[0].preamble.id)
        learn.config.max_list_size = 1
        controller.write(("INSERT", p4r.Entity(digest_entry=learn)))
        process.send(0, wishing(2, DIGEST))
        (told,) = controller.receive().digest.data
        assert [member.bitstring for member in told.struct.members] == [b"\x02", bytes([DIGEST])]

        known = p4r.TableEntry(table_id=info.tables[0].preamble.id, idle_timeout_ns=1_000_000)
        known.match.add(field_id=1).exact.value = b"\x05"
        known.action.action.action_id = info.actions[0].preamble.id
        controller.write(("INSERT", p4r.Entity(table_entry=known)))
        (idle,) = controller.receive().idle_timeout_notification.table_entry
        assert idle.match == known.match


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


def test_a_program_that_is_no_text_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    bad = tmp_path / "bad.json"
    bad.write_bytes(b'{"program": "\xff\xfe"}')
    assert main([str(bad)]) == 2
    assert f"{bad}: program: not the JSON of a BMv2 program" in capsys.readouterr().err


@on_interfaces
@pytest.mark.parametrize("program", ["queue", "departures"])
@pytest.mark.parametrize("sessions", [(2,), (2, 3)], ids=["one clone", "two clones"])
def test_clones_of_clones_keep_nobody_waiting(
    process: SwitchdProcess, program: str, sessions: tuple[int, ...]
) -> None:
    """Every frame is cloned by egress, and so is every clone: the switch gives up, says so and goes on."""
    process.start(*ports(process), "--no-p4", "--log-console")
    replicas = [p4r.Replica(egress_port=port, instance=at) for at, port in enumerate(sessions)]
    clones = p4r.CloneSessionEntry(session_id=1, replicas=replicas)
    session = p4r.Entity(
        packet_replication_engine_entry=p4r.PacketReplicationEngineEntry(clone_session_entry=clones)
    )
    with Controller(process.address, device_id=0) as controller:
        controller.enter()
        controller.push(config(program))
        controller.write(("INSERT", session))
        process.send(0, wishing(2, CLONE_ALL))
        process.wait_for("device 0", "1000 times")
        for _ in range(64):
            process.send(0, wishing(2, CLONE_ALL))
        controller.write(("DELETE", session))
        process.send(2, wishing(1, 0))
        assert process.receive(0) == wishing(1, 0)
        controller.write(("INSERT", session))
        for _ in range(64):
            process.send(0, wishing(2, CLONE_ALL))
    code, told = process.stop()
    assert code == 0
    assert "failed" in told


# -- interfaces that come and go


@on_interfaces
def test_a_port_goes_down_and_comes_back(process: SwitchdProcess) -> None:
    process.start(*ports(process), "--log-console", str(PROGRAM))
    for interface in ("s1", "h1"):  # the switch's own end, then the other: BMv2 stops at the first
        process.ip("link", "set", interface, "down")
        process.wait_for("port 2 is down")
        process.send(0, frame_to(2))
        process.send(0, frame_to(3))
        assert process.receive(2) == frame_to(3)
        process.ip("link", "set", interface, "up")
        process.wait_for("port 2 is up")
    process.add_far_end(1)
    process.send(0, frame_to(2, 90))
    assert process.receive(1) == frame_to(2, 90)


@on_interfaces
def test_a_port_that_is_down_at_the_start_comes_up(process: SwitchdProcess) -> None:
    process.ip("link", "set", "s1", "down")
    process.start(*ports(process), "--log-console", "--dump-packet-data", "2", str(PROGRAM))
    process.wait_for("port 2 is down")
    process.ip("link", "set", "s1", "up")
    process.wait_for("port 2 is up")
    process.add_far_end(1)
    process.send(0, frame_to(2, 90))
    assert process.receive(1) == frame_to(2, 90)
    assert process.wait_for("port 2 (s1): out, 90 bytes: 10 ")


@on_interfaces
def test_an_interface_vanishes_and_comes_back(process: SwitchdProcess) -> None:
    process.start(*ports(process), "--log-console", str(PROGRAM))
    process.ip("link", "delete", "s1")
    process.wait_for("port 2 is down")
    process.send(0, frame_to(2))
    process.send(0, frame_to(3))
    assert process.receive(2) == frame_to(3)
    process.add_link(1)
    process.wait_for("port 2 is up")
    process.send(0, frame_to(2, 90))
    assert process.receive(1) == frame_to(2, 90)


@on_interfaces
def test_a_raised_mtu_is_taken_up(process: SwitchdProcess) -> None:
    for interface in ("s0", "s1"):
        process.ip("link", "set", interface, "mtu", "1500")
    process.start(*ports(process), "--log-console", str(PROGRAM))
    process.ip("link", "set", "s0", "mtu", "9000")
    process.wait_for("port 1 ", "MTU is 9000")
    process.send(0, frame_to(2, 5000))  # the kernel brings none to an interface that is longer than its MTU
    assert "5000 bytes" in process.wait_for("port 2 ", "does not fit the MTU of 1500")
    process.ip("link", "set", "s1", "mtu", "9000")
    process.wait_for("port 2 ", "MTU is 9000")
    process.send(0, frame_to(2, 5000))
    assert process.receive(1) == frame_to(2, 5000)


# -- what it tells, and how it ends


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


# -- the command line


def refused(*arguments: str) -> EmulationError:
    with pytest.raises(EmulationError) as caught:
        parse(arguments)
    assert caught.value.remedy
    return caught.value


def test_bmv2s_command_line_is_taken_as_it_is(tmp_path: Path) -> None:
    """As the Mininet script of p4lang's tutorials writes it."""
    options = parse(
        [
            *(
                "-i",
                "1@s1-eth1",
                "-i",
                "2@s1-eth2",
                "--pcap",
                str(tmp_path),
                "--nanolog",
                "ipc:///tmp/bm-0-log.ipc",
            ),
            *("--device-id", "3", "build/basic.json", "--log-console", "--thrift-port", "9090"),
            *("--", "--grpc-server-addr", "0.0.0.0:50051", "--cpu-port", "510", "--priority-queues", "4"),
        ]
    )
    assert options.switches == (SwitchOptions(3, ((1, "s1-eth1"), (2, "s1-eth2"))),)
    assert (options.program, options.pcap, options.log_console) == (Path("build/basic.json"), tmp_path, True)
    assert (options.grpc_address, options.cpu_port, options.queues) == ("0.0.0.0:50051", 510, 4)
    assert [note.partition(" ")[0] for note in options.notes] == ["--thrift-port", "--nanolog"]


def test_the_least_command_line() -> None:
    options = parse(["--no-p4"])
    assert options.switches == (SwitchOptions(0, ()),)
    assert (options.grpc_address, options.cpu_port, options.program) == ("0.0.0.0:9559", None, None)


def test_many_switches() -> None:
    options = parse(["--switch", "1:1@a,2@b", "--switch", "2:1@c", "--switch", "3:", "--no-p4"])
    assert options.switches == (
        SwitchOptions(1, ((1, "a"), (2, "b"))),
        SwitchOptions(2, ((1, "c"),)),
        SwitchOptions(3, ()),
    )


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ("", "no program"),
        ("--no-p4 -i eth0", "-i 'eth0'"),
        ("--no-p4 -i x@eth0", "-i 'x@eth0'"),
        ("--no-p4 -i 511@eth0", "below 511"),
        ("--no-p4 -i 1@a -i 1@b", "port 1 twice: 1@a and 1@b"),
        ("--no-p4 -i 1@a -i 2@a", "interface a twice"),
        ("--no-p4 -i 9@a --cpu-port 9", "9@a: 9 is the CPU port"),
        ("--no-p4 --cpu-port 511", "--cpu-port 511"),
        ("--no-p4 --drop-port 500", "--drop-port 500"),
        ("--no-p4 --priority-queues 9", "--priority-queues 9"),
        ("--no-p4 --hold-frames 0", "--hold-frames 0"),
        ("--no-p4 -i 1@a --rate 1:1=1000", "--rate '1:1=1000': no such switch"),
        ("--no-p4 -i 1@a --rate 0:2=1000", "--rate 0:2=1000: no such port"),
        ("--no-p4 -i 1@a --rate 0:1=0", "--rate 0:1=0: no such port, or no rate"),
        ("--no-p4 --pcap /no/such/place", "/no/such/place"),
        ("--no-p4 --switch 1:1@a -i 2@b", "--switch excludes -i"),
        ("--no-p4 --switch 1:1@a --switch 1:1@b", "device id 1 twice"),
        ("--no-p4 --switch 1@a", "--switch '1@a'"),
        ("--no-p4 --use-files 1", "--use-files is not supported"),
        ("--no-p4 --grpc-server-ssl", "--grpc-server-ssl is not supported"),
        ("--no-p4 --log-console --log-file x", "exclude each other"),
    ],
)
def test_a_bad_command_line_is_named(line: str, says: str) -> None:
    assert says in str(refused(*line.split()))


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["--no-p4", "-i", "1@nowhere0"], "port 1: there is no interface nowhere0"),
        (["/no/such.json"], "/no/such.json: No such file"),
        ([__file__], "test_command.py: program: not the JSON"),
        (["--no-p4", "--", "--grpc-server-addr", "nonsense"], "cannot listen on nonsense"),
    ],
)
def test_it_does_not_start_on_what_cannot_be(
    arguments: list[str], says: str, capsys: pytest.CaptureFixture[str]
) -> None:
    before = signal.getsignal(signal.SIGTERM), signal.getsignal(signal.SIGINT)
    try:
        assert main(arguments) == 2
    finally:
        signal.signal(signal.SIGTERM, before[0])
        signal.signal(signal.SIGINT, before[1])
        signal.set_wakeup_fd(-1)
    told = capsys.readouterr()
    assert says in told.err
    assert "Server listening" not in told.out


@pytest.mark.parametrize("option", ["--help", "--version", "--json-version"])
def test_it_tells_about_itself(option: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        parse([option])
    assert ended.value.code == 0
    assert capsys.readouterr().out
