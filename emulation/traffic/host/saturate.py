# SPDX-License-Identifier: Apache-2.0
"""Traffic that keeps a lossless fabric full: an NPU sends a frame for every frame that it receives.

The number of frames under way stays constant; if it exceeds the fabric's buffers, sources always wait. The
frames carry no data and need no acknowledgement, so only the fabric can stop them. A turn rule that permits a
deadlock shows it under this traffic.
"""

from collections.abc import Sequence
from functools import lru_cache
from typing import final

from scapy.layers.l2 import Ether
from scapy.packet import Raw

from controller.paths.source_route import SourceRoute, encode, pack
from emulation import _engine
from emulation.errors import FrameError
from emulation.traffic.frames.layers import LPH, NTH, SRH
from emulation.traffic.frames.values import CFG_SOURCE_ROUTE, mac

__all__ = ["LEAST_BYTES", "ROUTE_AT", "Saturator", "steered_frame"]

# Bytes of a frame that consists of headers.
LEAST_BYTES = len(Ether(src=mac(0), dst=mac(0)) / LPH() / SRH() / NTH())

# Offsets of a frame's fields: its source route, the CNAs in its MAC addresses, the CNAs of its NTH.
ROUTE_AT = 18
_TO_MAC, _FROM_MAC, _ADDRESSES = 4, 10, 26


def steered_frame(source: int, target: int, ports: Sequence[int], size: int) -> bytes:
    """Return a frame of `size` bytes from CNA `source` to CNA `target`, source-routed by `ports`.

    FrameError if `size` is below LEAST_BYTES; PlanError for more ports than a source route holds.
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
    """Return a frame of `size` bytes with route and CNAs of 0, cached since Scapy is slow."""
    if size < LEAST_BYTES:
        raise FrameError(
            f"a frame of {size} bytes is too short for its headers",
            remedy=f"give {LEAST_BYTES} bytes or more",
        )
    head = Ether(src=mac(0), dst=mac(0)) / LPH(cfg=CFG_SOURCE_ROUTE) / SRH() / NTH()
    return bytes(head / Raw(bytes(size - LEAST_BYTES)))


@final
class Saturator(_engine.Saturator):
    """A host sending random `frames`: `at_first` of them at first, then one for each received frame."""

    def __init__(self, frames: Sequence[bytes], at_first: int, seed: int, budget: _engine.Budget) -> None:
        super().__init__(frames, at_first, abs(seed).to_bytes(abs(seed).bit_length() // 8 + 1), budget)
