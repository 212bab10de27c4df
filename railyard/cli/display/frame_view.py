# SPDX-License-Identifier: Apache-2.0
"""A frame and its hops on a terminal, with a colour for each header."""

from __future__ import annotations

from collections.abc import Iterator

from rich.console import Console
from rich.markup import escape
from rich.text import Text
from scapy.packet import Packet

from controller.plan.entry import CPU_PORT
from emulation.traffic.frames.layers import LPH, SRH, Ether
from harness.frames.anatomy import PAYLOAD, bits, parts
from harness.frames.walk import Hop, Journey
from railyard.cli.display.table import print_table
from topologies import HOST_PORT, Fabric

__all__ = ["frame_view", "print_journey"]

COLOURS = {
    "Ether": "bright_black",
    "LPH": "yellow",
    "SRH": "magenta",
    "NTH": "cyan",
    "TPH": "green",
    "SACK": "blue",
    "CLH": "blue",
    "LinkNotice": "red",
}
_PAYLOAD_BYTES = 32


def frame_view(fabric: Fabric, frame: bytes) -> Iterator[Text]:
    """Yield a frame as lines of text: name, bytes and fields of each header, then the payload."""
    yield Text(f"{len(frame)} bytes", style="bold")
    for part in parts(fabric, frame):
        own = frame[part.start : part.stop]
        if part.name == PAYLOAD:
            more = f" ... and {len(own) - _PAYLOAD_BYTES} more" if len(own) > _PAYLOAD_BYTES else ""
            yield Text.assemble((PAYLOAD, "bold"), f"  {len(own)} bytes")
            yield Text(f"    {own[:_PAYLOAD_BYTES].hex(' ')}{more}")
            continue
        colour = COLOURS.get(part.name, "default")
        yield Text.assemble((part.name, f"bold {colour}"), f"  {part.title}, {len(own)} bytes")
        yield Text(f"    {own.hex(' ')}", style=colour)
        yield Text("    " + ", ".join(f"{field.name} {field.text}" for field in part.fields))


def print_journey(console: Console, fabric: Fabric, journey: Journey) -> None:
    """Print a row for each hop: ingress port, rule that decided, egress port, virtual lane, source route."""
    rows = []
    for number, hop in enumerate(journey.hops):
        before, after = Ether(hop.frame_in), Ether(hop.frame_out) if hop.frame_out is not None else None
        packet = after or before
        lane = packet.getlayer(LPH)
        route = packet.getlayer(SRH) or before.getlayer(SRH)
        row = (
            str(number),
            hop.node,
            _port(fabric, hop.node, hop.port_in),
            hop.decided_by,
            _leaves(fabric, hop),
            str(lane.vl) if lane else "",
            _ptr(before, after),
            bits(route.bitmap) if route else "",
        )
        rows.append(tuple(map(escape, row)))
    print_table(
        console,
        ("hop", "node", "in by", "decided by", "out by", "VL", "ptr", "bitmap"),
        rows,
        numbers=("hop", "VL"),
        names=("node", "in by", "out by", "ptr", "bitmap"),
    )


def _leaves(fabric: Fabric, hop: Hop) -> str:
    return "dropped" if hop.out is None else _port(fabric, hop.node, hop.out)


def _port(fabric: Fabric, node: str, port: int) -> str:
    if port == CPU_PORT:
        return "controller"
    if port == HOST_PORT:
        return "host"
    peer = fabric.peer(node, port)
    return f"{port}, {peer.node}" if peer else str(port)


def _ptr(before: Packet, after: Packet | None) -> str:
    """Return the field ptr of the source route before and after the hop; - means no source route."""
    ingress = before.getlayer(SRH)
    egress = after.getlayer(SRH) if after is not None else None
    words = ["-" if route is None else str(route.ptr) for route in (ingress, egress)]
    if after is None:
        return words[0]
    return "" if words == ["-", "-"] else " to ".join(words)
