# SPDX-License-Identifier: Apache-2.0
"""Process that carries IPv4 packets between TAP devices and the links of hosts.

Run as a module with the names of two files. The job is JSON with `ports` (for each host: CNA, descriptor of
the TAP device, descriptor of the raw socket), `hosts` (CNAs of all hosts) and `mtu`. The file of counters has
a COUNTERS record for each port, which the process keeps up to date.
"""

import json
import mmap
import os
import select
import signal
import socket
import struct
import sys
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from pathlib import Path

from emulation.traffic.frames.ip import IpPort

__all__ = ["COUNTERS", "main"]

COUNTERS = struct.Struct("=5q")
"""Record of a port in the file of counters: the fields of `IpCounters`, in their order."""

_MAX_READ = 1 << 16
# Frames that a port may carry before the next port has its turn.
_TURN = 32


def main() -> None:
    """Carry packets until SIGTERM."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C goes to the testbed, which stops this process
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    job = json.loads(Path(sys.argv[1]).read_text())
    poll = select.epoll()
    ready: dict[int, Callable[[], None]] = {}
    with Path(sys.argv[2]).open("r+b") as file, mmap.mmap(file.fileno(), 0) as tally:
        for position, (cna, tap, handle) in enumerate(job["ports"]):
            port = IpPort(cna, job["hosts"], job["mtu"])
            link = socket.socket(fileno=handle)
            count = partial(_count, tally, position * COUNTERS.size, port)
            ready[tap] = partial(_from_program, port, tap, link, count)
            ready[handle] = partial(_from_fabric, port, tap, link, count)
            poll.register(tap, select.EPOLLIN)
            poll.register(handle, select.EPOLLIN)
        while True:
            for handle, _ in poll.poll():
                ready[handle]()


def _from_program(port: IpPort, tap: int, link: socket.socket, count: Callable[[], None]) -> None:
    with suppress(BlockingIOError):
        for _ in range(_TURN):
            frame, answer = port.from_program(os.read(tap, _MAX_READ))
            # A link that is down or full loses the frame; the program's TCP sends it again.
            with suppress(OSError):
                if frame is not None:
                    link.send(frame)
                elif answer is not None:
                    os.write(tap, answer)
    count()


def _from_fabric(port: IpPort, tap: int, link: socket.socket, count: Callable[[], None]) -> None:
    with suppress(OSError):  # nothing more to read; or the link went down, which the socket reports once
        for _ in range(_TURN):
            frame = port.from_fabric(link.recv(_MAX_READ))
            if frame is not None:
                with suppress(OSError):  # the interface was taken down, or has no room
                    os.write(tap, frame)
    count()


def _count(tally: mmap.mmap, at: int, port: IpPort) -> None:
    counted = port.counters
    COUNTERS.pack_into(
        tally, at, counted.sent, counted.received, counted.answered, counted.refused, counted.malformed
    )


if __name__ == "__main__":
    main()
