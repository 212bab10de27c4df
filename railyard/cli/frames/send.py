# SPDX-License-Identifier: Apache-2.0
"""railyard send: send frames of a capture file into a running fabric, and print frames that reach hosts."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from railyard.cli.display.screen import say
from railyard.cli.options import refuse

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from harness.frames.exchange import Arrival, Departure

__all__ = ["EXAMPLES", "print_arrivals", "send"]

EXAMPLES = """
railyard send frames.pcap --from h1
railyard send frames.pcap --from h1 --watch h2 --watch h3 --out arrived.pcapng
All frames that reach any host, until Ctrl-C:
railyard send
"""

ADDRESS = "127.0.0.1:9559"


def send(
    file: Annotated[
        Path | None, typer.Argument(help=".pcap or .pcapng file with the frames; without it none is sent")
    ] = None,
    host: Annotated[str, typer.Option("--from", metavar="HOST", help="host that sends the frames")] = "",
    grpc: Annotated[
        str, typer.Option(metavar="HOST:PORT", help="address that `railyard up` prints")
    ] = ADDRESS,
    watch: Annotated[
        list[str] | None,
        typer.Option(
            metavar="HOST",
            help="print frames that reach this host; may be repeated; unless given, any host",
        ),
    ] = None,
    file_out: Annotated[
        Path | None,
        typer.Option("--out", help="capture file for the frames that reach hosts, .pcap or .pcapng"),
    ] = None,
    seconds: Annotated[
        float, typer.Option(min=0.1, help="longest time in seconds to wait for frames in the fabric")
    ] = 30.0,
) -> None:
    """Send frames into a fabric that `railyard up` keeps running, and print the frames that reach hosts.

    Without a file, frames that reach hosts are printed until Ctrl-C.

    Exit code 0: a frame reached a host; 1: no frame did.
    """
    from harness.frames.exchange import exchange, listen

    if file is None:
        if host:
            refuse("--from", "there is no file with frames to send; give FILE, or leave --from out")
        arrivals = listen(grpc, watch or ())
    else:
        if not host:
            refuse("--from", "the sending host is missing; give the name of a host")
        departures = _departures(file, host)
        arrivals = exchange(grpc, departures, watch or (), seconds=seconds)
    if not print_arrivals(arrivals, file_out):
        say("no frame left the fabric")
        raise typer.Exit(1)


def print_arrivals(arrivals: Iterable[Arrival], file: Path | None) -> int:
    """Print frames when they reach hosts, write them to `file` if it is given, and return their number."""
    import scapy.layers.inet  # noqa: F401  (registers IP, for the summaries of frames)

    from emulation.traffic.frames.layers import Ether
    from harness.frames.capture import Record, write_capture

    records = []
    try:
        for arrival in arrivals:
            summary = Ether(arrival.frame).summary()
            line = f"{arrival.time_ps / 10**6:.3f} us  {arrival.host}  {len(arrival.frame)} bytes  {summary}"
            say(line)
            records.append(
                Record(arrival.time_ps // 1000, arrival.host, f"host {arrival.host}", arrival.frame)
            )
    finally:
        if file is not None:
            write_capture(file, records)
            say(f"written: {file}")
    return len(records)


def _departures(file: Path, host: str) -> list[Departure]:
    """Return the frames of a capture file, all sent by `host`; raise a usage error if it is unreadable."""
    from harness.frames.exchange import Departure, vl_of

    return [Departure(host, frame, vl_of(frame)) for frame in _frames(file)]


def _frames(file: Path) -> Iterator[bytes]:
    from scapy.error import Scapy_Exception
    from scapy.utils import RawPcapReader

    try:
        with RawPcapReader(str(file)) as reader:
            yield from (frame for frame, _ in reader)
    except OSError as ex:
        refuse("FILE", f"{file} cannot be read: {ex.strerror}; give an existing capture file")
    except Scapy_Exception as ex:
        refuse("FILE", f"{file} is not a capture file: {ex}; give a .pcap or .pcapng file")
