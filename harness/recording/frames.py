# SPDX-License-Identifier: Apache-2.0
"""Record some of the frames that cross chosen links, and describe them in words."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import final

from emulation._engine import from_cna24
from emulation.testbed import RECENT_FRAMES, RecentFrame
from emulation.traffic.frames.values import CFG_CNA16, CFG_SOURCE_ROUTE, ETHERTYPE, Opcode
from emulation.traffic.frames.wire import ETHERNET_BYTES, SRH_BYTES
from harness.errors import ScenarioError
from harness.recording.records import Kind, Record, json_record
from harness.run.watch import WatchedRun
from topologies import End, Fabric
from topologies.model.circuits import circuit_link, circuit_of

__all__ = ["ALL", "FrameKeeper", "check_links", "frame_words", "receiving_end"]

ALL = "all"
"""Value of --frames for all links of the fabric."""

# Default links: all links of a fabric with at most _FEW_LINKS, else at most _STRUCK_LINKS that faults
# concern.
_FEW_LINKS = 64
_STRUCK_LINKS = 8
# A run as short as its lower bound has _LOOKS ticks; at most _FRAMES frames are kept in these ticks.
_LOOKS = 128
_FRAMES = 16384

_LPH_BYTES = 4
_NTH_BYTES = 8
_TPH_BYTES = 12
_OPCODES = {int(opcode): opcode.name.lower() for opcode in Opcode}


def check_links(fabric: Fabric, names: Sequence[str]) -> None:
    """Raise ScenarioError unless every name is `all`, a link of the fabric, or a possible circuit."""
    known = {ALL, *(link.name for link in fabric.links)}
    for name in names:
        if name not in known and circuit_of(fabric, name) is None:
            raise ScenarioError(
                f"--frames names {name}, which is no link of {fabric.name}",
                remedy=f"give a name such as {fabric.links[0].name}, or all",
            )


@final
class FrameKeeper:
    """Collects frames from the links of a running variant.

    Each look takes the newest frames of every chosen link. The budget is 16,384 frames; whenever it is used
    up, it doubles, and only every second, fourth, ... look takes frames. So the number of frames grows slowly
    with the length of a run.

    Args:
        run: The running variant.
        names: Names of links; `all` for every link. None chooses all links of a small fabric, or the links
            that faults concern. In real time None chooses no link, because each link costs a copy of
            its frames.
    """

    def __init__(self, run: WatchedRun, names: Sequence[str] | None) -> None:
        self._testbed = run.testbed
        self._fabric = run.ready.fabric
        self._all = names is not None and ALL in names
        chosen = _chosen(run) if names is None else names
        self._last = {name: -1 for name in chosen if name in run.testbed.link_names}
        self._awaited = {*chosen} - {*self._last} - {ALL}
        self._looks = self._kept = 0
        self._stride = 1
        self._limit = _FRAMES
        for name in self._last:
            self._testbed.recent(name)  # The first call lets the testbed keep the link's frames from now on.

    def look(self) -> Iterator[Record]:
        """Return records of the newest frames on each chosen link since the last look."""
        self._join()
        self._looks += 1
        if self._looks % self._stride:
            return iter(())
        most = max(1, min(RECENT_FRAMES, _FRAMES // (_LOOKS * max(1, len(self._last)))))
        records = [record for name in self._last if (record := self._look_at(name, most))]
        if self._kept > self._limit:
            self._stride, self._limit = 2 * self._stride, 2 * self._limit
        return iter(records)

    def _join(self) -> None:
        """Add chosen links as soon as the testbed has them: a circuit appears at its first use."""
        if self._all or self._awaited:
            for name in self._testbed.link_names:
                if name not in self._last and (self._all or name in self._awaited):
                    self._last[name] = -1
                    self._awaited.discard(name)

    def _look_at(self, name: str, most: int) -> Record | None:
        frames = [frame for frame in self._testbed.recent(name) if frame.number > self._last[name]][-most:]
        if not frames:
            return None
        self._last[name] = frames[-1].number
        self._kept += len(frames)
        return json_record(Kind.FRAMES, {"link": name, "frames": [self._row(name, f) for f in frames]})

    def _row(self, name: str, frame: RecentFrame) -> list[int | str]:
        ends = [receiving_end(self._fabric, name, way).node for way in (1 - frame.direction, frame.direction)]
        return [frame.number, frame.time_ps, *ends, len(frame.frame), frame_words(self._fabric, frame.frame)]


def _chosen(run: WatchedRun) -> Sequence[str]:
    """Return the links whose frames are recorded by default; see `FrameKeeper`."""
    names = run.testbed.link_names
    if not run.testbed.virtual:
        return ()
    if len(names) <= _FEW_LINKS:
        return names
    struck: dict[str, None] = {}
    for fault in run.ready.faults:
        struck |= dict.fromkeys(fault.target.links)
        struck |= dict.fromkeys(link for link, _ in fault.target.one_way)
    return [*struck][:_STRUCK_LINKS]


def receiving_end(fabric: Fabric, name: str, direction: int) -> End:
    """Return the receiving end of a direction of a link or circuit: `b` for direction 0, `a` for 1."""
    circuit = circuit_of(fabric, name)
    link = fabric.link(name) if circuit is None else circuit_link(fabric, *circuit)
    return link.a if direction else link.b


def frame_words(fabric: Fabric, frame: bytes) -> str:
    """Return source, destination, operation and PSN of a frame in words, as far as the frame has them.

    The function decodes the layout of `emulation.traffic.frames.layers` by itself: Scapy takes a hundred
    times as long, and a recording has many thousands of frames.
    """
    frame = from_cna24(frame)
    ethertype = int.from_bytes(frame[12:14], "big")
    at = ETHERNET_BYTES + _LPH_BYTES
    cfg = frame[ETHERNET_BYTES + 1] & 0xF if len(frame) >= at else 0
    if cfg == CFG_SOURCE_ROUTE:
        at += SRH_BYTES
    if ethertype != ETHERTYPE or cfg not in (CFG_CNA16, CFG_SOURCE_ROUTE) or len(frame) < at + _NTH_BYTES:
        return f"a frame of type {ethertype:#06x}"
    network, transport = frame[at : at + _NTH_BYTES], frame[at + _NTH_BYTES :]
    ends = " to ".join(_name(fabric, network[start : start + 2]) for start in (0, 2))
    if network[7] >> 3 & 1:  # The mgmt bit: a management frame has no transport header.
        return f"{ends}: notice"
    if len(transport) < _TPH_BYTES:
        return ends
    operation = _OPCODES.get(transport[0], f"opcode {transport[0]}")
    return f"{ends}: {operation}, PSN {int.from_bytes(transport[6:9], 'big')}"


def _name(fabric: Fabric, cna: bytes) -> str:
    number = int.from_bytes(cna, "big")
    return getattr(fabric.node_of(number), "name", f"{number:#06x}")
