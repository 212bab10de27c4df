# SPDX-License-Identifier: Apache-2.0
"""A switch that combines values: packet-hops a second of processor time, interpreted and translated.

`python -m bench.switch.reduction` sends the blocks of 8 children to the root of a tree. Each block takes 8
frames of 294 bytes in, 7 sums of 64 values, and 8 results out. The time of the calls from Python, measured by
a program that only copies frames, is subtracted.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Sequence

from bench.figures import Series
from bench.switch.engine import WIRE
from controller.p4runtime.client import P4RuntimeClient, ProgramFiles
from controller.p4runtime.replication import multicast_group
from controller.plan.entry import Exact
from controller.tables.actions import ARRIVE, FROM_CHILD, SET_TREE, SET_TREE_NEIGHBOUR
from emulation._engine import Network, Program
from emulation.p4runtime import P4RuntimeServer
from emulation.traffic.frames.values import VALUE_BYTES, ReductionKind
from emulation.traffic.tree.wire import ReductionFields, write_frame
from harness.run.boot import read_program

__all__ = ["packet_hops_per_core_second"]

CHILDREN = 8
BLOCKS = 4_000
ROUNDS = 5
_NODE, _DEVICE, _TREE, _OWN, _CELLS = "switch", 1, 3, 0x2001, 64


def packet_hops_per_core_second(files: ProgramFiles, blocks: int = BLOCKS) -> float:
    """Return contributions taken a second of processor time, with the results that they cause."""
    network = Network()
    switch = network.add_switch(_NODE)
    server = P4RuntimeServer(network, {_DEVICE: 0}, lock=threading.RLock())
    with P4RuntimeClient(server.start()) as client:
        client.connect({_NODE: _DEVICE})
        client.push_pipeline({_NODE: files})
        at = ("tree", Exact(_TREE))
        rows = [SET_TREE.entry((at,), _OWN, 0, _CELLS - 1, (1 << CHILDREN) - 1, 1, 0, _TREE + 1)]
        for child in range(CHILDREN):
            here = (at, ("port", Exact(1 + child)))
            rows.append(ARRIVE.entry((("port", Exact(1 + child)),), 2, 1))
            rows.append(FROM_CHILD.entry(here, 1 << child))
            rows.append(SET_TREE_NEIGHBOUR.entry(here, 0x100 + child, 0, child, child))
        client.install({_NODE: rows})
        client.replicate(_NODE, [multicast_group(_TREE + 1, range(1, 1 + CHILDREN))])
        frames = _frames(blocks)
        sent, seconds = _send(network, switch, frames)
    server.stop()
    assert sent == CHILDREN * blocks
    return len(frames) / (seconds - _calls(frames))


def _frames(blocks: int) -> list[tuple[int, bytes]]:
    values = bytes(range(VALUE_BYTES))
    return [
        (
            1 + child,
            write_frame(
                ReductionFields(ReductionKind.CONTRIBUTION, _TREE, block, 0x100 + child, _OWN, values=values)
            ),
        )
        for block in range(1, 1 + blocks)
        for child in range(CHILDREN)
    ]


def _send(network: Network, switch: int, frames: Sequence[tuple[int, bytes]]) -> tuple[int, float]:
    """Return the frames that leave, and the processor time."""
    began, sent = time.process_time(), 0
    for port, frame in frames:
        sent += len(network.process(switch, port, frame))
    return sent, time.process_time() - began


def _calls(frames: Sequence[tuple[int, bytes]]) -> float:
    """Return the processor time of the calls alone, less that of a hop of a program that copies frames."""
    network = Network()
    switch = network.add_switch("wire")
    network.set_program(switch, Program(WIRE.read_bytes()))
    _, seconds = _send(network, switch, frames)
    return seconds - network.bench(switch, 1, frames[0][1], len(frames))


def main() -> None:
    """Print both figures of both programs."""
    for name in ("ub_switch_reduce", "rail_switch_reduce"):
        files = read_program(name)
        interpreted = ProgramFiles(b'{"no_member_of_v1model": 0,' + files.json.lstrip()[1:], files.p4info)
        for how, each in (("translated", files), ("interpreted", interpreted)):
            rounds = Series([packet_hops_per_core_second(each) for _ in range(ROUNDS)])
            print(f"{name}, {how}: {rounds} packet-hops a core-second")


if __name__ == "__main__":
    main()
