# SPDX-License-Identifier: Apache-2.0
"""The Scapy generator against the agents in C++: the same data frames, in memory and on Mininet."""

import socket
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import pytest

from emulation.linux import netns
from emulation.mininet.testbed import MininetTestbed
from emulation.traffic.frames.values import ETHERTYPE, Opcode
from emulation.traffic.host.agents import make_agents
from emulation.traffic.host.participant import Output
from emulation.traffic.host.spec import agent_specs
from emulation.traffic.schedule.data import Array, make_data
from harness.errors import ScenarioError
from harness.frames.generator import GeneratedFrame, collective_frames
from harness.run.boot import booted
from harness.run.prepare import Prepared, prepare
from harness.scenario.loader import load
from tests.emulation.mininet.benches import no_rights
from tests.emulation.traffic.conftest import MemoryWire

SCENARIO = """\
name: small
topology: {{name: full-mesh, dims: {dims}}}
collective: {{kind: {kind}, elements: {elements}, dtype: {dtype}, payload_bytes: 400}}
"""
SECONDS = 60.0
"""Bound on waiting for a frame: only a test that fails waits for so long."""

# Numbers that depend on the order in which frames leave: load-balance value, flags, sequence number.
LB, FLAGS, PSN = slice(24, 25), slice(27, 28), slice(32, 35)


def prepared(
    folder: Path, kind: str = "allreduce", dims: str = "[2, 2]", elements: int = 1000, dtype: str = "int32"
) -> tuple[Prepared, list[Array]]:
    path = folder / "small.yaml"
    path.write_text(SCENARIO.format(kind=kind, dims=dims, elements=elements, dtype=dtype))
    scenario, document = load(path)
    (ready,) = prepare(scenario, document)
    job = ready.jobs[0]
    inputs = [
        make_data(rank, job.sliced.elements_of(rank), dtype, scenario.seed)
        for rank in range(len(job.members))
    ]
    return ready, inputs


class Tap(MemoryWire):
    """Keeps every frame that an agent sends."""

    def _take(self, rank: int, output: Output) -> None:
        self.kept: list[bytes]
        self.__dict__.setdefault("kept", []).extend(frame for frame, _ in output[0])
        super()._take(rank, output)


def sent_by_agents(ready: Prepared, inputs: Sequence[Array]) -> list[bytes]:
    """Return the data frames of the agents in C++, which lose none here."""
    job = ready.jobs[0]
    addresses = [ready.fabric.node(name).address for name in job.members]
    agents: list[Any] = make_agents(agent_specs(job.sliced, inputs, addresses, transport=ready.transport))
    wire = Tap(agents)
    wire.run()
    assert all(agent.done for agent in agents)
    return [frame for frame in wire.kept if frame[26] == Opcode.DATA]


def in_common(frame: bytes) -> bytes:
    """Return the frame without the numbers that depend on the order of sending."""
    content = bytearray(frame)
    for field in (LB, FLAGS, PSN):
        content[field] = bytes(len(content[field]))
    return bytes(content)


def without_lane(frame: bytes) -> bytes:
    """Return the frame without its virtual lane, which switches change on detours."""
    content = bytearray(in_common(frame))
    word = int.from_bytes(content[14:18], "big") & ~(0xF << 21)
    content[14:18] = word.to_bytes(4, "big")
    return bytes(content)


def numbers(frames: Sequence[bytes]) -> dict[bytes, list[int]]:
    """Return the sorted sequence numbers of each connection."""
    by_connection: dict[bytes, list[int]] = {}
    for frame in frames:
        by_connection.setdefault(frame[:12], []).append(int.from_bytes(frame[PSN], "big"))
    return {connection: sorted(own) for connection, own in by_connection.items()}


@pytest.mark.parametrize("kind", ["allreduce", "all-gather", "reduce-scatter", "all-to-all", "broadcast"])
@pytest.mark.parametrize(("dims", "dtype"), [("[2, 2]", "int32"), ("[2, 3]", "float32")])
def test_the_generator_builds_the_frames_of_the_agents(tmp_path: Path, kind: str, dims: str, dtype: str):
    ready, inputs = prepared(tmp_path, kind, dims, 1200, dtype)
    expected = sent_by_agents(ready, inputs)
    generated = [bytes(item.frame) for item in collective_frames(ready, inputs)]
    assert sorted(map(in_common, generated)) == sorted(map(in_common, expected))
    assert numbers(generated) == numbers(expected)


def test_what_is_no_single_collective_is_refused(tmp_path: Path):
    path = tmp_path / "two.yaml"
    path.write_text(
        "name: two\ntopology: {name: full-mesh, dims: [2, 2]}\ncollective: {elements: 100}\n"
        "jobs:\n"
        "- {name: a, collective: {algorithm: direct, members: [npu0, npu1]}}\n"
        "- {name: b, collective: {algorithm: direct, members: [npu2, npu3]}}\n"
    )
    (ready,) = prepare(*load(path))
    with pytest.raises(ScenarioError, match="needs a single job with a collective"):
        collective_frames(ready, [])


@contextmanager
def listening(testbed: MininetTestbed) -> Iterator[dict[str, socket.socket]]:
    """Yield a raw socket at each host that receives the UB frames of its interface."""

    def raw() -> socket.socket:
        opened = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(ETHERTYPE))
        opened.bind(("eth0", 0))
        opened.settimeout(SECONDS)
        return opened

    with ExitStack() as stack:
        yield {
            node: stack.enter_context(netns.inside(namespace, raw))
            for node, namespace in testbed.namespaces.items()
        }


def replay(generated: Sequence[GeneratedFrame], sockets: dict[str, socket.socket]) -> dict[str, list[bytes]]:
    """Send the frames of each step, and take as many as the step has before the next; return them by host."""
    arrived: dict[str, list[bytes]] = {node: [] for node in sockets}
    nodes = {item.node: bytes(item.frame)[6:12] for item in generated}
    hosts = {address: node for node, address in nodes.items()}
    for item in generated:
        frame = bytes(item.frame)
        target = hosts[frame[:6]]
        sockets[item.node].send(frame)
        deadline = time.monotonic() + SECONDS
        while time.monotonic() < deadline:
            received, (_, _, kind, *_) = sockets[target].recvfrom(65536)
            if kind != socket.PACKET_OUTGOING:  # type: ignore[attr-defined]
                arrived[target].append(received)
                break
    return arrived


@pytest.mark.skipif(bool(no_rights()), reason=no_rights() or "")
def test_scapy_replays_a_collective_on_mininet(tmp_path: Path):
    ready, inputs = prepared(tmp_path)
    expected = sent_by_agents(ready, inputs)
    generated = list(collective_frames(ready, inputs))
    testbed = MininetTestbed(ready.fabric, switch="builtin", dilation=10_000)
    with booted(testbed, ready.plan), listening(testbed) as sockets:
        arrived = replay(generated, sockets)
    frames = [frame for own in arrived.values() for frame in own]
    assert sorted(map(without_lane, frames)) == sorted(map(without_lane, expected))
    for node, own in arrived.items():
        address = ready.fabric.node(node).address.to_bytes(2, "big")
        assert {frame[20:22] for frame in own} == {address}
