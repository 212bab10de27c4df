# SPDX-License-Identifier: Apache-2.0
"""Run every possible source-route header through the compiled P4 program, and collect its decisions."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import final

from controller.paths.source_route import HEADER_BYTES, MAX_HOPS, MAX_INSTRUCTIONS, SourceRoute, encode
from controller.planner import make_plan
from emulation._engine import Network
from emulation.embedded.testbed import EmbeddedTestbed
from emulation.traffic.frames.layers import LPH, NTH, Ether
from emulation.traffic.frames.values import CFG_CNA16, mac
from emulation.traffic.host.saturate import ROUTE_AT, steered_frame
from harness.run.boot import booted
from topologies import HOST_PORT, full_mesh

__all__ = ["HOPS", "INSTRUCTIONS", "REFUSED", "TABLES", "Headers", "put_every_header"]

# Decisions that are no instruction: the tables choose the egress port, or the program drops the frame.
TABLES, REFUSED = "tables", "refused"

# Drop reasons of p4/include/types.p4: too many instructions, ptr beyond the last hop.
INSTRUCTIONS, HOPS = 4, 5

_PTRS = 16


@final
@dataclass(frozen=True, slots=True)
class Headers:
    """Decisions of a P4 program on all source-route headers.

    Attributes:
        decided: Decision by (ptr, bitmap): the index of an instruction, TABLES or REFUSED.
        pushed: Number of bytes by which a switch enlarges a host's frame when it adds a source route.
        advanced: Whether every forwarded frame left with a ptr larger by one.
        drops: Number of dropped frames by drop reason, from the program's counter.
    """

    decided: Mapping[tuple[int, int], int | str]
    pushed: int
    advanced: bool
    drops: Mapping[int, int]

    def along(self, bits: Sequence[int]) -> tuple[int | str, ...]:
        """Return the decision at each hop of a route of len(`bits`) hops with the bitmap `bits`."""
        bitmap = sum(bit << (MAX_HOPS - 1 - place) for place, bit in enumerate(bits))
        return tuple(self.decided[ptr, bitmap] for ptr in range(len(bits)))


def put_every_header(progress: Callable[[float], None] = lambda share: None) -> Headers:
    """Send a frame through an NPU's program for each of 4,096 bitmaps and 16 values of ptr.

    The NPU has seven neighbours: the six instructions lead to six of them, the tables to the seventh.
    `progress` is called with the share of the bitmaps that are done.
    """
    mesh = full_mesh([8])
    source, target = mesh.nodes[0], mesh.nodes[7]
    ports = range(1, 1 + MAX_INSTRUCTIONS)
    blank = steered_frame(source.address, target.address, list(ports), 100)
    testbed = EmbeddedTestbed(mesh)
    decided: dict[tuple[int, int], int | str] = {}
    advanced = True
    with booted(testbed, make_plan(mesh, strategy="shortest")) as up:
        network = testbed.network
        for bitmap in range(1 << MAX_HOPS):
            for ptr in range(_PTRS):
                route = encode(SourceRoute(ptr, bitmap, tuple(ports)))
                frame = blank[:ROUTE_AT] + route + blank[ROUTE_AT + HEADER_BYTES :]
                left = network.process(source.index, HOST_PORT, frame)
                decided[ptr, bitmap] = _decided(left)
                advanced &= not left or left[0][1][ROUTE_AT] >> 4 == ptr + 1
            progress((bitmap + 1) / (1 << MAX_HOPS))
        counts = up.client.read_counter(source.name, "drops")
        drops = {reason: packets for reason, (packets, _) in counts.items() if packets}
        pushed = _pushed(network, source.index, source.address, target.address)
    return Headers(decided, pushed, advanced, drops)


def _decided(left: Sequence[tuple[int, bytes]]) -> int | str:
    if not left:
        return REFUSED
    port = left[0][0]
    return port - 1 if port <= MAX_INSTRUCTIONS else TABLES


def _pushed(network: Network, switch: int, source: int, target: int) -> int:
    head = Ether(src=mac(source), dst=mac(target)) / LPH(cfg=CFG_CNA16) / NTH(scna=source, dcna=target)
    frame = bytes(head)
    ((_, left),) = network.process(switch, HOST_PORT, frame)
    return len(left) - len(frame)
