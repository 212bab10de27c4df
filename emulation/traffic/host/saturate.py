# SPDX-License-Identifier: Apache-2.0
"""Traffic that keeps a lossless fabric full: for every frame that comes to an NPU, it sends another.

So as many frames are under way at any time as at the begin, and where they are more than the fabric's buffers
hold, sources always wait. It carries no data and asks for nothing but to arrive: whatever stops it is the
fabric. It shows that rules of turns keep free of deadlock, and that others do not.
"""

from collections.abc import Sequence
from functools import lru_cache
from random import Random
from typing import final

from scapy.layers.l2 import Ether
from scapy.packet import Raw

from controller.routing.source_route import SourceRoute, encode, pack
from emulation.errors import FrameError
from emulation.traffic.frames.layers import CFG_SOURCE_ROUTE, LPH, NTH, SRH, VL_DATA, mac

__all__ = ["LEAST_BYTES", "ROUTE_AT", "Budget", "Saturator", "steered_frame"]

# Of a frame that is headers only.
LEAST_BYTES = len(Ether(src=mac(0), dst=mac(0)) / LPH() / SRH() / NTH())

# Where a frame's fields begin: its source route, the CNAs within its MAC addresses, those of the NTH.
ROUTE_AT = 18
_TO_MAC, _FROM_MAC, _ADDRESSES = 4, 10, 26

_Answer = tuple[list[tuple[bytes, int]], None]


def steered_frame(source: int, target: int, ports: Sequence[int], size: int) -> bytes:
    """A frame of `size` bytes between two CNAs that leaves each node of its way by the next of `ports`.

    FrameError when its headers alone are longer; PlanError for more ports than a source route holds.
    """
    frame = bytearray(_blank(size))
    bitmap, instructions = pack(ports)
    route = encode(SourceRoute(0, bitmap, tuple(instructions.to_bytes(6))))
    to, by = target.to_bytes(2), source.to_bytes(2)
    for at, field in ((_TO_MAC, to), (_FROM_MAC, by), (ROUTE_AT, route), (_ADDRESSES, by + to)):
        frame[at : at + len(field)] = field
    return bytes(frame)


@lru_cache
def _blank(size: int) -> bytes:
    """A frame of that size whose ways and addresses are 0; Scapy takes too long to make thousands."""
    if size < LEAST_BYTES:
        raise FrameError(f"frame of {size} bytes: its headers take {LEAST_BYTES}", remedy="make it longer")
    head = Ether(src=mac(0), dst=mac(0)) / LPH(cfg=CFG_SOURCE_ROUTE) / SRH() / NTH()
    return bytes(head / Raw(bytes(size - LEAST_BYTES)))


@final
class Budget:
    """Frames that all NPUs together may still send, and those that have come."""

    def __init__(self, frames: int) -> None:
        self.left = frames
        self.received = 0


@final
class Saturator:
    """An NPU's side: sends one of `frames` by chance, `at_first` times, then for every frame that comes."""

    def __init__(self, frames: Sequence[bytes], at_first: int, seed: int, budget: Budget) -> None:
        # Answers as a testbed wants them, made once: there will be millions.
        self._answers: tuple[_Answer, ...] = tuple(([(frame, VL_DATA)], None) for frame in frames)
        self._nothing: _Answer = [], None
        self._at_first = at_first
        self._random = Random(seed).random
        self._budget = budget

    def start(self, now: int) -> _Answer:
        count = min(self._at_first, self._budget.left)
        self._budget.left -= count
        return [frame for _ in range(count) for frame in self._chosen()[0]], None

    def on_frame(self, frame: bytes, now: int) -> _Answer:
        budget = self._budget
        budget.received += 1
        if not budget.left:
            return self._nothing
        budget.left -= 1
        return self._chosen()

    def on_timer(self, now: int) -> _Answer:
        return self._nothing

    def _chosen(self) -> _Answer:
        return self._answers[int(self._random() * len(self._answers))]
