# SPDX-License-Identifier: Apache-2.0
"""Frames that take congestion marks, and programs with and without marks that stand with the same tables."""

from dataclasses import replace

from controller import Entry, Exact
from tests.emulation.programs.ub_frames import CFG_CNA16, CFG_SOURCE_ROUTE, ETHERTYPE
from tests.emulation.programs.ub_reference import CPU_PORT, ROUTERS

__all__ = ["CCS", "PAIRS", "after", "with_cc"]

# Number of frames that have to wait behind a frame for a mark, by egress port. No frame waits where frames
# are sent one at a time; BMv2 has up to 48 at a time, of which any number may wait on a busy machine.
_THRESHOLDS = {**dict.fromkeys(range(0, 256, 2), 0), 9: 48, 21: 64}

_CONGESTION = tuple(
    Entry("congestion", (("egress_port", Exact(port)),), "mark_from", (("frames", frames),))
    for port, frames in _THRESHOLDS.items()
)

# Programs without and with marks.
PAIRS = tuple(
    (router, replace(router, program=f"{router.program}_ecn", further=_CONGESTION)) for router in ROUTERS
)

# Values of NTH.cc: other modes with the bits of a mark, and mode 4 with each mark and with other bits.
CCS = (0, 0x0003, 0x4001, 0xA001, 0x8000, 0x8001, 0x9FFD, 0x8002, 0x8003)


def with_cc(port: int, frame: bytes, cc: int) -> bytes:
    """Return a frame of a port with another value of NTH.cc; the same frame if it has none."""
    at = _cc_at(port, frame)
    return frame if at is None else frame[:at] + cc.to_bytes(2) + frame[at + 2 :]


def after(port: int, frame: bytes) -> bytes:
    """Return a frame of a program without marks as the program with marks sends it by a port."""
    at = _cc_at(port, frame)
    if at is None or _THRESHOLDS.get(port, 1) > 0:
        return frame
    cc = int.from_bytes(frame[at : at + 2])
    return with_cc(port, frame, cc | 3) if cc >> 13 == 4 and cc & 3 == 1 else frame


def _cc_at(port: int, frame: bytes) -> int | None:
    """Return the place of NTH.cc; None without a whole network header."""
    start = 2 if port == CPU_PORT else 0
    if len(frame) < start + 18 or frame[start + 12 : start + 14] != ETHERTYPE.to_bytes(2):
        return None
    srh = {CFG_CNA16: 0, CFG_SOURCE_ROUTE: 8}.get(frame[start + 15] & 0xF)
    if srh is None or len(frame) < start + 18 + srh + 8:
        return None
    return start + 18 + srh + 4
