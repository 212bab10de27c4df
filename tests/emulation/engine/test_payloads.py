# SPDX-License-Identifier: Apache-2.0
"""Frames whose payload stays in the array of the NPU that sent them: copied, cut and moved by a program."""

from __future__ import annotations

from pathlib import Path

import pytest

from emulation._engine import Network, Program
from emulation.traffic.collectives import broadcast
from emulation.traffic.schedule.data import make_data
from emulation.traffic.schedule.schedule import slice_schedule
from tests.emulation.engine.wires import Sink
from tests.oracle.make import Hosts, make_agents

PROGRAM = Path(__file__).parents[2] / "programs" / "build" / "copies.json"
RATE = 10**11
SLICE = 64  # elements of 4 bytes
# An NPU's frame begins with the MAC address 02:00:00:00. The program reads it as: clone by session 0,
# preserve fields, leave by port 0. A clone lacks the note that ingress puts before a frame.
SESSION, PORT, CLONES = 0, 0, ((1, 10), (2, 11))
NOTE_BYTES = 4


def arrivals(hosts: Hosts, truncate: int) -> dict[int, list[tuple[int, bytes]]]:
    """Times and frames by port, of an NPU whose frames the program copies; nothing is acknowledged."""
    sliced = slice_schedule(broadcast((2, 1), 1_000, 0), SLICE)
    inputs = [make_data(rank, 1_000, "int32", 1) for rank in range(2)]
    sender = make_agents(hosts, sliced, inputs, [0x40, 0x41])[0]
    network = Network()
    switch = network.add_switch("s1")
    network.set_program(switch, Program(PROGRAM.read_bytes()))
    network.clone_set(switch, SESSION, list(CLONES), truncate)
    sinks = {}
    for port in (PORT, *(port for port, _ in CLONES)):
        sinks[port] = Sink()
        network.set_handler(network.attach_host(switch, port, RATE, 0, 0), sinks[port])
    source = network.attach_host(switch, 5, RATE, 0, 0)
    network.set_handler(source, sender)
    network.start(source)
    network.run(10**9)
    return {port: sink.seen for port, sink in sinks.items()}


@pytest.mark.parametrize("truncate", [0, 40, 100])
def test_program_sees_the_same_frames_with_and_without_a_reference(truncate: int) -> None:
    native = arrivals("native", truncate)
    assert native == arrivals("python", truncate)
    data = make_data(0, 1_000, "int32", 1).tobytes()
    first = [native[port][0][1] for port in (PORT, *(port for port, _ in CLONES))]
    assert first[0].endswith(data[: 4 * SLICE])
    for clone in first[1:]:
        assert len(clone) == (truncate or len(first[0]) - NOTE_BYTES)
        assert clone[-8:] in first[0]
