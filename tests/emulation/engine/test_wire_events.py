# SPDX-License-Identifier: Apache-2.0
"""Events that a control plane takes too slowly: their queue is bounded, and what is lost is counted."""

from pathlib import Path

import pytest

from emulation import _engine

pytestmark = pytest.mark.skipif(
    not hasattr(_engine, "Wire"), reason="the engine was built without its Linux part"
)

PROGRAM = Path(__file__).resolve().parents[2] / "programs" / "build" / "wire.json"
CPU_PORT = 30
MOST, MOST_BYTES = 10_000, 16 << 20


@pytest.mark.parametrize(
    ("size", "kept"), [(64, MOST), (9_000, MOST_BYTES // 9_000)], ids=["by number", "by bytes"]
)
def test_a_full_queue_of_events_loses_packet_ins_and_says_how_many(size: int, kept: int) -> None:
    wire = _engine.Wire()
    switch = wire.add_switch("device 1", CPU_PORT)
    wire.set_program(switch, _engine.Program(PROGRAM.read_bytes()))
    frame = bytes([CPU_PORT << 3]) + bytes(size - 1)
    for _ in range(kept + 3):
        wire.packet_out(switch, frame)
    full = "device 1: the queue of events is full; packet-ins and digests are lost"
    assert wire.take_messages() == [("warning", full)]
    taken = 0
    while item := wire.take_control():
        assert (item[0], item[5]) == ("packet_in", frame)
        taken += 1
    assert taken == kept
    lost = "device 1: the queue of events has lost 3 packet-ins and 0 digests"
    assert wire.take_messages() == [("warning", lost)]
    wire.packet_out(switch, frame)
    assert wire.take_control() is not None
    assert wire.take_messages() == []
