# SPDX-License-Identifier: Apache-2.0
"""Process running a part of a fabric on a machine: a Mininet testbed, controlled by ssh.

Run as a module by ssh. Orders arrive on standard input, answers and events leave on standard output. When the
input ends, for any reason, the part removes everything that it has made.
"""

import os
import signal
import socket
import sys
import threading
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from importlib.metadata import version
from ipaddress import IPv4Address
from multiprocessing.connection import Connection
from operator import attrgetter
from pathlib import Path
from typing import final

from pyroute2 import IPRoute
from pyroute2.netlink.exceptions import NetlinkError

from emulation.errors import MachineError
from emulation.linux import kernel
from emulation.mininet.cluster.orders import BEGIN, Answer, Built, Event, Hello, Needs, Order, PartPlan
from emulation.mininet.cluster.part_hosts import PartHosts
from emulation.mininet.ip.programs import Programs
from emulation.mininet.links.connections import LocalConnections
from emulation.mininet.machine import need_machine
from emulation.mininet.testbed import MininetTestbed
from topologies import Link, RailyardError

__all__ = ["main"]

_IP_MTU_DISCOVER, _IP_PMTUDISC_DO = 10, 2
_UDP_HEADERS = 28


@final
class _Part(PartHosts):
    """The part of a testbed on this machine.

    An order names a method of the part, or of one of its attributes `bed`, `connections` and `population`.
    The value that the method returns is the value of the answer.
    """

    def __init__(self, answers: Connection) -> None:
        self._answers = answers
        self._lock = threading.Lock()
        self._programs: Programs | None = None
        self._testbed: MininetTestbed | None = None
        self._probe: socket.socket | None = None
        self.stopped = threading.Event()

    def hello(self, others: Sequence[IPv4Address], needs: Needs) -> Hello:
        """Check this machine for `needs`, and describe it; `others` are addresses of the other machines."""
        need_machine(delays=needs.delays, captures=needs.captures, lanes=needs.lanes)
        kernel.need(kernel.VXLAN)
        return Hello(
            version("railyard"),
            socket.gethostname(),
            {other: _mtu_to(other) for other in others},
            Path("/proc/sys/kernel/random/boot_id").read_text().strip(),
            len(os.sched_getaffinity(0)),
        )

    def clocks(self) -> tuple[int, int]:
        """Return the monotonic clock and the wall clock, in nanoseconds."""
        return time.monotonic_ns(), time.time_ns()

    def open_probe(self, address: IPv4Address) -> int:
        """Open a socket for probes from other machines at `address`, and return its UDP port."""
        self._probe = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        try:
            self._probe.bind((str(address), 0))
        except OSError as ex:
            raise MachineError(
                f"this machine has no address {address}: {ex.strerror}",
                remedy="correct the address in the machine file",
            ) from None
        self._probe.setsockopt(socket.IPPROTO_IP, _IP_MTU_DISCOVER, _IP_PMTUDISC_DO)
        self._probe.setblocking(False)
        return self._probe.getsockname()[1]

    def send_probe(self, address: IPv4Address, port: int, packet_bytes: int) -> None:
        """Send a probe to `address`: an IP packet of `packet_bytes` that no router may fragment."""
        assert self._probe is not None
        try:
            self._probe.sendto(bytes(packet_bytes - _UDP_HEADERS), (str(address), port))
        except OSError as ex:
            raise MachineError(
                f"a packet of {packet_bytes} bytes cannot be sent to {address}: {ex.strerror}",
                remedy="raise the MTU of the interfaces and switches between the machines",
            ) from None

    def heard(self) -> set[str]:
        """Return the sender addresses of probes received since the last call."""
        assert self._probe is not None
        senders: set[str] = set()
        with suppress(BlockingIOError):
            while True:
                senders.add(self._probe.recvfrom(1)[1][0])
        return senders

    def build(self, plan: PartPlan) -> Built:
        """Build and start the testbed of this part; main() then serves it."""
        if self._probe is not None:
            self._probe.close()
        testbed = self._testbed = MininetTestbed(
            plan.fabric,
            switch=plan.switch,
            dilation=plan.dilation,
            mtu=plan.mtu,
            ip=plan.ip_others is not None,
            ip_others=plan.ip_others or (),
            tunnels=plan.tunnels,
            lanes=plan.lanes,
            frame_bytes=plan.frame_bytes,
        )
        testbed.on_port = lambda *told: self.tell(Event("port", told))
        testbed.start()
        sockets = {node: address.removeprefix("unix:") for node, address in testbed.addresses.items()}
        return Built(testbed.run_id, sockets, dict(testbed.namespaces), testbed.seconds)

    def record(self, link: Link, name: str) -> None:
        """Write the frames of a link to the file `name` in the folder of this part's run."""
        self.bed.capture(link, self.bed.folder / name)

    def capture(self, name: str, offset: int, size: int) -> bytes:
        """Return up to `size` bytes of a capture's file from `offset` on; empty at its end."""
        with (self.bed.folder / name).open("rb") as file:
            file.seek(offset)
            return file.read(size)

    def launch(self, words: Sequence[str], own: Mapping[str, Mapping[str, str]]) -> None:
        """Run a command on every host; events report its lines, and its end with an error or None."""
        bed = self.bed
        self._programs = Programs(words, bed.namespaces, bed.environment(), own)
        threading.Thread(target=self._follow, args=(self._programs,), daemon=True).start()

    def _follow(self, programs: Programs) -> None:
        error = None
        try:
            programs.follow(lambda node, text: self.tell(Event("line", (node, text))))
        except RailyardError as problem:
            error = problem.message
        self.tell(Event("launched", (error,)))

    def end_programs(self) -> None:
        """End all running programs."""
        if self._programs is not None:
            self._programs.end()

    def tell(self, message: Answer | Event) -> None:
        """Send an answer or an event; any thread may call it."""
        with self._lock:
            self._answers.send(message)

    def stop(self) -> None:
        """Remove everything made by the part, and have main() return."""
        self.stopped.set()
        self.close()

    @property
    def bed(self) -> MininetTestbed:
        """The testbed, once it is built."""
        assert self._testbed is not None
        return self._testbed

    @property
    def connections(self) -> LocalConnections:
        """Connections of this part's links."""
        return self.bed.connections

    @property
    def built(self) -> bool:
        """True once the testbed is built, until `close`."""
        return self._testbed is not None

    def close(self) -> None:
        """Stop the testbed if it runs."""
        testbed, self._testbed = self._testbed, None
        if testbed is not None:
            testbed.stop()


def _mtu_to(address: IPv4Address) -> tuple[str, int] | None:
    """Return the interface and the MTU of the route to an address; None without a route."""
    with IPRoute() as route:
        try:
            (answer,) = route.route("get", dst=str(address))
        except NetlinkError:
            return None
        (link,) = route.get_links(answer.get_attr("RTA_OIF"))
        metrics = answer.get_attr("RTA_METRICS")
        own = metrics.get_attr("RTAX_MTU") if metrics is not None else None
        return link.get_attr("IFLA_IFNAME"), own or link.get_attr("IFLA_MTU")


def main() -> None:
    """Serve the controlling process until it stops the part or its connection ends."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    out = os.dup(1)
    os.dup2(2, 1)  # prints must not mix with answers: they go to stderr, the session's log
    os.write(out, BEGIN)
    orders, answers = Connection(os.dup(0), writable=False), Connection(out, readable=False)
    part = _Part(answers)

    def take() -> None:
        order: Order = orders.recv()
        try:
            answer = Answer(order.number, attrgetter(order.method)(part)(*order.arguments))
        except RailyardError as error:
            answer = Answer(order.number, None, error.message, error.remedy, error.of_machine)
        except OSError as error:
            what = f"{order.method}: {error.strerror or error}"
            answer = Answer(order.number, None, what, "look at this machine's `dmesg`", of_machine=True)
        part.tell(answer)

    try:
        while not part.built and not part.stopped.is_set():
            take()
        if part.built:
            part.bed.on_readable(orders.fileno(), take)
            part.bed.serve(part.stopped)
    except (EOFError, OSError):
        pass  # the controlling process has ended
    except RailyardError as error:
        with suppress(OSError):
            part.tell(Event("failed", (error.message, error.remedy)))
    finally:
        part.close()


if __name__ == "__main__":
    main()
