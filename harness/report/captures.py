# SPDX-License-Identifier: Apache-2.0
"""Read the capture files of a run: frames by kind over time, and identities of data frames."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final, final

from emulation._engine import from_cna24
from emulation.traffic.frames.values import CFG_SOURCE_ROUTE, ETHERTYPE, Opcode
from emulation.traffic.frames.wire import ETHERNET_BYTES, SRH_BYTES
from harness.errors import OutputError

__all__ = ["KINDS", "Capture", "compare_captures", "read_capture"]

KINDS: Final = ("data", "acknowledgements", "management", "other")

_LPH_BYTES, _NTH_BYTES = 4, 8
_MANAGEMENT_BIT = 0x08
_KIND_OF = {
    Opcode.DATA: "data",
    Opcode.ACK: "acknowledgements",
    Opcode.NACK: "acknowledgements",
    Opcode.CREDIT: "acknowledgements",
}


@final
@dataclass(frozen=True, slots=True)
class Capture:
    """Frames of a link in both directions.

    Attributes:
        times_us: By kind of frame, the time of each frame since the first frame of the capture.
        data: Identities of the data frames: addresses, queues and PSN; a retransmission has the same
            identity.
    """

    times_us: Mapping[str, tuple[float, ...]]
    data: frozenset[bytes]


def read_capture(path: Path) -> Capture:
    """Read a pcap file written by a testbed.

    Raises:
        OutputError: The file is unreadable or no capture file.
    """
    from scapy.error import Scapy_Exception
    from scapy.utils import RawPcapReader

    times: dict[str, list[float]] = {kind: [] for kind in KINDS}
    data: set[bytes] = set()
    first_us: float | None = None
    try:
        with RawPcapReader(str(path)) as reader:
            for frame, meta in reader:
                at_us = meta.sec * 1e6 + meta.usec / (1000 if reader.nano else 1)
                first_us = at_us if first_us is None else first_us
                kind, identity = _kind_of(frame)
                times[kind].append(round(at_us - first_us, 3))
                if identity:
                    data.add(identity)
    except (OSError, EOFError, Scapy_Exception) as ex:
        raise OutputError(
            f"{path} cannot be read as a capture file: {ex}", remedy="record the run again with --pcap"
        ) from None
    return Capture({kind: tuple(own) for kind, own in times.items()}, frozenset(data))


def _kind_of(frame: bytes) -> tuple[str, bytes]:
    """Return the kind of a frame (one of KINDS), and the identity of a data frame or b""."""
    frame = from_cna24(frame)
    network = ETHERNET_BYTES + _LPH_BYTES
    if int.from_bytes(frame[12:ETHERNET_BYTES]) != ETHERTYPE or len(frame) < network:
        return "other", b""
    if frame[ETHERNET_BYTES + 1] & 0xF == CFG_SOURCE_ROUTE:
        network += SRH_BYTES
    transport = network + _NTH_BYTES
    if len(frame) < transport + 9:
        return "other", b""
    if frame[transport - 1] & _MANAGEMENT_BIT:
        return "management", b""
    kind = _KIND_OF.get(Opcode(frame[transport])) if frame[transport] in set(Opcode) else None
    if kind != "data":
        return kind or "other", b""
    return kind, frame[network : network + 4] + frame[transport + 2 : transport + 9]


def compare_captures(before: Mapping[str, Capture], after: Mapping[str, Capture]) -> list[str]:
    """Return the differences between the data frames of two runs' captures of equal names, in words."""
    words = []
    for name in sorted({*before, *after}):
        if name not in before or name not in after:
            words.append(f"{name}: captured only {'in the bundle' if name in before else 'now'}")
            continue
        old, new = before[name].data, after[name].data
        if old != new:
            same = f"{len(old & new)} of them the same"
            words.append(f"{name}: {len(old)} data frames in the bundle, {len(new)} now, {same}")
    return words
