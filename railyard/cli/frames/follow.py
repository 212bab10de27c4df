# SPDX-License-Identifier: Apache-2.0
"""railyard follow: follow a frame of a capture file through the switches of a fabric, hop by hop."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from harness.output import writing
from railyard.cli.display.screen import out, say
from railyard.cli.frames.options import OUTPUT, Cut, Explain, HopsFile, Rules, Scheme, Strategy
from railyard.cli.options import TOPOLOGY, Dims, Parameters, fabric_of, refuse

if TYPE_CHECKING:
    from collections.abc import Sequence

    from controller.plan.plan import Plan
    from harness.frames.walk import Journey
    from topologies import End, Fabric

__all__ = ["EXAMPLES", "entry_of", "follow", "walk_and_print"]

EXAMPLES = """
The third frame of a captured link, from where npu1 receives it:
railyard follow full-mesh npu0-npu1.pcap --dims 2x4 --frame 3 --at npu1:1
The lines of P4 that each switch executed:
railyard follow full-mesh npu0-npu1.pcap --dims 2x4 --frame 3 --at npu1:1 --explain
The links that it crossed, with what each switch decided as a comment, for Wireshark:
railyard follow full-mesh npu0-npu1.pcap --dims 2x4 --frame 3 --at npu1:1 --out hops.pcapng
"""


def follow(
    topology: Annotated[str, TOPOLOGY],
    capture: Annotated[
        Path, typer.Argument(help="capture file, .pcap or .pcapng, such as `railyard run --pcap` writes")
    ],
    at: Annotated[
        str,
        typer.Option(
            metavar="NODE:PORT", help="port at which the frame enters, such as npu1:1; port 0 is the host's"
        ),
    ],
    number: Annotated[
        int, typer.Option("--frame", min=1, help="number of the frame in the file, from 1")
    ] = 1,
    dims: Dims = "",
    param: Parameters = None,
    scheme: Scheme = "",
    strategy: Strategy = "all-path",
    rules: Rules = "T2-G",
    cut: Cut = None,
    explain: Explain = False,
    json: HopsFile = "",
    target: Annotated[
        Path | None,
        typer.Option(
            "--out",
            help="capture file with a record for every link; .pcapng also has comments",
            rich_help_panel=OUTPUT,
        ),
    ] = None,
) -> None:
    """Follow a captured frame through the tables of a fabric, hop by hop.

    The switches have the planned tables, and are copies: following a frame affects no run.

    Exit code 0: the frame arrived; 1: a switch dropped it or a link lost it.
    """
    from controller.planner import make_plan
    from harness.frames.capture import read_frame, write_capture
    from harness.frames.journey_capture import journey_records

    fabric = fabric_of(topology, dims, param)
    frame = read_frame(capture, number)
    entry = entry_of(fabric, at)
    plan = make_plan(fabric, scheme=scheme, strategy=strategy, rules=rules)
    journey = walk_and_print(plan, frame, entry, cut or (), explain=explain, json=json, show=True)
    if target is not None:
        write_capture(target, journey_records(fabric, journey))
    raise typer.Exit(0 if journey.arrived else 1)


def entry_of(fabric: Fabric, text: str) -> End:
    """Return the port named by a text NODE:PORT; raise a usage error if there is no such port."""
    from topologies import End

    node, _, number = text.partition(":")
    numbers = {port.number for port in fabric.node(node).ports}
    if not number.isdecimal() or int(number) not in numbers:
        refuse("--at", f"{text!r} names no port; write {node}:PORT, with a port from 0 to {max(numbers)}")
    return End(node, int(number))


def walk_and_print(
    plan: Plan,
    frame: bytes,
    entry: End,
    cut: Sequence[str],
    *,
    explain: bool,
    json: str,
    show: bool,
) -> Journey:
    """Follow a frame through the planned tables of a fabric, print its hops, and return the journey.

    Args:
        plan: The plan, whose entries fill the tables.
        frame: The frame as bytes.
        entry: Port at which the frame enters the fabric.
        cut: Names of links that are down.
        explain: Also print changed fields and executed lines of P4 at each hop.
        json: File for the journey as JSON; `-` prints only the JSON, and an empty text writes none.
        show: Also print the headers of the frame.
    """
    from harness.frames.walk import walk
    from railyard.cli.display.frame_view import frame_view, print_journey
    from railyard.cli.display.hop_view import print_hops

    fabric = plan.fabric
    journey = walk(plan, frame, entry, frozenset(cut), traced=explain or json != "")
    if json == "-":
        _write(fabric, journey, json)
        return journey
    console = out()
    if show:
        for part in frame_view(fabric, frame):
            say(part)
    print_journey(console, fabric, journey)
    delay = f", {journey.time_ps / 1000:.2f} ns after it was sent" if journey.arrived else ""
    say(f"{journey.end}{delay}")
    if explain:
        print_hops(console, fabric, journey)
    if json:
        _write(fabric, journey, json)
        say(f"written: {json}")
    return journey


def _write(fabric: Fabric, journey: Journey, target: str) -> None:
    import json

    from harness.frames.describe import describe

    text = json.dumps(describe(fabric, journey), indent=1) + "\n"
    if target == "-":
        print(text, end="")
        return
    with writing(Path(target), "name a file in an existing folder"):
        Path(target).write_text(text, encoding="utf-8")
