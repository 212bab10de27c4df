# SPDX-License-Identifier: Apache-2.0
"""The compiled scan program on the engine: frames that it forwards, answers and drops.

`tests/differential` runs frames of the same kinds on BMv2.
"""

from collections.abc import Callable, Iterator

import pytest

from controller import CPU_PORT
from controller.discovery import Hops, guid_of, read_answer, request, scan_entries
from controller.forwarding.pipeline import DropReason
from controller.p4runtime.client import P4RuntimeClient
from emulation.embedded.testbed import EmbeddedTestbed
from harness.run.boot import filled, read_program
from topologies import full_mesh

MESH = full_mesh((2, 4))
NODE = MESH.nodes[0]
PORTS = 4

Switch = Callable[[int, bytes], list[tuple[int, bytes]]]


@pytest.fixture(scope="module")
def up() -> Iterator[tuple[EmbeddedTestbed, P4RuntimeClient]]:
    testbed = EmbeddedTestbed(MESH)
    programs = dict.fromkeys((node.name for node in MESH.nodes), read_program("ub_scan"))
    with filled(testbed, programs, scan_entries(MESH)) as booted:
        yield testbed, booted.client


@pytest.fixture
def switch(up: tuple[EmbeddedTestbed, P4RuntimeClient]) -> Switch:
    return lambda port, frame: list(up[0].network.process(0, port, frame))


@pytest.fixture
def reason(up: tuple[EmbeddedTestbed, P4RuntimeClient]) -> Callable[[], dict[int, int]]:
    """Number of drops by reason."""
    return lambda: {i: n for i, (n, _) in up[1].read_counter(NODE.name, "drops").items() if n}


def changed(frame: bytes, at: int, value: int) -> bytes:
    return frame[:at] + bytes([value]) + frame[at + 1 :]


@pytest.mark.parametrize("hops", Hops)
@pytest.mark.parametrize("step", range(3))
def test_each_hop_leaves_by_its_port(switch: Switch, hops: Hops, step: int) -> None:
    path = [3, 1, 4]
    arrived = changed(request(1, path, [0, 0, 0], hops), 33, step)
    ((port, sent),) = switch(2, arrived)
    assert port == path[step]
    assert sent == changed(arrived, 33, step + 1)


@pytest.mark.parametrize("hops", Hops)
@pytest.mark.parametrize("count", [1, 2, 3, 5, 8])
def test_the_end_of_a_path_answers(switch: Switch, hops: Hops, count: int) -> None:
    back = [9, 1, 2, 3, 4, 5, 6, 7][:count]
    arrived = changed(request(77, [*range(1, count), 3], back, hops), 33, count)
    ((port, sent),) = switch(2, arrived)
    assert port == 2
    answer = read_answer(sent)
    assert answer is not None
    assert (answer.number, answer.guid, answer.ports) == (77, guid_of(NODE), PORTS)
    assert (answer.port, answer.sent_by) == (2, 3)
    # The answer's path is the return path with the port by which the request came, and one hop is done.
    words = -(-count * hops.bits // 32)
    expected = request(0, [2, *back[1:]], [0] * count, hops)[34 : 34 + 4 * words]
    assert sent[34 : 34 + 4 * words] == expected
    assert sent[30:34] == bytes([0, hops, count, 1])
    assert sent[16:18] == length_of(sent)


def length_of(frame: bytes) -> bytes:
    """LPH.length of a short frame with RT 0: flits of 20 bytes less 1, bytes of the last less 1."""
    flits, tail = divmod(len(frame) - 15, 20)
    return (flits << 5 | tail).to_bytes(2, "big")


def test_the_root_answers_its_controller(switch: Switch) -> None:
    ((port, sent),) = switch(CPU_PORT, bytes(2) + request(5, [], []))
    assert port == CPU_PORT
    assert sent[:2] == (CPU_PORT << 7).to_bytes(2, "big")
    answer = read_answer(sent[2:])
    assert answer is not None
    assert (answer.guid, answer.port) == (guid_of(NODE), 0)


def test_an_answer_at_the_end_of_its_path_goes_to_the_controller(switch: Switch) -> None:
    ((_, answer),) = switch(2, changed(request(7, [3], [0]), 33, 1))
    ((port, sent),) = switch(3, answer)
    assert (port, sent[2:]) == (CPU_PORT, answer)


@pytest.mark.parametrize(
    ("frame", "why"),
    [
        (changed(request(0, [3], [0]), 33, 2), DropReason.HOPS),
        (request(0, [5], [0]), DropReason.NO_PORT),
        (request(0, [1000], [0], Hops.BITS_16), DropReason.NO_PORT),
        (changed(request(0, [3], [0]), 31, 3), DropReason.CFG),
        (changed(request(0, [3], [0]), 25, 8), DropReason.CFG),
        (changed(request(0, [3], [0]), 15, 0x4C), DropReason.CFG),
        (changed(request(0, [3], [0]), 13, 0xB6), DropReason.ETHERTYPE),
        (changed(request(0, [3] * 16, [0] * 16), 32, 17), DropReason.TRUNCATED),
        (changed(changed(request(0, [3], [0]), 33, 1), 43, 7), DropReason.NO_ROUTE),
    ],
    ids=["step", "port", "port of 16 bits", "hop type", "NLP", "cfg", "type", "path too long", "command"],
)
def test_frames_that_are_dropped(
    switch: Switch, reason: Callable[[], dict[int, int]], frame: bytes, why: DropReason
) -> None:
    before = reason()
    assert switch(1, frame) == []
    after = reason()
    assert after[why] == before.get(why, 0) + 1


def test_a_request_without_a_way_back_is_dropped(switch: Switch) -> None:
    whole = request(0, [3], [0])
    state = bytes([0, Hops.BITS_8, 1, 1])  # at the end of a path of one hop, without the bit of a return path
    assert switch(1, whole[:30] + state + whole[34:38] + whole[42:]) == []


def test_truncated_at_every_length(switch: Switch) -> None:
    whole = request(0, [3, 1], [0, 2])
    assert [length for length in range(len(whole)) if switch(1, whole[:length])] == []
    assert len(switch(1, whole)) == 1
