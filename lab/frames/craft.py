# SPDX-License-Identifier: Apache-2.0
"""One frame, built by hand from the Scapy layers and the names of a fabric."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, final

from scapy.packet import Packet

from controller.routing.source_route import INSTRUCTION_BITS, MAX_HOPS, MAX_INSTRUCTIONS
from emulation.errors import FrameError
from emulation.traffic.frames.dissector import headers
from emulation.traffic.frames.layers import CLH, LPH, NTH, SACK, SRH, TPH, Ether, LinkNotice, Opcode, mac
from topologies import Fabric

__all__ = ["TABLES", "Kind", "Order", "craft"]

TABLES = "-"
"""The step of a route that leaves a hop to the tables."""

Kind = Literal["data", "ack", "notice"]


@final
@dataclass(frozen=True, slots=True)
class Order:
    """What a frame shall be; names are those of the fabric.

    `route`: who decides each hop, by the name of the next node, by port number, or `TABLES`; without a route
    the source's switch takes one of its own. `link` and `up` are what a notice says. `changes` are like
    "srh.ptr=12" and come last, whatever they make of the frame.
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
    """The frame as the source's own side sends it; FrameError or TopologyError names what cannot be."""
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
    """The source-route header that goes the way of `order.route`."""
    if len(order.route) > MAX_HOPS:
        raise FrameError(
            f"route of {len(order.route)} hops: a source route counts {MAX_HOPS}", remedy="name fewer hops"
        )
    here: str | None = order.source
    bitmap, ports = 0, list[int]()
    for number, step in enumerate(order.route):
        if step == TABLES:
            here = None
            continue
        port = int(step) if step.isdecimal() else _port_to(fabric, here, step)
        if port >= 1 << INSTRUCTION_BITS:
            raise FrameError(
                f"route: port {port} does not fit an instruction of {INSTRUCTION_BITS} bits",
                remedy=f"name a port up to {(1 << INSTRUCTION_BITS) - 1}",
            )
        bitmap |= 1 << MAX_HOPS - 1 - number
        ports.append(port)
        far = fabric.peer(here, port) if here is not None else None
        here = far.node if far else None
    if len(ports) > MAX_INSTRUCTIONS:
        raise FrameError(
            f"route of {len(ports)} steered hops: the header holds {MAX_INSTRUCTIONS} instructions",
            remedy=f"leave some of them to the tables with {TABLES}",
        )
    return SRH(bitmap=bitmap, instr=ports)


def _port_to(fabric: Fabric, here: str | None, name: str) -> int:
    fabric.node(name)
    if here is None:
        raise FrameError(
            f"route: {name} comes after a hop whose end is not known",
            remedy="name the port there, not the node",
        )
    return fabric.port_to(here, name)


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
    layer = next((one for one in _layers(frame) if type(one).__name__.lower() == name), None)
    if name not in known or layer is None:
        there = ", ".join(own for one in _layers(frame) if (own := type(one).__name__.lower()) in known)
        hint = "; --route gives it a source route" if name == "srh" else ""
        raise FrameError(f"{change!r}: this frame has no {name}", remedy=f"it has {there}{hint}")
    field = next((one for one in known[name].fields if one.name == field_name), None)
    if field is None:
        names = ", ".join(one.name for one in known[name].fields)
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
