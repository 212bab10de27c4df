# SPDX-License-Identifier: Apache-2.0
"""Frames and routers of the programs with the CNA24 network header, from those with the CNA16 header."""

from tests.emulation.programs.ub_frames import ETHERTYPE
from tests.emulation.programs.ub_reference import CPU_PORT, Router

__all__ = ["PAIRS", "widened", "widened_at"]

# LPH.cfg of either form; a code of the other form is unknown to a program.
_CFG = {6: 13, 12: 14, 13: 6, 14: 12}
_ROUTED = 12

# Programs of either form that stand with the same tables.
PAIRS = (
    (Router("ub_npu", has_host=True), Router("ub_npu_cna24", has_host=True)),
    (
        Router("ub_switch", has_host=False, last_port=72, into=2, out=7),
        Router("ub_switch_cna24", has_host=False, last_port=72, into=2, out=7),
    ),
)


def widened(frame: bytes) -> bytes:
    """Return a frame with the CNA24 header in place of the CNA16 header; LPH.length stays what it says.

    The bytes of a header that is cut short stay as they are: too few for either header.
    """
    if len(frame) < 18 or frame[12:14] != ETHERTYPE.to_bytes(2):
        return frame
    cfg = frame[15] & 0xF
    head = bytearray(frame[:18])
    head[15] = head[15] & 0xF0 | _CFG.get(cfg, cfg)
    at = 18 + (8 if cfg == _ROUTED else 0)
    nth = frame[at : at + 8]
    if cfg not in (6, _ROUTED) or len(nth) < 8:
        return bytes(head) + frame[18:]
    wide = b"\0\0" + nth[:2] + b"\0" + nth[2:] + b"\0"
    return bytes(head) + frame[18:at] + wide + frame[at + 8 :]


def widened_at(port: int, frame: bytes) -> bytes:
    """Return the frame of a port in the CNA24 form; at the CPU port a controller header precedes."""
    return frame[:2] + widened(frame[2:]) if port == CPU_PORT else widened(frame)
