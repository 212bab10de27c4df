# SPDX-License-Identifier: Apache-2.0
"""The Wireshark dissector, through tshark, against the Scapy layers and the controller's codec."""

import json
import random
import shutil
import subprocess
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from scapy.packet import NoPayload, Packet, Raw

from controller.paths.source_route import decode
from controller.planner import make_plan
from emulation.traffic.frames.dissector import dissector, headers
from emulation.traffic.frames.layers import (
    CLH,
    LPH,
    MOH,
    NTH,
    NTH24,
    RDH,
    RTPH,
    SACK,
    SRH,
    SRH24,
    TPH,
    Ether,
    LinkNotice,
)
from emulation.traffic.frames.values import NextHeader, Opcode, decode_length, encode_length, mac
from harness.frames.capture import Record, write_capture
from harness.frames.craft import Order, craft
from harness.frames.walk import walk
from topologies import End, full_mesh

Layers = dict[str, Any]

pytestmark = pytest.mark.skipif(
    shutil.which("tshark") is None, reason="tshark is not installed: `make setup`"
)


@pytest.fixture
def tshark(tmp_path: Path) -> Callable[..., str]:
    """Reads frames with the dissector and options of one's own; what tshark writes."""

    def read(frames: Sequence[bytes | Packet], *options: str, nodes: dict[int, str] | None = None) -> str:
        (tmp_path / "railyard.lua").write_text(dissector(nodes))
        records = [Record(number * 1000, "x", "x", bytes(frame)) for number, frame in enumerate(frames)]
        write_capture(tmp_path / "x.pcap", records)
        script = f"lua_script:{tmp_path / 'railyard.lua'}"
        command = ["tshark", "-r", str(tmp_path / "x.pcap"), "-X", script, *options]
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=120)
        assert done.returncode == 0, done.stderr
        assert "lua" not in done.stderr.lower(), done.stderr
        return done.stdout

    return read


@pytest.fixture
def dissected(tshark: Callable[..., str]) -> Callable[..., list[Layers]]:
    """Dissect frames; each result has headers by name with their fields."""

    def read(frames: Sequence[bytes | Packet], **more: Any) -> list[Layers]:
        text = tshark(frames, "-T", "json", "--no-duplicate-keys", "-J", "ub", **more)
        return [packet["_source"]["layers"]["ub"] for packet in json.loads(text)]

    return read


@pytest.fixture
def info(tshark: Callable[..., str]) -> Callable[..., list[str]]:
    """The info column of every frame."""

    def read(frames: Sequence[bytes | Packet], **more: Any) -> list[str]:
        return tshark(frames, "-o", 'gui.column.format:"Info","%i"', **more).splitlines()

    return read


def carrier() -> Packet:
    return Ether(dst=mac(9), src=mac(8))


def steered(**fields: Any) -> Packet:
    return carrier() / LPH() / SRH(**fields) / NTH() / TPH() / CLH()


def number(text: str) -> int:
    return {"True": 1, "False": 0}[text] if text in ("True", "False") else int(text, 0)


def random_layer(kind: type[Packet], chance: random.Random, **fixed: Any) -> Packet:
    """A layer with a random value in every field but those that are fixed."""
    values: dict[str, Any] = {}
    for field in next(header for header in headers() if header.name == kind.__name__).fields:
        drawn = [chance.getrandbits(field.width) for _ in range(field.count)]
        values[field.name] = drawn if field.count > 1 else drawn[0]
    return kind(**{**values, **fixed})


def random_frames() -> Iterator[Packet]:
    chance = random.Random(4)
    for number_ in range(120):
        routed, what = number_ % 2, number_ // 2 % 4
        frame = carrier() / random_layer(LPH, chance, cfg=12 if routed else 6, length=None)
        if routed:
            frame /= random_layer(SRH, chance)
        frame /= random_layer(NTH, chance, mgmt=int(what == 2))
        if what == 2:
            frame /= random_layer(LinkNotice, chance)
        elif what == 3:
            opcode = chance.choice([Opcode.REQUEST, Opcode.RESPONSE])
            frame = frame / random_layer(TPH, chance, opcode=opcode) / random_layer(MOH, chance)
        elif what == 1:
            frame = frame / random_layer(TPH, chance, opcode=Opcode.ACK) / random_layer(SACK, chance)
        else:
            frame = frame / random_layer(TPH, chance, opcode=Opcode.DATA) / random_layer(CLH, chance)
            frame /= Raw(chance.randbytes(chance.randrange(200)))
        yield Ether(bytes(frame))
    for number_ in range(60):
        yield Ether(bytes(random_cna24_frame(chance, number_ % 2, number_ // 2 % 5)))


def random_cna24_frame(chance: random.Random, routed: int, what: int) -> Packet:
    frame = carrier() / random_layer(LPH, chance, cfg=14 if routed else 13, length=None)
    if routed:
        frame /= random_layer(SRH24, chance)
    if what == 4:
        return frame / random_layer(NTH24, chance, mgmt=1, nlp=0) / random_layer(LinkNotice, chance)
    following = (NextHeader.CLH, NextHeader.SACK, NextHeader.REQUEST, NextHeader.RESPONSE)[what]
    frame = frame / random_layer(NTH24, chance, mgmt=0, nlp=2) / random_layer(RTPH, chance, nlp=following)
    return frame / random_layer((CLH, SACK, MOH, MOH)[what], chance)


class TestFields:
    def test_every_field_of_every_header_is_what_scapy_put_there(
        self, dissected: Callable[..., list[Layers]]
    ):
        frames = list(random_frames())
        seen: set[str] = set()
        for frame, shown in zip(frames, dissected(frames), strict=True):
            layer: Packet = frame.payload
            while not isinstance(layer, NoPayload | Raw):
                name = type(layer).__name__.lower()
                branch = shown[f"ub.{name}"]
                for field in next(header for header in headers() if header.name.lower() == name).fields:
                    text = branch[f"ub.{name}.{field.name}"]
                    value = layer.getfieldval(field.name)
                    if field.count > 1:
                        assert [number(part) for part in text] == value
                    else:
                        assert number(text) == int(value), (name, field.name)
                    for bit, flag in enumerate(field.flags):
                        if flag:
                            told = branch[f"ub.{name}.{field.name}_tree"][f"ub.{name}.{field.name}.{flag}"]
                            assert number(told) == int(value) >> bit & 1
                    seen.add(f"{name}.{field.name}")
                layer = layer.payload
        assert seen == {
            f"{header.name.lower()}.{field.name}" for header in headers() for field in header.fields
        }

    def test_all_that_follows_a_link_packet_header_has_its_own(self):
        kinds = (LPH, SRH, SRH24, NTH, NTH24, TPH, RTPH, CLH, MOH, SACK, LinkNotice, RDH)
        sizes = {kind.__name__: len(bytes(kind())) for kind in kinds}
        assert {header.name: header.bytes for header in headers()} == sizes

    def test_the_payload_and_its_first_elements(self, dissected: Callable[..., list[Layers]]):
        head = carrier() / LPH() / NTH() / TPH()
        numbers = b"".join(value.to_bytes(4, "little", signed=True) for value in range(-3, 9))
        whole, floats, none = dissected(
            [head / CLH(length=48) / numbers, head / CLH(dtype=2, length=4) / b"\0\0\xc0\x3f", head / CLH()]
        )
        assert bytes.fromhex(whole["ub.payload"].replace(":", "")) == numbers
        elements = whole["ub.payload_tree"]["ub.payload.elements"]
        assert elements == "-3, -2, -1, 0, 1, 2, 3, 4, ..."
        assert floats["ub.payload_tree"]["ub.payload.elements"] == "1.5"
        assert "ub.payload" not in none

    def test_bytes_of_the_carrier_after_the_packet_are_padding(self, dissected: Callable[..., list[Layers]]):
        frame = carrier() / LPH(vl=2) / NTH() / TPH(opcode=2) / SACK()
        (shown,) = dissected([bytes(frame) + bytes(14)])
        assert shown["ub.lph"]["ub.lph.bytes"] == "32"
        assert shown["ub.padding"] == ":".join(["00"] * 14)
        assert "ub.payload" not in shown


class TestMeaning:
    def test_length_beside_its_coded_form(self, dissected: Callable[..., list[Layers]]):
        sizes = [1, 4, 20, 21, 640, 641, 1280, 5000, 10239, 10240]
        chance = random.Random(1)
        coded = [encode_length(size) for size in sizes] + [chance.getrandbits(14) for _ in range(60)]
        for length, shown in zip(
            coded, dissected([carrier() / LPH(length=item) / NTH() for item in coded]), strict=True
        ):
            lph = shown["ub.lph"]
            told = lph.get("ub.lph.bytes")
            assert (int(told) if told else None) == decode_length(length)
            parts = (int(lph[f"ub.lph.{part}"]) for part in ("blocks", "flits", "tail"))
            assert tuple(parts) == (length >> 10, length >> 5 & 31, length & 31)

    def test_who_decides_the_next_hop_is_what_the_controllers_codec_says(
        self, dissected: Callable[..., list[Layers]]
    ):
        chance = random.Random(2)
        frames = [
            steered(
                ptr=chance.randrange(12),
                bitmap=sum(1 << bit for bit in chance.sample(range(12), chance.randrange(7))),
                instr=[chance.getrandbits(8) for _ in range(6)],
            )
            for _ in range(80)
        ]
        for frame, shown in zip(frames, dissected(frames), strict=True):
            srh = shown["ub.srh"]
            route = decode(bytes(frame[SRH])[:8])
            port = route.egress_port()
            assert int(srh["ub.srh.taken"]) == route.ptr
            assert int(srh["ub.srh.steered"]) == route.bitmap.bit_count()
            if port is None:
                assert srh["ub.srh.next"] == "the tables"
            else:
                assert srh["ub.srh.next"].endswith(f", port {port}")
                assert int(srh["ub.srh.next_tree"]["ub.srh.next.port"]) == port

    def test_the_vector_of_the_wire_format(self, dissected: Callable[..., list[Layers]]):
        frames = [steered(ptr=ptr, bitmap=0b1101_0000_0000, instr=[3, 10, 5]) for ptr in range(5)]
        shown = [item["ub.srh"] for item in dissected(frames)]
        assert [item["ub.srh.next"] for item in shown] == [
            "instruction 0, port 3",
            "instruction 1, port 10",
            "the tables",
            "instruction 2, port 5",
            "the tables",
        ]
        assert [item.get("ub.srh.last") for item in shown[:2]] == [None, "instruction 0, port 3"]
        assert shown[1]["ub.srh.route"] == "port 3, [port 10], tables, port 5"
        assert shown[4]["ub.srh.route"] == "port 3, port 10, tables, port 5, [tables]"

    def test_lanes_have_their_class(self, dissected: Callable[..., list[Layers]]):
        shown = dissected([carrier() / LPH(vl=vl) / NTH() / TPH() / CLH() for vl in (0, 1, 2, 3, 4, 15)])
        assert [item["ub.lph"]["ub.lph.class"] for item in shown] == [
            "data",
            "data",
            "responses and management",
            "responses and management",
            "data of service level 2",
            "data of service level 7",
        ]

    def test_nodes_have_their_names(
        self, dissected: Callable[..., list[Layers]], info: Callable[..., list[str]]
    ):
        frame = carrier() / LPH() / NTH(scna=0x12, dcna=0x34, lb=0x17) / TPH() / CLH()
        (shown,) = dissected([frame], nodes={0x12: "npu18"})
        assert shown["ub.nth"]["ub.node"] == "npu18"
        assert shown["ub.nth"]["ub.nth.bucket"] == "7"
        assert info([frame], nodes={0x12: "npu18"})[0].startswith("npu18 → 0x0034: ")
        assert info([frame])[0].startswith("0x0012 → 0x0034: ")


class TestInfo:
    @pytest.mark.parametrize(
        ("frame", "line"),
        [
            (
                carrier() / LPH(vl=1) / NTH(scna=8, dcna=9)
                / TPH(psn=7, flags="retransmission", src_q=9, dst_q=8)
                / CLH(step=2, chunk=5, offset=64, length=4) / b"abcd",
                "data psn 7, queue 9 to 8, retransmission, reduce step 2 chunk 5, 4 bytes at 64, VL 1",
            ),
            (
                carrier() / LPH(vl=2) / NTH(scna=8, dcna=9, sl=1) / TPH(opcode=2, ack_psn=9)
                / SACK(bitmap=1 << 63 | 5),
                "ack of all before psn 9, queue 0 to 0, and 3 later, VL 2",
            ),
            (
                carrier() / LPH(vl=2) / NTH(scna=8, dcna=9, mgmt=1)
                / LinkNotice(cna_a=8, port_a=1, cna_b=9, port_b=2, origin=8, sequence=3),
                "link 0x0008 port 1 to 0x0009 port 2 is down, notice 3 of 0x0008, VL 2",
            ),
            (
                carrier() / LPH(vl=2) / NTH(scna=8, dcna=9, mgmt=1)
                / LinkNotice(state="watch", cna_a=9, port_a=1, cna_b=5, port_b=2, origin=8),
                "0x0008 watches link 0x0009 port 1 to 0x0005 port 2, VL 2",
            ),
        ],
    )  # fmt: skip
    def test_a_conversation_reads_like_one(self, info: Callable[..., list[str]], frame: Packet, line: str):
        assert info([frame]) == [f"0x0008 → 0x0009: {line}"]

    @pytest.mark.parametrize(
        ("frame", "expert", "words"),
        [
            (steered(ptr=12), "hops", "ptr 12 is past 11"),
            (steered(bitmap=0xFE0), "instructions", "Bitmap asks for 7 instructions: the header holds 6"),
            (
                carrier() / LPH(length=31) / NTH() / TPH() / CLH(),
                "length",
                "Last flit of 32 bytes: a flit has 20",
            ),
            (
                carrier() / LPH(length=encode_length(41)) / NTH() / TPH() / CLH(),
                "length",
                "Length says 41 bytes, the frame has 40",
            ),
            (
                carrier() / LPH() / NTH() / TPH() / CLH(length=9) / b"abcd",
                "length",
                "Collective header says 9 bytes, the packet carries 4",
            ),
            (carrier() / LPH(cfg=3) / b"abcd", "cfg", "cfg 3: no header is known to follow"),
            (carrier() / LPH() / NTH() / b"abcd", "cut", "TPH is cut short: 4 bytes of 12"),
        ],
    )
    def test_what_is_wrong_is_said(self, tshark: Callable[..., str], frame: Packet, expert: str, words: str):
        columns = [
            "-T",
            "fields",
            "-e",
            "_ws.col.Info",
            "-e",
            "_ws.expert.message",
            "-e",
            "_ws.expert.severity",
        ]
        line = tshark([frame], "-Y", f"ub.expert.{expert}", *columns)
        said, messages, severity = line.rstrip("\n").split("\t")
        assert words in said
        assert words in messages
        assert "8388608" in severity  # an error

    def test_nothing_is_wrong_with_good_frames(self, tshark: Callable[..., str]):
        good = [
            steered(ptr=11, bitmap=0xFC0),
            carrier() / LPH(vl=2) / NTH(sl=1) / TPH(opcode=2) / SACK(),
            carrier() / LPH() / NTH() / TPH() / CLH(length=300) / bytes(300),
        ]
        assert tshark(good, "-Y", "_ws.expert") == ""

    def test_no_bytes_whatever_make_an_error_of_the_script(self, tshark: Callable[..., str]):
        chance = random.Random(3)
        whole = [bytes(frame) for frame in random_frames()]
        cut = [frame[: chance.randrange(14, len(frame))] for frame in whole]
        noise = [
            bytes(carrier() / b"")[:12] + b"\x88\xb5" + chance.randbytes(chance.randrange(90)) for _ in whole
        ]
        text = tshark([*cut, *noise], "-V")
        assert "Lua Error" not in text
        assert text.count("UnifiedBus") >= len(whole)


class TestDetour:
    def test_it_shows_a_detour_hop_by_hop(self, tshark: Callable[..., str]):
        mesh = full_mesh((4, 4))
        frame = craft(mesh, Order("npu5", "npu10", route=("npu4", "npu6", "-"), payload=bytes(16)))
        journey = walk(make_plan(mesh), bytes(frame), End("npu5", 0))
        columns = ["ub.lph.vl", "ub.srh.ptr", "ub.srh.bitmap", "ub.srh.instr", "ub.srh.next", "ub.lph.bytes"]
        text = tshark(
            [crossing.frame for crossing in journey.crossings],
            "-T",
            "fields",
            *(f"-e{column}" for column in columns),
        )
        assert [line.split("\t") for line in text.splitlines()] == [
            ["0", "0", "0x0c00", "1,2,0,0,0,0", "instruction 0, port 1", "64"],
            ["0", "1", "0x0c00", "1,2,0,0,0,0", "instruction 1, port 2", "64"],
            ["1", "2", "0x0c00", "1,2,0,0,0,0", "the tables", "64"],
            ["1", "3", "0x0c00", "1,2,0,0,0,0", "the tables", "64"],
            ["1", "", "", "", "", "56"],
        ]
