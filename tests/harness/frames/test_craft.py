# SPDX-License-Identifier: Apache-2.0
import ctypes
import os
import re
import shutil
import socket
import struct
import subprocess
import threading
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from scapy.utils import RawPcapReader

import harness.frames.send
from controller.plan.plan import Plan
from controller.planner import make_plan
from emulation.errors import FrameError, TestbedError
from emulation.namespace import enter_new_namespace
from emulation.traffic.frames.layers import CLH, LPH, NTH, SACK, SRH, TPH, Ether, LinkNotice
from emulation.traffic.frames.values import decode_length
from harness.errors import OutputError
from harness.frames.capture import Record, write_capture
from harness.frames.craft import Order, craft
from harness.frames.journey_capture import journey_records
from harness.frames.send import send
from harness.frames.walk import Journey, walk
from topologies import End, Fabric, TopologyError, full_mesh

MESH = ("full-mesh", "--dims", "4x4")
Railyard = Callable[..., tuple[int, str, str]]


def follow(plan: Plan, order: Order, entry: End | None = None, cut: frozenset[str] = frozenset()) -> Journey:
    return walk(plan, bytes(craft(plan.fabric, order)), entry or End(order.source, 0), cut)


class TestFrame:
    def test_data_names_both_ends_and_says_how_long_it_is(self, mesh: Fabric):
        frame = craft(mesh, Order("npu5", "npu10", psn=7, bucket=3, payload=b"12345678"))
        assert [layer.__name__ for layer in frame.layers()][:5] == ["Ether", "LPH", "NTH", "TPH", "CLH"]
        assert (frame[NTH].scna, frame[NTH].dcna) == (mesh.node("npu5").address, mesh.node("npu10").address)
        assert (frame[NTH].lb, frame[TPH].psn, frame[TPH].src_q, frame[TPH].dst_q) == (3, 7, 10, 5)
        assert frame[CLH].length == 8
        assert decode_length(frame[LPH].length) == len(bytes(frame)) - 14

    def test_an_acknowledgement_and_a_notice(self, mesh: Fabric):
        ack = craft(mesh, Order("npu5", "npu10", kind="ack", psn=9))
        assert (ack[NTH].sl, ack[TPH].ack_psn, SACK in ack) == (1, 9, True)
        notice = craft(mesh, Order("npu5", "npu10", kind="notice", link="npu4-npu5", up=True))
        link = mesh.link("npu4-npu5")
        assert (notice[NTH].mgmt, notice[LinkNotice].state) == (1, 1)
        assert (notice[LinkNotice].port_a, notice[LinkNotice].port_b) == (link.a.port, link.b.port)

    def test_a_route_of_nodes_ports_and_tables(self, mesh: Fabric):
        ports = mesh.port_to("npu5", "npu4"), mesh.port_to("npu4", "npu6")
        for route in (("npu4", "npu6", "-"), (str(ports[0]), "npu6", "-"), ("npu4", str(ports[1]))):
            header = craft(mesh, Order("npu5", "npu10", route=route))[SRH]
            assert (header.ptr, header.bitmap, header.instr) == (0, 0xC00, [*ports, 0, 0, 0, 0])
        header = craft(mesh, Order("npu5", "npu10", route=("npu6", "-", "2")))[SRH]
        assert header.bitmap == 0b1010_0000_0000

    @pytest.mark.parametrize(
        ("route", "told"),
        [
            (("npu4", "-", "npu6"), "node npu6 of the route follows a hop whose next node is unknown"),
            (("npu10",), "no link joins npu5 and npu10"),
            (("npu99",), "no node named 'npu99'"),
            (("256",), "port 256 of the route does not fit into an instruction of 8 bits"),
            (("1",) * 7, "the route names 7 ports, but the header holds only 6"),
            (("-",) * 13, "the route has 13 hops, but a source route holds at most 12"),
        ],
    )
    def test_a_route_that_no_header_can_say(self, mesh: Fabric, route: tuple[str, ...], told: str):
        with pytest.raises((FrameError, TopologyError), match=re.escape(told)):
            craft(mesh, Order("npu5", "npu10", route=route))

    def test_a_change_comes_last_and_may_make_it_wrong(self, mesh: Fabric):
        changes = ("srh.ptr=12", "srh.bitmap=0xfe0", "srh.instr=1,2", "lph.length=31", "nth.lb=255")
        frame = craft(mesh, Order("npu5", "npu10", route=("npu4",), changes=changes))
        assert (frame[SRH].ptr, frame[SRH].bitmap, frame[SRH].instr[:3]) == (12, 0xFE0, [1, 2, 0])
        assert (frame[LPH].length, frame[NTH].lb) == (31, 255)

    @pytest.mark.parametrize(
        ("change", "told"),
        [
            (
                "srh.ptr=1",
                "this frame lacks; use lph, nth, tph, clh; add a source route with --route",
            ),
            ("lph.vn=1", "names the field vn, which lph lacks; use credit, ack"),
            ("lph.vl=16", "does not fit into the field vl; give a number of 4 bits"),
            ("lph.vl=-1", "does not fit"),
            ("lph.vl=low", "'low' in 'lph.vl=low' is not a number"),
            ("vl=1", "is no assignment to a field"),
            ("lph.vl", "is no assignment to a field"),
        ],
    )
    def test_a_change_that_cannot_be(self, mesh: Fabric, change: str, told: str):
        with pytest.raises(FrameError, match=re.escape(told)):
            craft(mesh, Order("npu5", "npu10", changes=(change,)))


class TestWalk:
    def test_a_planned_route_goes_the_way_of_the_plan(self, plan: Plan):
        for bucket in (0, 7, 15):
            journey = follow(plan, Order("npu5", "npu10", bucket=bucket))
            assert journey.arrived
            assert tuple(hop.node for hop in journey.hops) == plan.routes["npu5", "npu10"][bucket]
            assert journey.hops[0].decided_by.startswith(f"bucket {bucket}, instr 0: port")

    def test_a_detour_hop_by_hop(self, plan: Plan):
        journey = follow(plan, Order("npu5", "npu10", route=("npu4", "npu6", "-")))
        assert [hop.node for hop in journey.hops] == ["npu5", "npu4", "npu6", "npu10"]
        assert [hop.decided_by for hop in journey.hops] == [
            "instr 0: port 1",
            "instr 1: port 2",
            "tables",
            "tables",
        ]
        on_links = [Ether(crossing.frame) for crossing in journey.crossings]
        assert [frame[SRH].ptr if SRH in frame else None for frame in on_links] == [0, 1, 2, 3, None]
        # Down to x = 0 and then up is a valley: the second lane from there on.
        assert [frame[LPH].vl for frame in on_links] == [0, 0, 1, 1, 1]
        assert journey.end == "npu10 delivers it to its host"

    def test_times_are_those_of_empty_links(self, plan: Plan):
        journey = follow(plan, Order("npu5", "npu10", route=("npu6", "npu10")))
        fabric = plan.fabric
        link = fabric.link_between("npu5", "npu6")
        first, second, third = journey.crossings[:3]
        assert first.time_ps == 0
        host_rate = fabric.host_lanes * fabric.lane_rate_bps
        assert second.time_ps == len(first.frame) * 8 * 10**12 // host_rate + fabric.host_delay_ps
        assert (
            third.time_ps - second.time_ps == len(second.frame) * 8 * 10**12 // link.rate_bps + link.delay_ps
        )

    def test_management_goes_to_the_controller(self, plan: Plan):
        journey = follow(plan, Order("npu5", "npu10", kind="notice", link="npu4-npu5"))
        assert journey.arrived
        assert journey.end == "npu10 gives it to its controller"
        assert [Ether(crossing.frame)[LPH].vl for crossing in journey.crossings[1:]] == [2, 2]
        assert LinkNotice in Ether(journey.hops[-1].frame_out)

    @pytest.mark.parametrize(
        ("changes", "why"),
        [
            (("srh.ptr=12",), "its ptr is past 11"),
            (("srh.bitmap=0xfe0",), "its bitmap asks for a seventh instruction"),
            (("srh.instr=99",), "the port does not exist"),
            (("lph.cfg=3",), "its cfg names an unknown next header"),
            (("nth.dcna=0xffff", "srh.bitmap=0"), "the tables have no route"),
        ],
    )
    def test_a_dropped_frame_says_why(self, plan: Plan, changes: tuple[str, ...], why: str):
        journey = follow(plan, Order("npu5", "npu10", route=("npu4",), changes=changes))
        assert not journey.arrived
        assert journey.end == f"npu5 drops it: {why}"
        assert [crossing.receiver for crossing in journey.crossings] == ["npu5 port 0"]

    def test_a_turn_without_a_lane(self, plan: Plan):
        # Two valleys: down, up, down, up.
        journey = follow(plan, Order("npu5", "npu6", route=("npu4", "npu5", "npu4", "npu6")))
        assert journey.end == "npu4 drops it: the turn rule has no lane for it"

    def test_a_link_that_is_down(self, plan: Plan):
        journey = follow(plan, Order("npu5", "npu10", route=("npu4", "npu6")), cut=frozenset({"npu4-npu6"}))
        assert not journey.arrived
        assert journey.end.startswith("link npu4-npu6 is down")

    def test_a_frame_may_come_by_a_link(self, plan: Plan):
        order = Order("npu5", "npu10", route=("npu4", "npu6", "-"), changes=("srh.ptr=2",))
        journey = follow(plan, order, End("npu6", plan.fabric.port_to("npu6", "npu4")))
        assert [hop.node for hop in journey.hops] == ["npu6", "npu10"]
        assert (journey.crossings[0].sender, journey.crossings[0].receiver) == ("npu4", "npu6 port 1")


def read_pcap(data: bytes) -> list[tuple[int, bytes]]:
    magic, *_, link_type = struct.unpack_from("<IHHiIII", data)
    assert (magic, link_type) == (0xA1B23C4D, 1)
    at, result = 24, list[tuple[int, bytes]]()
    while at < len(data):
        seconds, rest, size, _ = struct.unpack_from("<IIII", data, at)
        result.append((seconds * 10**9 + rest, data[at + 16 : at + 16 + size]))
        at += 16 + size
    return result


class TestCapture:
    RECORDS = (Record(0, "a-1", "a to b", b"x" * 61), Record((1 << 32) + 5, "b-2", "b to c", b"y" * 60))

    def test_pcap_counts_nanoseconds(self, tmp_path: Path):
        write_capture(tmp_path / "x.pcap", self.RECORDS)
        assert read_pcap((tmp_path / "x.pcap").read_bytes()) == [
            (record.time_ns, record.frame) for record in self.RECORDS
        ]

    def test_pcapng_names_interfaces(self, tmp_path: Path):
        if shutil.which("tshark") is None:
            pytest.skip("tshark is not installed: `make setup`")
        write_capture(tmp_path / "x.pcapng", self.RECORDS)
        columns = ["frame.interface_name", "frame.interface_description", "frame.time_relative", "frame.len"]
        seen = subprocess.run(
            ["tshark", "-r", tmp_path / "x.pcapng", "-T", "fields", *(f"-e{column}" for column in columns)],
            capture_output=True,
            text=True,
            check=True,
        )
        assert [line.split("\t") for line in seen.stdout.splitlines()] == [
            ["a-1", "a to b", "0.000000000", "61"],
            ["b-2", "b to c", "4.294967301", "60"],
        ]

    def test_pcapng_has_comments(self, tmp_path: Path):
        comment = "npu4, port 1 to 3: source route"
        plain, *rest = self.RECORDS
        write_capture(tmp_path / "x.pcapng", [replace(plain, comment=comment), *rest])
        data = (tmp_path / "x.pcapng").read_bytes()
        option = struct.pack("<HH", 1, len(comment)) + comment.encode() + bytes(-len(comment) % 4)
        assert data.count(option + bytes(4)) == 1, "option 1 is the comment of a packet, option 0 the end"
        with RawPcapReader(str(tmp_path / "x.pcapng")) as reader:
            assert [bytes(frame) for frame, _ in reader] == [record.frame for record in self.RECORDS]
        write_capture(tmp_path / "x.pcap", [replace(plain, comment=comment)])
        assert comment.encode() not in (tmp_path / "x.pcap").read_bytes()

    def test_a_place_that_is_not_there(self, tmp_path: Path):
        with pytest.raises(OutputError, match="No such file"):
            write_capture(tmp_path / "none" / "x.pcap", self.RECORDS)


class TestCommand:
    def test_it_shows_every_header_and_every_hop(self, railyard: Railyard):
        code, out, _ = railyard("craft", *MESH, "--from", "npu5", "--to", "npu10", "--route", "npu4,npu6,-")
        assert code == 0
        assert "ptr 0, bitmap 1100 0000 0000, instr 1 2 0 0 0 0" in out
        assert "length 99 (64 bytes)" in out
        assert "dcna 0x000a (npu10)" in out
        assert re.search(r"1 +npu4 +1, npu5 +instr 1: port 2 +2, npu6 +1 +1 to 2 +1100 0000 0000", out)
        assert "npu10 delivers it to its host" in out

    def test_a_frame_that_is_dropped_makes_exit_code_1(self, railyard: Railyard):
        code, out, _ = railyard("craft", *MESH, "--from", "npu5", "--to", "npu10", "--route", "99")
        assert code == 1
        assert "npu5 drops it: the port does not exist" in out

    def test_a_capture_holds_a_record_for_every_link(self, railyard: Railyard, tmp_path: Path):
        code, _, _ = railyard("craft", *MESH, "--from", "npu5", "--to", "npu10", "--out", "x.pcap")
        assert code == 0
        frames = [Ether(frame) for _, frame in read_pcap((tmp_path / "x.pcap").read_bytes())]
        assert [SRH in frame for frame in frames] == [False, True, True, False]

    def test_without_a_walk_it_holds_the_frame(self, railyard: Railyard, tmp_path: Path):
        arguments = (
            "--from",
            "npu5",
            "--to",
            "npu10",
            "--payload-bytes",
            "300",
            "--no-walk",
            "--out",
            "x.pcap",
        )
        code, out, _ = railyard("craft", *MESH, *arguments)
        assert code == 0
        assert "decided by" not in out
        assert "... and 268 more" in out
        assert [len(frame) for _, frame in read_pcap((tmp_path / "x.pcap").read_bytes())] == [354]

    @pytest.mark.parametrize(
        ("arguments", "told"),
        [
            (("--to", "npu99"), "no node named 'npu99'"),
            (("--to", "npu10", "--set", "srh.ptr=1"), "names the header srh, which this frame lacks"),
            (("--to", "npu10", "--at", "npu6:9"), "with a port from 0 to"),
            (("--to", "npu10", "--elements", "1,x"), "give numbers of 32 bits, such as 1,2,3"),
            (("--to", "npu10", "--strategy", "none"), "one of all-path, adaptive"),
            (
                ("--to", "npu10", "--ack", "--notice", "npu0-npu1"),
                "a frame is an acknowledgement or a notice",
            ),
            (("--to", "npu10", "--notice", "npu0-npu9"), "no link named 'npu0-npu9'"),
            (("--to", "npu10", "--cut", "npu0-npu9"), "no link named 'npu0-npu9'"),
            (("--to", "npu10", "--payload-bytes", "20000"), "a UB link packet has 1 to 10240"),
            (("--to", "npu10", "--send", "nosuch0"), "interface nosuch0"),
            (
                ("--to", "npu10", "--send", "lo", "--namespace", "nosuch"),
                "network namespace 'nosuch' does not exist",
            ),
        ],
    )
    def test_bad_usage_makes_exit_code_2(self, railyard: Railyard, arguments: tuple[str, ...], told: str):
        if "--send" in arguments and os.geteuid() != 0:
            pytest.skip("raw sockets need root")
        code, _, err = railyard("craft", *MESH, "--from", "npu5", *arguments)
        assert code == 2
        assert told in " ".join(err.replace("│", " ").split())

    def test_a_switch_sends_only_from_a_given_port(self, railyard: Railyard):
        tree = ("fat-tree", "--param", "ports=2", "--from", "edge0.0", "--to", "npu1.0.0")
        code, _, err = railyard("craft", *tree)
        said = " ".join(err.replace("│", " ").split())
        assert code == 2
        assert "Invalid value for --from: edge0.0 is a switch, which has no host to send from" in said
        assert "as --at edge0.0:1, from 1 to 2" in said
        assert railyard("craft", *tree, "--at", "edge0.0:1")[0] == 0

    def test_its_examples_run(self, railyard: Railyard):
        from railyard.cli.frames.craft import EXAMPLES

        lines = [line.split() for line in EXAMPLES.splitlines() if line.startswith("railyard craft")]
        assert len(lines) >= 6
        for line in lines:
            if not {"--send", "--grpc"} & set(line):  # these need a wire or a running fabric
                code, out, err = railyard(*line[1:])
                assert code in (0, 1), err
                assert "decided by" in out


@pytest.fixture
def wire() -> Iterator[Callable[[int], list[bytes]]]:
    """A veth pair, craft0 and craft1, in a namespace that this thread enters until the test is over; what it
    yields receives that many frames on craft1.
    """
    if os.geteuid() != 0 or shutil.which("ip") is None:
        pytest.skip("network namespaces need root and iproute2")
    with open("/proc/thread-self/ns/net") as home:  # noqa: PTH123  a descriptor is wanted
        enter_new_namespace()
        try:
            subprocess.run(["ip", "link", "add", "craft0", "type", "veth", "peer", "craft1"], check=True)
            for name in ("craft0", "craft1"):
                subprocess.run(["ip", "link", "set", name, "up"], check=True)
            with socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(0x88B5)) as listener:
                listener.bind(("craft1", 0x88B5))
                listener.settimeout(5)
                yield lambda frames: [listener.recv(2048) for _ in range(frames)]
        finally:
            assert ctypes.CDLL(None).setns(home.fileno(), 0x40000000) == 0


class TestSend:
    def test_frames_come_out_as_they_are_and_as_fast_as_asked(
        self, wire: Callable[[int], list[bytes]], mesh: Fabric
    ):
        frame = bytes(craft(mesh, Order("npu5", "npu10", route=("npu4", "npu6"))))
        seconds = send(frame, "craft0", count=11, rate=100)
        assert wire(11) == [frame] * 11
        assert 0.1 <= seconds < 0.5

    def test_an_interface_that_is_down(self, wire: Callable[[int], list[bytes]]):
        subprocess.run(["ip", "link", "set", "craft0", "down"], check=True)
        with pytest.raises(TestbedError, match=r"interface craft0 cannot send the frame: .*down"):
            send(bytes(64), "craft0")

    def test_a_named_namespace(
        self, wire: Callable[[int], list[bytes]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ):
        # A name as `ip netns` gives it, but in a folder that nobody else sees.
        (tmp_path / "inside").symlink_to(f"/proc/{os.getpid()}/task/{threading.get_native_id()}/ns/net")
        monkeypatch.setattr(harness.frames.send, "_NAMESPACES", tmp_path)
        failed: list[BaseException] = []

        def outside() -> None:
            try:
                enter_new_namespace()
                with pytest.raises(TestbedError, match="interface craft0 cannot be used: No such device"):
                    send(bytes(64), "craft0")
                send(b"\2" * 12 + b"\x88\xb5" + bytes(50), "craft0", namespace="inside")
                with pytest.raises(TestbedError, match="interface craft0 cannot be used: No such device"):
                    send(bytes(64), "craft0")
            except BaseException as ex:
                failed.append(ex)

        thread = threading.Thread(target=outside)
        thread.start()
        thread.join()
        assert failed == []
        assert len(wire(1)[0]) == 64


def test_comments_tell_what_each_hop_did() -> None:
    fabric = full_mesh((4,))
    frame = bytes(craft(fabric, Order("npu0", "npu2", route=("npu1", "-"))))
    journey = walk(make_plan(fabric), frame, End("npu0", 0))
    records = journey_records(fabric, journey)
    assert [record.comment.partition(":")[0] for record in records] == [
        "enters the fabric",
        *(f"{hop.node}, port {hop.port_in} to {hop.out}" for hop in journey.hops),
    ]
    assert "SRH.ptr 0 to 1" in records[1].comment
    assert records[-1].comment.endswith("; then npu2 delivers it to its host")
    lost = journey_records(fabric, walk(make_plan(fabric), frame, End("npu0", 0), frozenset({"npu0-npu1"})))
    assert [record.comment for record in lost] == [
        "enters the fabric; then link npu0-npu1 is down, and the tables of npu0 still use it"
    ]
