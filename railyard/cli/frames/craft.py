# SPDX-License-Identifier: Apache-2.0
"""railyard craft: build a frame by hand, and show, follow, write or send it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from railyard.cli.completion import nodes
from railyard.cli.display.screen import say
from railyard.cli.frames.options import OUTPUT, ROUTE, Cut, Explain, HopsFile, Rules, Scheme, Strategy
from railyard.cli.options import TOPOLOGY, Dims, Parameters, fabric_of, refuse

if TYPE_CHECKING:
    from harness.frames.craft import Order
    from harness.frames.walk import Journey
    from topologies import End, Fabric

__all__ = ["EXAMPLES", "craft"]

EXAMPLES = """
The planned route of path bucket 3:
railyard craft full-mesh --dims 4x4 --from npu5 --to npu10 --bucket 3
A detour, its last hop left to the tables, as a capture for Wireshark:
railyard craft full-mesh --dims 4x4 --from npu5 --to npu10 --route npu4,npu6,- --out hops.pcapng
A malformed header:
railyard craft full-mesh --dims 4x4 --from npu5 --to npu10 --route 3,9 --set srh.ptr=12
An acknowledgement and a management frame, which travel on lanes of their own:
railyard craft full-mesh --dims 4x4 --from npu5 --to npu10 --ack --psn 8
railyard craft full-mesh --dims 4x4 --from npu5 --to npu10 --notice npu4-npu5
The fields that each hop changed, and the lines of P4 that it executed:
railyard craft full-mesh --dims 4x4 --from npu5 --to npu10 --explain
Into a fabric that `railyard up` runs:
railyard craft full-mesh --dims 4x4 --from npu5 --to npu10 --grpc 127.0.0.1:9559
A hundred frames a second on a real interface:
railyard craft full-mesh --dims 4x4 --from npu5 --to npu10 --send eth0 --count 500 --rate 100
"""

FRAME = "Frame"


def craft(
    topology: Annotated[str, TOPOLOGY],
    source: Annotated[
        str, typer.Option("--from", metavar="NODE", help="node that sends the frame", autocompletion=nodes)
    ],
    destination: Annotated[
        str,
        typer.Option(
            "--to", metavar="NODE", help="node to which the frame is addressed", autocompletion=nodes
        ),
    ],
    dims: Dims = "",
    param: Parameters = None,
    elements: Annotated[
        str, typer.Option(help="int32 numbers in the payload, such as 1,2,3", rich_help_panel=FRAME)
    ] = "1,2,3,4",
    payload_bytes: Annotated[
        int | None,
        typer.Option(
            min=0,
            help="length of the payload, in place of --elements; its bytes count up",
            rich_help_panel=FRAME,
        ),
    ] = None,
    psn: Annotated[
        int, typer.Option(min=0, max=0xFFFFFF, help="packet sequence number", rich_help_panel=FRAME)
    ] = 0,
    ack: Annotated[
        bool,
        typer.Option(
            "--ack", help="build an acknowledgement of all frames before --psn", rich_help_panel=FRAME
        ),
    ] = False,
    notice: Annotated[
        str,
        typer.Option(
            metavar="LINK", help="build a management frame: this link is down", rich_help_panel=FRAME
        ),
    ] = "",
    up: Annotated[
        bool, typer.Option("--up", help="with --notice: say that the link is up", rich_help_panel=FRAME)
    ] = False,
    changes: Annotated[
        list[str] | None,
        typer.Option(
            "--set",
            metavar="FIELD=VALUE",
            help="set a header field, such as srh.ptr=12; may be repeated",
            rich_help_panel=FRAME,
        ),
    ] = None,
    bucket: Annotated[
        int,
        typer.Option(
            min=0,
            max=15,
            help="path bucket, which selects one of the 16 planned routes",
            rich_help_panel=ROUTE,
        ),
    ] = 0,
    route: Annotated[
        str,
        typer.Option(
            help="source route: next nodes or port numbers, as npu4,npu6,-; - leaves a hop to the tables",
            rich_help_panel=ROUTE,
        ),
    ] = "",
    at: Annotated[
        str,
        typer.Option(
            metavar="NODE:PORT",
            help="port at which the frame enters the fabric, such as npu4:1; else the sender's host port",
            rich_help_panel=ROUTE,
        ),
    ] = "",
    scheme: Scheme = "",
    strategy: Strategy = "all-path",
    rules: Rules = "T2-G",
    cut: Cut = None,
    walk: Annotated[
        bool | None,
        typer.Option(
            "--walk/--no-walk",
            help="follow the frame hop by hop, or not; followed by default without --send and --grpc",
            rich_help_panel=OUTPUT,
        ),
    ] = None,
    explain: Explain = False,
    json: HopsFile = "",
    file: Annotated[
        Path | None,
        typer.Option(
            "--out",
            help="capture file, .pcap or .pcapng, with a record for every link; .pcapng also has comments",
            rich_help_panel=OUTPUT,
        ),
    ] = None,
    interface: Annotated[
        str,
        typer.Option(
            "--send",
            metavar="INTERFACE",
            help="send the frame on this Linux interface",
            rich_help_panel=OUTPUT,
        ),
    ] = "",
    namespace: Annotated[
        str, typer.Option(help="network namespace of the interface", rich_help_panel=OUTPUT)
    ] = "",
    grpc: Annotated[
        str,
        typer.Option(
            metavar="HOST:PORT",
            help="send the frame into a fabric that `railyard up` runs at this address",
            rich_help_panel=OUTPUT,
        ),
    ] = "",
    count: Annotated[
        int, typer.Option(min=1, help="number of times to send the frame", rich_help_panel=OUTPUT)
    ] = 1,
    rate: Annotated[
        float,
        typer.Option(
            min=0,
            help="frames per second; unless given, there is no pause between frames",
            show_default=False,
            rich_help_panel=OUTPUT,
        ),
    ] = 0.0,
) -> None:
    """Build a frame by hand, show it, and follow it through the tables of a fabric, hop by hop.

    Exit code 0: the frame arrived or was sent; 1: a switch dropped it or a link lost it.
    """
    from controller.planner import make_plan
    from harness.frames.craft import Order
    from harness.frames.craft import craft as build
    from railyard.cli.frames.follow import entry_of, walk_and_print
    from topologies import HOST_PORT

    if ack and notice:
        refuse("--ack", "a frame is an acknowledgement or a notice; leave out --ack or --notice")
    fabric = fabric_of(topology, dims, param)
    if not at and source not in {end.node for end in fabric.host_ends().values() if end.port == HOST_PORT}:
        last = max(port.number for port in fabric.node(source).ports)
        refuse(
            "--from",
            f"{source} is a switch, which has no host to send from; name an endpoint, or the port at which "
            f"the frame enters {source}, as --at {source}:1, from 1 to {last}",
        )
    order = Order(
        source=source,
        destination=destination,
        kind="ack" if ack else "notice" if notice else "data",
        route=tuple(step.strip() for step in route.split(",")) if route else (),
        bucket=bucket,
        psn=psn,
        payload=_payload(elements, payload_bytes),
        link=notice,
        up=up,
        changes=tuple(changes or ()),
    )
    frame = build(fabric, order)
    entry = entry_of(fabric, at or f"{source}:0")
    if json != "-":
        _show(fabric, bytes(frame))
    journey = None
    if walk or json or explain or (walk is None and not interface and not grpc):
        plan = make_plan(fabric, scheme=scheme, strategy=strategy, rules=rules)
        journey = walk_and_print(plan, bytes(frame), entry, cut or (), explain=explain, json=json, show=False)
    if file is not None:
        _write(file, bytes(frame), order, journey, fabric)
        say(f"written: {file}")
    if interface:
        from harness.frames.send import send

        seconds = send(bytes(frame), interface, namespace=namespace, count=count, rate=rate)
        say(f"sent {count} on {interface} in {seconds:.3f} s")
    arrived = journey is None or journey.arrived
    if grpc:
        arrived = _exchange(grpc, entry, bytes(frame), count)
    raise typer.Exit(0 if arrived else 1)


def _exchange(address: str, entry: End, frame: bytes, count: int) -> bool:
    """Send a frame into a running fabric, print the frames received by hosts, and return if there are any."""
    from harness.frames.exchange import Departure, exchange, vl_of
    from railyard.cli.frames.send import print_arrivals
    from topologies import HOST_PORT

    if entry.port != HOST_PORT:
        refuse("--at", "with --grpc a frame enters at a host port; give NODE:0, or leave --at out")
    departures = [Departure(entry.node, frame, vl_of(frame))] * count
    if print_arrivals(exchange(address, departures), None):
        return True
    say("no frame left the fabric")
    return False


def _payload(elements: str, size: int | None) -> bytes:
    if size is not None:
        return bytes(index & 0xFF for index in range(size))
    try:
        return b"".join(int(number, 0).to_bytes(4, "little", signed=True) for number in elements.split(","))
    except (ValueError, OverflowError):
        refuse("--elements", f"{elements!r} cannot be read; give numbers of 32 bits, such as 1,2,3")


def _show(fabric: Fabric, frame: bytes) -> None:
    from railyard.cli.display.frame_view import frame_view

    for part in frame_view(fabric, frame):
        say(part)


def _write(file: Path, frame: bytes, order: Order, journey: Journey | None, fabric: Fabric) -> None:
    from harness.frames.capture import Record, write_capture
    from harness.frames.journey_capture import journey_records

    if journey is None:
        records = [Record(0, order.source, f"host of {order.source}", frame)]
    else:
        records = journey_records(fabric, journey)
    write_capture(file, records)
