# SPDX-License-Identifier: Apache-2.0
"""Faults of links of the embedded testbed."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from emulation._engine import Program
from emulation.embedded.testbed import EmbeddedTestbed
from emulation.errors import TestbedError
from emulation.testbed import Impairment
from tests.emulation.engine.wires import WIRE, numbered, pcap, steer
from topologies import TopologyError, full_mesh


class Talker:
    """Sends its frames at the start and notes what it gets."""

    def __init__(self, *frames: bytes) -> None:
        self.frames = [(frame, 0) for frame in frames]
        self.seen: list[tuple[int, bytes]] = []

    def start(self, now: int) -> tuple[list[tuple[bytes, int]], None]:
        return self.frames, None

    def on_frame(self, frame: bytes, now: int) -> tuple[list[tuple[bytes, int]], None]:
        self.seen.append((now, frame))
        return [], None

    def on_timer(self, now: int) -> tuple[list[tuple[bytes, int]], None]:
        return [], None


@contextmanager
def pair(**settings: Any) -> Iterator[EmbeddedTestbed]:
    """npu0 and npu1 with the wire program: frames for port 10 go to the other's host."""
    with EmbeddedTestbed(full_mesh([2]), **settings) as testbed:
        for i in range(2):
            testbed.network.set_program(i, Program(WIRE.read_bytes()))
            steer(testbed.network, i, {10: (1, 0)})
        yield testbed


def test_the_testbed_impairs_by_name_and_counts_what_vanished_as_lost(tmp_path: Path) -> None:
    def lost(seed: int) -> set[int]:
        with pair(seed=seed) as testbed:
            assert testbed.virtual
            sink = Talker()
            testbed.attach("npu1", sink)
            testbed.impair("npu0-npu1", 0, Impairment(loss=0.5))
            testbed.record("npu0-npu1", tmp_path / f"{seed}.pcap")
            testbed.attach("npu0", Talker(*(numbered(10, number) for number in range(100))))
            assert testbed.run()
            there, back = testbed.link_usage()["npu0-npu1"]
            assert there.lost_frames + len(sink.seen) == there.frames == 100
            assert back.frames == 0
            assert len(pcap(tmp_path / f"{seed}.pcap")) == 100
            return {int.from_bytes(data[1:5], "big") for _, data in sink.seen}

    assert lost(1) == lost(1) != lost(2)


def test_the_testbed_takes_a_host_link_down_and_says_so_of_its_port() -> None:
    with pair() as testbed:
        ports: list[tuple[str, int, bool]] = []
        testbed.on_port = lambda *port: ports.append(port)
        sink = Talker()
        testbed.attach("npu1", sink)
        testbed.attach("npu0", Talker(*(numbered(10, number) for number in range(1000))))
        testbed.at(40_000, lambda: testbed.set_host_link("npu1", False))
        assert testbed.run()
        assert ports == [("npu1", 0, False)]
        to = testbed.host_usage()["npu1"][1]
        assert to.lost_frames + to.refused_frames + len(sink.seen) == 1000
        assert to.refused_frames > 0 < len(sink.seen)


@pytest.mark.parametrize(
    ("act", "error", "message"),
    [
        (lambda t: t.impair("npu0-npu1", 2, Impairment()), TestbedError, "has no direction 2"),
        (lambda t: t.impair("npu0-npu1", 0, Impairment(loss=2)), TestbedError, "a loss of 2"),
        (lambda t: t.impair("npu1-npu0", 0, Impairment()), TopologyError, "did you mean npu0-npu1"),
        (lambda t: t.set_link("npu0-npu7", False), TopologyError, "no link named 'npu0-npu7'"),
        (lambda t: t.set_host_link("npu7", False), TestbedError, "npu7 has no host port"),
        (lambda t: t.record("npu0-npu1", "/nowhere/x.pcap"), TestbedError, "No such file or directory"),
        (lambda t: t.record("npu0-npu1", "/tmp/x.pcap", 3), TestbedError, "has no direction 3"),
    ],
)
def test_what_the_testbed_cannot_do_it_says(act: Callable, error: type[Exception], message: str) -> None:
    with pair() as testbed, pytest.raises(error, match=message):
        act(testbed)


def test_before_it_starts_the_testbed_has_no_links() -> None:
    with pytest.raises(TestbedError, match=r"no links yet; call start\(\) first"):
        EmbeddedTestbed(full_mesh([2])).set_link("npu0-npu1", False)
