# SPDX-License-Identifier: Apache-2.0
"""Runs the node controllers: port changes and management frames in, table writes and notices out.

All of it goes over P4Runtime and in band, at the virtual times that detection and processing take.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import final

from scapy.layers.l2 import Ether
from scapy.packet import Packet

from controller import Mode, NodeController, Notice, Outgoing, Plan, Reaction
from controller.p4runtime import P4RuntimeClient
from emulation.embedded import EmbeddedTestbed
from emulation.traffic.frames import LPH, NTH, LinkNotice, mac

__all__ = ["ControlLoop", "ControlSeen", "notice_frame", "read_notice"]


@final
@dataclass(frozen=True, slots=True)
class ControlSeen:
    """What the node controllers did; `nodes_told` acted on a notice. Times in ps, None: never."""

    notices_sent: int
    nodes_told: int
    entries_rewritten: int
    converged_ps: int | None


def notice_frame(notice: Notice, source_cna: int, destination_cna: int) -> bytes:
    """The management frame that carries a notice in band."""
    return bytes(
        Ether(src=mac(source_cna), dst=mac(destination_cna))
        / LPH()
        / NTH(scna=source_cna, dcna=destination_cna, mgmt=1)
        / LinkNotice(
            state=int(notice.up),
            sequence=notice.sequence,
            cna_a=notice.cna_a,
            port_a=notice.port_a,
            cna_b=notice.cna_b,
            port_b=notice.port_b,
            origin=notice.origin,
        )
    )


def read_notice(frame: bytes) -> Notice | None:
    """The notice in a management frame; None when it carries none."""
    layer: Packet | None = Ether(frame).getlayer(LinkNotice)
    if layer is None or layer.version != 1 or layer.state > 1:
        return None
    return Notice(
        cna_a=layer.cna_a,
        port_a=layer.port_a,
        cna_b=layer.cna_b,
        port_b=layer.port_b,
        up=layer.state == 1,
        sequence=layer.sequence,
        origin=layer.origin,
    )


@final
class ControlLoop:
    """Drives one `NodeController` a node of the plan on a testbed in virtual time.

    A dead port is noticed `detect_ps` after the fact; a reaction takes effect `processing_ps` after it.
    """

    def __init__(
        self,
        testbed: EmbeddedTestbed,
        client: P4RuntimeClient,
        plan: Plan,
        *,
        mode: Mode,
        detect_ps: int,
        processing_ps: int,
    ) -> None:
        self._testbed = testbed
        self._client = client
        self._detect_ps = detect_ps
        self._processing_ps = processing_ps
        self._controllers: Mapping[str, NodeController] = {
            node.name: NodeController(plan, node.name, mode) for node in plan.fabric.nodes
        }
        self._cna = {node.name: node.address for node in plan.fabric.nodes}
        self._told: set[str] = set()
        self._notices = 0
        self._rewritten = 0
        self._converged: int | None = None
        testbed.on_port = self._on_port
        testbed.on_packet_in = self._on_packet_in

    @property
    def seen(self) -> ControlSeen:
        """What was done up to now."""
        return ControlSeen(self._notices, len(self._told), self._rewritten, self._converged)

    def _on_port(self, node: str, port: int, up: bool) -> None:
        def detected() -> None:
            self._later(node, self._controllers[node].on_port(port, up))

        self._testbed.at(self._testbed.now_ps + self._detect_ps, detected)

    def _on_packet_in(self, node: str) -> None:
        packet = self._client.packet_in(node)
        notice = read_notice(packet.payload)
        if notice is None:
            return
        reaction = self._controllers[node].on_notice(notice, packet.metadata["ingress_port"])
        if reaction.updates or reaction.notices:
            self._told.add(node)
        self._later(node, reaction)

    def _later(self, node: str, reaction: Reaction) -> None:
        if reaction.updates or reaction.notices:
            at = self._testbed.now_ps + self._processing_ps
            self._testbed.at(at, lambda: self._apply(node, reaction))

    def _apply(self, node: str, reaction: Reaction) -> None:
        if reaction.updates:
            self._client.write(node, reaction.updates)
            self._rewritten += len(reaction.updates)
            self._converged = self._testbed.now_ps
        self._send(node, reaction.notices)

    def _send(self, node: str, outgoing: Iterable[Outgoing]) -> None:
        sent = 0
        for one in outgoing:
            frame = notice_frame(one.notice, self._cna[node], one.destination_cna)
            routed = one.egress_port is None
            self._client.packet_out(node, frame, egress_port=one.egress_port or 0, routed=int(routed))
            sent += 1
        if sent:
            # The server has handed them to the switch before virtual time goes on.
            self._client.barrier(node)
            self._notices += sent
