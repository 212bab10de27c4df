# SPDX-License-Identifier: Apache-2.0
"""Work that a frame may cause in a switch: passes, copies, rounds; and what becomes of a frame beyond it."""

import pytest

from emulation._engine import Network
from tests.emulation.engine.test_departures import (
    CLONE_ALL,
    COPIES,
    DROP,
    PROGRAM_NAMES,
    RECIRCULATE,
    Star,
    frame,
)
from tests.emulation.engine.wires import PROGRAMS, RATE, Sink, switches

CONTROL, MORE = 2, 4


@PROGRAM_NAMES
def test_copies_of_one_pass_are_limited(program: str) -> None:
    star = Star(program)
    star.net.multicast_set(0, 1, [(2, 0)] * 65537)
    star.send(frame(0, COPIES, 100))
    with pytest.raises(RuntimeError, match=r"switch s0: more than 65536 copies of a frame"):
        star.net.run()


def test_copies_of_all_passes_are_limited() -> None:
    """300 copies, each recirculated and copied again: 90,300 in all."""
    net = switches(1, PROGRAMS / "departures.json")
    net.multicast_set(0, 1, [(2, 0)] * 300)
    with pytest.raises(RuntimeError, match=r"switch s0: more than 65536 copies of a frame"):
        net.process(0, 1, frame(0, COPIES | RECIRCULATE, 20))


def test_copies_that_wait_in_queues_share_the_copies_of_their_frame() -> None:
    """Two copies, each recirculated: 32,767 further copies of each at most."""
    star = Star("queue")
    star.net.multicast_set(0, 1, [(2, 0)] * 2)
    star.send(frame(0, COPIES | RECIRCULATE, 20))
    star.net.run(20)  # both copies wait for their egress
    star.net.multicast_set(0, 1, [(2, 0)] * 32768)
    with pytest.raises(RuntimeError, match=r"switch s0: more than 65536 copies of a frame"):
        star.net.run()


def lossless(program: str) -> tuple[Network, int, Sink]:
    """A source whose credits are one frame of 100 bytes, and a sink on port 2."""
    net, sink = switches(1, PROGRAMS / f"{program}.json"), Sink()
    source = net.attach_host(0, 1, RATE, 0, 100)
    net.set_handler(net.attach_host(0, 2, RATE, 0, 0), sink)
    net.clone_set(0, 1, [(2, 0)], 0)
    return net, source, sink


@PROGRAM_NAMES
def test_a_tolerant_network_drops_the_frame_and_frees_its_buffer(program: str) -> None:
    net, source, sink = lossless(program)
    net.set_tolerant(True)
    net.send(source, frame(2, CLONE_ALL | DROP, 100), 0)
    net.send(source, frame(2, 0, 100), 0)
    told = []
    while net.run() == CONTROL:
        while item := net.take_control():
            told.append(item)
    (item,) = told
    assert (item[0], item[2]) == ("log", 0)
    assert b"switch s0: a frame was resubmitted, recirculated or cloned by egress 1000 times" in item[5]
    assert net.frames_failed == 1
    assert len(sink.times) == 1


@PROGRAM_NAMES
@pytest.mark.parametrize(
    "circulating",
    [
        frame(31, 0, 100),
        frame(30, 0, 100),
        frame(29, 0, 100),
        frame(2, CLONE_ALL | DROP, 100),
        frame(30, COPIES, 100),
    ],
    ids=["resubmit", "recirculate", "clone by ingress", "clone by egress", "multicast"],
)
def test_no_path_goes_on_without_end(program: str, circulating: bytes) -> None:
    """The frame is dropped, logged and counted, and the next frame passes."""
    net, source, sink = lossless(program)
    net.multicast_set(0, 1, [(2, 0), (2, 1)])
    net.set_tolerant(True)
    net.send(source, circulating, 0)
    logged = 0
    while net.run() == CONTROL:
        while item := net.take_control():
            assert b"frame was resubmitted, recirculated or cloned by egress 1000 times" in item[5]
            logged += 1
    assert net.frames_failed == logged >= 1
    assert sink.times == []
    net.send(source, frame(2, 0, 100), 0)
    assert net.run() == 0
    assert len(sink.times) == 1


@PROGRAM_NAMES
def test_a_packet_out_beyond_its_budget(program: str) -> None:
    net, _, _ = lossless(program)
    if program == "departures":
        with pytest.raises(RuntimeError, match=r"1000 times"):
            net.packet_out(0, frame(2, CLONE_ALL | DROP, 100))
    net.set_tolerant(True)
    net.packet_out(0, frame(2, CLONE_ALL | DROP, 100))
    assert net.run() == CONTROL
    assert net.frames_failed == 1


def test_frames_that_circulate_leave_turns() -> None:
    """Two switches that send every frame on to each other: there is no end to it, but there are pauses."""
    net = switches(2, PROGRAMS / "wire.json")
    net.connect(0, 3, 1, 3, RATE, 1000, 0)
    net.packet_out(0, bytes([3 << 3]) + bytes(63))
    assert net.run(None, 100) == MORE
    before = net.hops
    assert net.run(None, 100) == MORE
    assert net.hops > before
    net.set_program(1, None)
    assert net.run() == 0
