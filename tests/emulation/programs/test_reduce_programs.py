# SPDX-License-Identifier: Apache-2.0
"""The programs that combine values do what the slot machine of the oracle does, frame by frame.

Scripted and random frames of two trees go through a switch: contributions, repeated, late and of strangers,
and results. Interpreter and translation run them.
"""

import threading
from collections.abc import Iterator
from random import Random

import pytest

from controller.p4runtime.client import P4RuntimeClient, ProgramFiles
from emulation._engine import Network
from emulation.p4runtime import P4RuntimeServer
from emulation.traffic.frames.values import ReductionKind
from emulation.traffic.tree.wire import ReductionFields, read_frame, write_frame
from harness.run.boot import read_program
from tests.emulation.programs.reduce_frames import OWN, TREES, drawn, entries, groups
from tests.oracle.slot_machine import NO_TREE, REPEATED, SlotMachine

NODE = "switch"
DROPS = {NO_TREE: 13, REPEATED: 14}


class Switch:
    """The program on the engine, with the tables of both trees."""

    def __init__(self, files: ProgramFiles) -> None:
        self.network = Network()
        self.network.add_switch(NODE)
        self._server = P4RuntimeServer(self.network, {10: 0}, lock=threading.RLock())
        self._client = P4RuntimeClient(self._server.start())
        self._client.connect({NODE: 10})
        self._files = files
        self.reset()

    def reset(self) -> None:
        """Begin with empty registers."""
        self._client.push_pipeline({NODE: self._files})
        self._client.install({NODE: entries()})
        self._client.replicate(NODE, groups())

    def __call__(self, port: int, frame: bytes) -> dict[int, bytes]:
        out = self.network.process(0, port, frame)
        assert len({port for port, _ in out}) == len(out)
        return dict(out)

    def drops(self) -> dict[int, int]:
        cells = self._client.read_counter(NODE, "drops").items()
        return {index: packets for index, (packets, _) in cells if packets}

    def close(self) -> None:
        self._client.close()
        self._server.stop()


def interpreted(files: ProgramFiles) -> ProgramFiles:
    return ProgramFiles(b'{"no_member_of_v1model": 0,' + files.json.lstrip()[1:], files.p4info)


@pytest.fixture(
    scope="module", params=[(name, how) for name in ("ub", "rail") for how in ("translated", "interpreted")]
)
def switch(request: pytest.FixtureRequest) -> Iterator[Switch]:
    name, how = request.param
    files = read_program(f"{name}_switch_reduce")
    program = Switch(files if how == "translated" else interpreted(files))
    yield program
    program.close()


@pytest.mark.parametrize("seed", range(4))
def test_random_frames_of_two_trees(switch: Switch, seed: int) -> None:
    switch.reset()
    random, machine = Random(seed), SlotMachine(TREES)
    newest = {tree: random.choice((1, 2**31, 2**32 - 200)) for tree in TREES}
    refused = dict.fromkeys(DROPS.values(), 0)
    sent = 0
    for _ in range(700):
        port, fields = drawn(random, random.choice(list(TREES)), newest)
        answer = machine.on_frame(port, fields)
        out = switch(port, write_frame(fields))
        if isinstance(answer, str):
            refused[DROPS[answer]] += 1
            answer = {}
        assert out == {leaving: write_frame(frame) for leaving, frame in answer.items()}, fields
        sent += len(out)
    assert sent > 100
    assert min(refused.values()) > 3
    assert switch.drops() == refused


def contribution(block: int, values: bytes = b"", **more: object) -> ReductionFields:
    return ReductionFields(ReductionKind.CONTRIBUTION, 3, block, 0x101, OWN, values=values, **more)  # type: ignore[arg-type]


def test_a_repeated_contribution_adds_nothing_and_a_lost_result_comes_again(switch: Switch) -> None:
    switch.reset()
    ones = (1).to_bytes(4, "big") * 64
    assert switch(1, write_frame(contribution(1, ones))) == {}
    assert switch(1, write_frame(contribution(1, ones))) == {}
    assert switch(2, write_frame(contribution(1, ones))) == {}
    results = switch(3, write_frame(contribution(1, ones)))
    assert set(results) == {1, 2, 3}
    result = read_frame(results[2])
    assert not isinstance(result, str)
    assert result.values == (3).to_bytes(4, "big") * 64
    assert switch(2, write_frame(contribution(1, ones))) == {2: results[2]}


def test_frames_of_other_protocols_pass_by(switch: Switch) -> None:
    """A frame without reduction header is routed as before: here there is no route."""
    switch.reset()
    plain = bytearray(write_frame(contribution(1)))
    plain[25] = 0  # nlp
    assert switch(1, bytes(plain)) == {}
    assert set(switch.drops()) & set(DROPS.values()) == set()
