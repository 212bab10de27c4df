# SPDX-License-Identifier: Apache-2.0
"""Building of one frame from Scapy layers and the names of a fabric."""

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
"""Step of a route that leaves a hop to the tables."""

Kind = Literal["data", "ack", "notice"]


@final
@dataclass(frozen=True, slots=True)
class Order:
    """Description of a frame, by names of the fabric.

    Attributes:
        source: Node whose host sends the frame.
        destination: Node that receives it.
        kind: Data, acknowledgement or notice.
        route: Each hop as the name of the next node, a port number or TABLES; empty lets the source's switch
            choose a route.
        bucket: Value of lb.
        psn: Sequence number.
        payload: Data.
        link: Link of a notice.
        up: Whether the notice says that the link is up.
        changes: Fields to set last, such as "srh.ptr=12", valid or not.
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
    """Return the frame as the host of the source sends it.

    Raises:
        FrameError: A part of the description does not fit a frame.
        TopologyError: A name is not in the fabric.
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
        # Queues are numbered by the rank at their other end.
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
            f"route of {len(order.route)} hops: a source route counts {MAX_HOPS}", remedy="name fewer hops"
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
                f"route: port {port} does not fit an instruction of {INSTRUCTION_BITS} bits",
                remedy=f"name a port up to {(1 << INSTRUCTION_BITS) - 1}",
            )
        bitmap |= 1 << MAX_HOPS - 1 - number
        ports.append(port)
        neighbour = fabric.peer(node, port) if node is not None else None
        node = neighbour.node if neighbour else None
    if len(ports) > MAX_INSTRUCTIONS:
        raise FrameError(
            f"route of {len(ports)} steered hops: the header holds {MAX_INSTRUCTIONS} instructions",
            remedy=f"leave some of them to the tables with {TABLES}",
        )
    return SRH(bitmap=bitmap, instr=ports)


def _port_to(fabric: Fabric, node: str | None, name: str) -> int:
    fabric.node(name)
    if node is None:
        raise FrameError(
            f"route: {name} follows a hop whose end is not known",
            remedy="name the port instead of the node",
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
    """Set a field to a value, as "srh.ptr=12" asks."""
    target, equals, text = change.partition("=")
    name, _, field_name = target.strip().lower().partition(".")
    if not equals or not field_name:
        raise FrameError(f"{change!r} is not like srh.ptr=12", remedy="give header.field=value")
    known = {header.name.lower(): header for header in headers()}
    layer = next((layer for layer in _layers(frame) if type(layer).__name__.lower() == name), None)
    if name not in known or layer is None:
        present = ", ".join(own for layer in _layers(frame) if (own := type(layer).__name__.lower()) in known)
        hint = "; --route gives it a source route" if name == "srh" else ""
        raise FrameError(f"{change!r}: this frame has no {name}", remedy=f"it has {present}{hint}")
    field = next((field for field in known[name].fields if field.name == field_name), None)
    if field is None:
        names = ", ".join(field.name for field in known[name].fields)
        raise FrameError(f"{change!r}: no field named {field_name}", remedy=f"{name} has {names}")
    values = [_number(change, part) for part in text.split(",")]
    if len(values) > field.count or not all(0 <= value < 1 << field.width for value in values):
        amount = f"{field.count} numbers" if field.count > 1 else "a number"
        raise FrameError(f"{change!r} does not fit", remedy=f"{field_name} is {amount} of {field.width} bits")
    layer.setfieldval(field_name, values if field.count > 1 else values[0])


def _layers(frame: Packet) -> Sequence[Packet]:
    return [layer for kind in frame.layers()[1:] if (layer := frame.getlayer(kind)) is not None]


def _number(change: str, text: str) -> int:
    try:
        return int(text, 0)
    except ValueError:
        raise FrameError(
            f"{change!r}: {text!r} is not a number", remedy="give one such as 12 or 0xfe0"
        ) from None
