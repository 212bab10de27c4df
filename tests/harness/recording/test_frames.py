# SPDX-License-Identifier: Apache-2.0
"""Frames of a recording: they crossed the links, have the words of Scapy's layers, and change no run."""

import struct
import zlib
from pathlib import Path
from typing import Literal

import pytest
from scapy.utils import RawPcapReader

from emulation.traffic.frames.layers import NTH, TPH, Ether
from harness.errors import ScenarioError
from harness.frames.craft import Order, craft
from harness.recording.file import read_recording
from harness.recording.frames import frame_words
from harness.recording.recorder import Recorder
from harness.recording.records import Kind, Record
from harness.scenario.loader import load
from railyard.api.scenarios import execute
from topologies import full_mesh

SMALL = """
name: small
topology: {name: full-mesh, dims: [2, 4]}
collective: {elements: 16384}
variants:
  - {name: healthy}
"""


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "small.yaml"
    path.write_text(SMALL)
    return path


def frames_of(records: list[Record]) -> dict[str, list[list]]:
    frames: dict[str, list[list]] = {}
    for record in records:
        if record.kind is Kind.FRAMES:
            frames.setdefault(record.values["link"], []).extend(record.values["frames"])
    return frames


def test_a_recording_keeps_frames_that_crossed_and_changes_nothing(file: Path, tmp_path: Path):
    records: list[Record] = []
    watched = execute(*load(file), None, watcher=Recorder([records.append], None))
    link = "npu0-npu1"
    captured = execute(*load(file), None, captures={link: tmp_path})
    assert watched.to_json() == captured.to_json()

    frames = frames_of(records)
    assert set(frames) == {link.name for link in watched.fabric.links}
    kept = frames[link]
    assert [row[0] for row in kept] == sorted({row[0] for row in kept})
    assert [row[1] for row in kept] == sorted(row[1] for row in kept)
    (capture,) = tmp_path.glob("*.pcap*")
    crossed = [(len(frame), frame_words(watched.fabric, frame)) for frame, _ in RawPcapReader(str(capture))]
    assert len(kept) > 8
    assert all((length, words) in crossed for *_, length, words in kept)


def test_only_the_links_that_are_named_have_frames(file: Path):
    records: list[Record] = []
    execute(*load(file), None, watcher=Recorder([records.append], ["npu0-npu1"]))
    assert set(frames_of(records)) == {"npu0-npu1"}
    records.clear()
    execute(*load(file), None, watcher=Recorder([records.append]))
    assert frames_of(records) == {}


def test_a_link_that_does_not_exist_is_refused_before_the_run(file: Path):
    with pytest.raises(
        ScenarioError,
        match="--frames names npu0-npu9, which is no link of full-mesh-2x4; give a name such as",
    ):
        execute(*load(file), None, watcher=Recorder([], ["npu0-npu9"]))


@pytest.mark.parametrize("kind", ["data", "ack"])
@pytest.mark.parametrize("route", [(), ("npu1", "npu3")])
def test_words_are_those_of_the_layers(kind: Literal["data", "ack"], route: tuple[str, ...]):
    fabric = full_mesh((2, 4))
    frame = bytes(craft(fabric, Order("npu0", "npu3", kind=kind, route=route, psn=70000)))
    packet = Ether(frame)
    operation = packet[TPH].get_field("opcode").i2repr(packet[TPH], packet[TPH].opcode)
    ends = (fabric.node_of(cna) for cna in (packet[NTH].scna, packet[NTH].dcna))
    source, destination = (node.name for node in ends if node)
    assert frame_words(fabric, frame) == f"{source} to {destination}: {operation}, PSN {packet[TPH].psn}"
    assert frame_words(fabric, frame).startswith(f"npu0 to npu3: {kind}, PSN ")


def test_a_notice_and_a_foreign_frame_have_words():
    fabric = full_mesh((2, 4))
    notice = bytes(craft(fabric, Order("npu0", "npu3", kind="notice", link="npu0-npu1")))
    assert frame_words(fabric, notice) == "npu0 to npu3: notice"
    assert frame_words(fabric, bytes(60)) == "a frame of type 0x0000"
    assert frame_words(fabric, notice[:20]) == "a frame of type 0x88b5"


def test_a_recording_of_version_1_is_read(tmp_path: Path):
    old = tmp_path / "old.recording"
    content = zlib.compress(b'{"scenario":"old"}')
    old.write_bytes(b"railyard-recording 1\n" + struct.pack("<BI", 1, len(content)) + content)
    assert read_recording(old).records[0].values == {"scenario": "old"}
