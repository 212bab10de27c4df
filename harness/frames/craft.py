# SPDX-License-Identifier: Apache-2.0
"""Build a single frame from Scapy layers and the names of a fabric."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, final

from scapy.packet import Packet

from controller.paths.source_route import INSTRUCTION_BITS, MAX_HOPS, MAX_INSTRUCTIONS
from emulation.errors import FrameError
from emulation.traffic.frames.dissector import headers
from emulation.traffic.frames.layers import CLH, LPH, NTH, SACK, SRH, TPH, Ether, LinkNotice
from emulation.traffic.frames.values import Opcode, mac
from topologies import Fabric

__all__ = ["TABLES", "Kind", "Order", "craft"]

TABLES = "-"
"""Step of a route without an instruction: the switch's tables choose the egress port of this hop."""

Kind = Literal["data", "ack", "notice"]


@final
@dataclass(frozen=True, slots=True)
class Order:
    """Description of a frame to build; nodes and links are given by their names in the fabric.

    Attributes:
        source: Node whose host sends the frame.
        destination: Node to which the frame is addressed.
        kind: Data, acknowledgement or notice of a link's state.
        route: Source route, each hop as the name of the next node, a port number or TABLES; without a route
            the source's switch chooses.
        bucket: Value of the field lb of the network header, whose low 4 bits are the path bucket.
        psn: Packet sequence number of data; acknowledged sequence number of an acknowledgement.
        payload: Payload of a data frame.
        link: Link that a notice reports.
        up: Whether the notice reports the link as up.
        changes: Assignments to fields at the end, such as "srh.ptr=12"; they may make the frame invalid.
    """

    source: str
    destination: str
    kind: Kind = "data"
    route: tuple[str, ...] = ()
    bucket: int = 0
    psn: int = 0
    payload: bytes = b""
    link: str = ""
    up: bool = False
    changes: tuple[str, ...] = ()


def craft(fabric: Fabric, order: Order) -> Packet:
    """Return the described frame, as the host of the source sends it.

    Raises:
        FrameError: The route or a change does not fit into the frame's fields.
        TopologyError: The fabric has no node or link of a given name.
    """
    source, destination = fabric.node(order.source), fabric.node(order.destination)
    frame = Ether(dst=mac(destination.address), src=mac(source.address)) / LPH()
    if order.route:
        frame /= _steered(fabric, order)
    frame /= NTH(
        scna=source.address,
        dcna=destination.address,
        lb=order.bucket,
        sl=int(order.kind == "ack"),
        mgmt=int(order.kind == "notice"),
    )
    if order.kind == "notice":
        frame /= _notice(fabric, order)
    else:
        # The number of a queue is the rank of its peer.
        opcode = Opcode.ACK if order.kind == "ack" else Opcode.DATA
        frame /= TPH(opcode=opcode, src_q=destination.index, dst_q=source.index)
        if order.kind == "ack":
            frame[TPH].ack_psn = order.psn
            frame /= SACK()
        else:
            frame[TPH].psn = order.psn
            frame /= CLH(length=len(order.payload)) / order.payload
    for change in order.changes:
        _change(frame, change)
    return Ether(bytes(frame))


def _steered(fabric: Fabric, order: Order) -> Packet:
    """Return the source-route header for `order.route`."""
    if len(order.route) > MAX_HOPS:
        raise FrameError(
            f"the route has {len(order.route)} hops, but a source route holds at most {MAX_HOPS}",
            remedy="name fewer hops",
        )
    node: str | None = order.source
    bitmap, ports = 0, list[int]()
    for number, step in enumerate(order.route):
        if step == TABLES:
            node = None
            continue
        port = int(step) if step.isdecimal() else _port_to(fabric, node, step)
        if port >= 1 << INSTRUCTION_BITS:
            raise FrameError(
                f"port {port} of the route does not fit into an instruction of {INSTRUCTION_BITS} bits",
                remedy=f"name a port up to {(1 << INSTRUCTION_BITS) - 1}",
            )
        bitmap |= 1 << MAX_HOPS - 1 - number
        ports.append(port)
        neighbour = fabric.peer(node, port) if node is not None else None
        node = neighbour.node if neighbour else None
    if len(ports) > MAX_INSTRUCTIONS:
        raise FrameError(
            f"the route names {len(ports)} ports, but the header holds only {MAX_INSTRUCTIONS} instructions",
            remedy=f"write {TABLES} for some hops, which leaves them to the tables",
        )
    return SRH(bitmap=bitmap, instr=ports)


def _port_to(fabric: Fabric, node: str | None, name: str) -> int:
    fabric.node(name)
    if node is None:
        raise FrameError(
            f"node {name} of the route follows a hop whose next node is unknown",
            remedy=f"give the number of the port to {name} instead",
        )
    return fabric.port_to(node, name)


def _notice(fabric: Fabric, order: Order) -> Packet:
    link = fabric.link(order.link)
    return LinkNotice(
        state=int(order.up),
        cna_a=fabric.node(link.a.node).address,
        port_a=link.a.port,
        cna_b=fabric.node(link.b.node).address,
        port_b=link.b.port,
        origin=fabric.node(order.source).address,
    )


def _change(frame: Packet, change: str) -> None:
    """Set a field of the frame, given a text such as "srh.ptr=12"."""
    target, equals, text = change.partition("=")
    name, _, field_name = target.strip().lower().partition(".")
    if not equals or not field_name:
        raise FrameError(
            f"{change!r} is no assignment to a field", remedy="give HEADER.FIELD=VALUE, such as srh.ptr=12"
        )
    known = {header.name.lower(): header for header in headers()}
    layer = next((layer for layer in _layers(frame) if type(layer).__name__.lower() == name), None)
    if name not in known or layer is None:
        present = ", ".join(own for layer in _layers(frame) if (own := type(layer).__name__.lower()) in known)
        hint = "; add a source route with --route" if name == "srh" else ""
        raise FrameError(
            f"{change!r} names the header {name}, which this frame lacks", remedy=f"use {present}{hint}"
        )
    field = next((field for field in known[name].fields if field.name == field_name), None)
    if field is None:
        names = ", ".join(field.name for field in known[name].fields)
        raise FrameError(
            f"{change!r} names the field {field_name}, which {name} lacks", remedy=f"use {names}"
        )
    values = [_number(change, part) for part in text.split(",")]
    if len(values) > field.count or not all(0 <= value < 1 << field.width for value in values):
        amount = f"up to {field.count} numbers" if field.count > 1 else "a number"
        raise FrameError(
            f"{change!r} does not fit into the field {field_name}",
            remedy=f"give {amount} of {field.width} bits",
        )
    layer.setfieldval(field_name, values if field.count > 1 else values[0])


def _layers(frame: Packet) -> Sequence[Packet]:
    return [layer for kind in frame.layers()[1:] if (layer := frame.getlayer(kind)) is not None]


def _number(change: str, text: str) -> int:
    try:
        return int(text, 0)
    except ValueError:
        raise FrameError(
            f"{text!r} in {change!r} is not a number", remedy="give a number such as 12 or 0xfe0"
        ) from None
