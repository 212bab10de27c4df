# SPDX-License-Identifier: Apache-2.0
"""Follow a frame through a fabric: every switch on its way runs its P4 program with the tables of a plan.

There is no other traffic, so that no frame waits in a queue: a journey shows only the switches' decisions.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass
from typing import final

from scapy.packet import Packet

from controller.p4runtime.client import P4RuntimeClient
from controller.paths.source_route import MAX_HOPS, instruction_index
from controller.plan.entry import CPU_PORT, Entry
from controller.plan.plan import Plan
from emulation.embedded.testbed import EmbeddedTestbed
from emulation.traffic.frames.layers import NTH, SRH, Ether
from harness.frames.steps import Step, drop_reason, read_steps
from harness.run.boot import programs_of
from topologies import HOST_PORT, End, Fabric

__all__ = ["Crossing", "Hop", "Journey", "walk"]

# A source route has at most 12 hops. A frame with twice as many hops is taken to be in a loop.
_MAX_HOPS = 2 * MAX_HOPS

_PACKET_IN_BYTES = 2


@final
@dataclass(frozen=True, slots=True)
class Hop:
    """A frame's pass through a switch.

    Attributes:
        node: The switch.
        port_in: Ingress port.
        frame_in: Frame before the switch.
        decided_by: Source of the decision in words: an instruction of a source route, or the tables.
        out: Egress port; None if the frame was dropped.
        frame_out: Frame behind the switch; None if the frame was dropped.
        dropped: Reason of a drop; empty otherwise.
        steps: Steps of the P4 program; empty unless the walk is traced.
    """

    node: str
    port_in: int
    frame_in: bytes
    decided_by: str
    out: int | None
    frame_out: bytes | None
    dropped: str
    steps: tuple[Step, ...]


@final
@dataclass(frozen=True, slots=True)
class Crossing:
    """A frame on a link; `port` is the sender's port (None for a host), `time_ps` the begin of sending."""

    sender: str
    port: int | None
    receiver: str
    time_ps: int
    frame: bytes


@final
@dataclass(frozen=True, slots=True)
class Journey:
    """All hops and link crossings of a frame; `end` says in words where it ended.

    `arrived` is true if the frame reached a host or a controller; `time_ps` is the arrival of its last bit.
    """

    hops: tuple[Hop, ...]
    crossings: tuple[Crossing, ...]
    arrived: bool
    end: str
    time_ps: int


def walk(
    plan: Plan,
    frame: bytes,
    entry: End,
    cut: Set[str] = frozenset(),
    *,
    entries: Mapping[str, Sequence[Entry]] | None = None,
    traced: bool = False,
) -> Journey:
    """Follow a frame from its ingress port to its end.

    The walk boots switches of its own: tables and counters of a running fabric are not touched.

    Args:
        plan: the plan, for its fabric and its table entries.
        frame: the frame.
        entry: ingress port at which the frame arrives first.
        cut: failed links, unknown to the tables; the journey ends at a failed link.
        entries: table entries of each node, used instead of the plan's; read only for nodes on the way.
        traced: record the steps of the P4 programs in each hop.

    Raises:
        TopologyError: The fabric has no link of a name in `cut`.
    """
    with EmbeddedTestbed(plan.fabric, traced=traced) as testbed, P4RuntimeClient(testbed.address) as client:
        client.connect(testbed.device_ids)
        tables = plan.entries if entries is None else entries
        return _Walk(plan.fabric, tables, testbed, client, cut, traced).follow(frame, entry)


@final
class _Walk:
    def __init__(
        self,
        fabric: Fabric,
        entries: Mapping[str, Sequence[Entry]],
        testbed: EmbeddedTestbed,
        client: P4RuntimeClient,
        cut: Set[str],
        traced: bool,
    ) -> None:
        for name in cut:
            fabric.link(name)
        self._fabric, self._entries, self._testbed, self._client = fabric, entries, testbed, client
        self._cut, self._traced = cut, traced
        self._programs = programs_of(fabric)
        self._index = {node.name: index for index, node in enumerate(fabric.nodes)}
        self._drops: dict[str, dict[int, int]] = {}
        self._now = 0
        self._hops: list[Hop] = []
        self._crossings: list[Crossing] = []

    def follow(self, frame: bytes, entry: End) -> Journey:
        self._enter(frame, entry)
        while len(self._hops) < _MAX_HOPS:
            hop = self._hop(entry, frame)
            self._hops.append(hop)
            if hop.out is None or hop.frame_out is None:
                return self._done(False, f"{hop.node} drops it: {hop.dropped}")
            if hop.out == CPU_PORT:
                return self._done(True, f"{hop.node} gives it to its controller")
            if hop.out == HOST_PORT:
                self._cross(hop.frame_out, hop.node, hop.out, f"host of {hop.node}")
                return self._done(True, f"{hop.node} delivers it to its host")
            link, peer = self._fabric.link_at(hop.node, hop.out), self._fabric.peer(hop.node, hop.out)
            if link is None or peer is None:
                return self._done(False, f"{hop.node} sends it out of port {hop.out}, which has no link")
            if link.name in self._cut:
                return self._done(
                    False, f"link {link.name} is down, and the tables of {hop.node} still use it"
                )
            self._cross(hop.frame_out, hop.node, hop.out, f"{peer.node} port {peer.port}")
            frame, entry = hop.frame_out, peer
        return self._done(False, f"the frame is in a loop: it made {_MAX_HOPS} hops without reaching an end")

    def _hop(self, entry: End, frame: bytes) -> Hop:
        node = entry.node
        if node not in self._drops:
            self._client.push_pipeline({node: self._programs[node]})
            self._client.install({node: self._entries[node]})
            self._drops[node] = {}
        network, index = self._testbed.network, self._index[node]
        if self._traced:
            sent, executed = network.trace(index, entry.port, frame)
            steps = read_steps(executed)
        else:
            sent, steps = network.process(index, entry.port, frame), ()
        if not sent:
            why = self._reason(node)
            return Hop(node, entry.port, frame, _decision(frame, None), None, None, why, steps)
        # The built-in programs neither copy nor multicast a frame, so that there is a single egress frame.
        port, after = sent[0]
        if port == CPU_PORT:
            after = after[_PACKET_IN_BYTES:]
        return Hop(node, entry.port, frame, _decision(frame, after), port, after, "", steps)

    def _reason(self, node: str) -> str:
        counts = {
            index: packets
            for index, (packets, _) in self._client.read_counter(node, "drops").items()
            if packets
        }
        before, self._drops[node] = self._drops[node], counts
        return drop_reason(index for index, packets in counts.items() if packets != before.get(index, 0))

    def _enter(self, frame: bytes, entry: End) -> None:
        peer = self._fabric.peer(entry.node, entry.port)
        if peer is None:
            receiver = f"{entry.node} port {entry.port}"
            self._crossings.append(Crossing(entry.node, None, receiver, self._now, frame))
            self._pass(frame, self._host_rate, self._fabric.host_delay_ps)
        else:
            self._cross(frame, peer.node, peer.port, f"{entry.node} port {entry.port}")

    def _cross(self, frame: bytes, sender: str, port: int, receiver: str) -> None:
        self._crossings.append(Crossing(sender, port, receiver, self._now, frame))
        link = self._fabric.link_at(sender, port)
        if link is None:
            self._pass(frame, self._host_rate, self._fabric.host_delay_ps)
        else:
            self._pass(frame, link.rate_bps, link.delay_ps)

    @property
    def _host_rate(self) -> int:
        return self._fabric.host_lanes * self._fabric.lane_rate_bps

    def _pass(self, frame: bytes, rate_bps: int, delay_ps: int) -> None:
        self._now += len(frame) * 8 * 10**12 // rate_bps + delay_ps

    def _done(self, arrived: bool, end: str) -> Journey:
        return Journey(tuple(self._hops), tuple(self._crossings), arrived, end, self._now)


def _decision(frame: bytes, after: bytes | None) -> str:
    """Return in words what chose the egress port: the tables, or an instruction of a source route.

    The route was in the frame already, or the first switch added it according to the frame's bucket.
    """
    route = Ether(frame).getlayer(SRH)
    if route is not None:
        return _by(route)
    pushed = Ether(after).getlayer(SRH) if after is not None else None
    if pushed is None:
        return "tables"
    pushed.ptr -= 1
    bucket = Ether(frame)[NTH].lb & 0xF
    return f"bucket {bucket}, {_by(pushed)}"


def _by(route: Packet) -> str:
    if route.ptr >= MAX_HOPS:
        return f"nobody, ptr {route.ptr}"
    index = instruction_index(route.bitmap, route.ptr)
    if index is None:
        return "tables"
    return f"instr {index}" + (f": port {route.instr[index]}" if index < len(route.instr) else "")
