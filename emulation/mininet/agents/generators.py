# SPDX-License-Identifier: Apache-2.0
"""Host processes of a run: a parent process loads all modules and forks a process for each host.

Run as a module, with a socket to the testbed as its only argument. Messages, in their order:

    testbed -> parent    a Job; ("go", start_ns); any number of ("begin", number, start_ns, {node: make}),
                         which replaces the agents of these nodes, ("reroute", node, {cna: buckets}) and
                         ("level", node, service level); ("stop",)
    parent -> testbed    ("ready",); at any time, with the number of the order that began the agent,
                         ("iteration", node, number, IterationReport) and
                         ("ended", node, number, finished_ps, failure), and ("silent", node, cna, buckets)
                         and ("failed", node, why); after a stop ("reports", {node: Report})

Every process ends when the testbed's end of the socket is closed, for any reason.
"""

import ctypes
import mmap
import os
import signal
import sys
import traceback
from collections.abc import Mapping
from functools import partial
from multiprocessing.connection import Connection, wait
from typing import Any, final

from emulation.mininet.agents.driver import Clock, HostDriver, open_socket
from emulation.mininet.agents.messages import HostAgent, Idle, Job, Make, Place, Report
from emulation.mininet.agents.tallies import Tallies

# `messages` loads the modules of all hosts once, before the fork.
from emulation.mininet.linux import netns
from emulation.traffic.host.make import Participant, RepeatingParticipant
from emulation.traffic.host.stats import NOTHING
from emulation.traffic.memory.agent import MemoryAgent

__all__ = ["main"]

_PR_SET_PDEATHSIG = 1


class _Ended(Exception):
    """The testbed has closed its end of the socket."""


def main() -> None:
    """Serve the testbed on the socket named by the first argument."""
    testbed = Connection(int(sys.argv[1]))
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C goes to the testbed, which stops this process
    try:
        _serve(testbed)
    except (_Ended, EOFError, ConnectionResetError, BrokenPipeError):
        return
    except OSError as error:
        if error.errno is not None:
            raise
        # The testbed ended in the middle of a message.


def _serve(testbed: Connection) -> None:
    job: Job = testbed.recv()
    go_read, go_write = os.pipe()
    stop_read, stop_write = os.pipe()
    children: dict[Connection, str] = {}
    orders: dict[str, Connection] = {}
    for index, place in enumerate(job.places):
        here, there = os.pipe()
        order, give = os.pipe()
        if os.fork() == 0:
            ours = (testbed, *children, *orders.values())
            for fd in (here, give, go_write, stop_write, *(connection.fileno() for connection in ours)):
                os.close(fd)
            seat = _Seat(
                job, index, place, Connection(there, readable=False), Connection(order, writable=False)
            )
            _child(seat, go_read, stop_read)
        os.close(there)
        os.close(order)
        children[Connection(here, writable=False)] = place.node
        orders[place.node] = Connection(give, readable=False)
    _gather(children, testbed)
    testbed.send(("ready",))
    _, start_ns = _command(testbed, children)
    os.write(go_write, start_ns.to_bytes(8, "little") * len(children))
    _heed(testbed, children, orders)
    os.close(stop_write)
    testbed.send(("reports", _gather(children, testbed, "report")))


def _heed(testbed: Connection, children: Mapping[Connection, str], orders: Mapping[str, Connection]) -> None:
    """Pass on orders to the hosts and messages of the hosts, until a stop."""
    while True:
        for ready in wait([testbed, *children]):
            if ready is testbed:
                match testbed.recv():
                    case ("begin", number, start_ns, makes):
                        for node, make in makes.items():
                            orders[node].send(("begin", number, start_ns, make))
                    case ("reroute" | "level" as order, node, what):
                        orders[node].send((order, what))
                    case _:
                        return
                continue
            assert isinstance(ready, Connection)
            node = children[ready]
            kind, what = _message(ready, node, testbed)
            testbed.send((kind, node, *what))


def _command(testbed: Connection, children: Mapping[Connection, str]) -> tuple[Any, ...]:
    """Return the testbed's next message; a child that ends before it has failed."""
    for ready in wait([testbed, *children]):
        if isinstance(ready, Connection) and ready is not testbed:
            _message(ready, children[ready], testbed)
    return testbed.recv()


def _gather(children: Mapping[Connection, str], testbed: Connection, kind: str = "ready") -> dict[str, Any]:
    """Return a message of a kind from every child; raise if a child has failed or the testbed has ended."""
    answers: dict[str, Any] = {}
    missing = dict(children)
    while missing:
        for ready in wait([*missing, testbed]):
            if ready is testbed:
                _ = testbed.recv()  # an early stop
                raise _Ended
            assert isinstance(ready, Connection)
            received, content = _message(ready, missing[ready], testbed)
            if received == kind:  # other messages crossed the order
                answers[missing.pop(ready)] = content
    return answers


def _message(child: Connection, node: str, testbed: Connection) -> tuple[str, Any]:
    """Return a child's message; report a failure to the testbed and end."""
    try:
        kind, what = child.recv()
    except EOFError:
        kind, what = "failed", "its process has ended by itself; see `dmesg` for a lack of memory"
    if kind == "failed":
        testbed.send(("failed", node, what))
        raise _Ended
    return kind, what


def _child(seat: "_Seat", go: int, stop: int) -> None:
    code = 1
    try:
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
        seat.run(go, stop)
        code = 0
    except BaseException:
        seat.parent.send(("failed", traceback.format_exc()))
    finally:
        os._exit(code)


@final
class _Seat:
    """The process of a place and its hosts, one after the other."""

    def __init__(self, job: Job, index: int, place: Place, parent: Connection, orders: Connection) -> None:
        self._job, self._index, self._place = job, index, place
        self.parent, self._orders = parent, orders
        self._before = NOTHING
        self._number = 0

    def run(self, go: int, stop: int) -> None:
        """Run the place's hosts from the byte on `go` until `stop` is readable, and report."""
        job = self._job
        netns.enter(self._place.namespace)
        raw = open_socket(self._place.interface)
        self._host = self._make_host(self._place.make)
        memory = mmap.mmap(job.memory, Tallies.size(len(job.places)))
        tallies = Tallies(memory, len(job.places))
        tally = partial(tallies.arrived, self._index)

        def note() -> None:
            tallies.note(self._index, self._before + self._host.stats, self._host.finished_ps)

        driver = self._driver = HostDriver(
            self._host, raw, job.rate_bps, job.bin_ps, tally, note if job.watched else None
        )
        self.parent.send(("ready", None))
        start = os.read(go, 8)
        if len(start) < 8:
            return
        before = os.times()
        clock = Clock(int.from_bytes(start, "little"), job.dilation)
        driver.run(clock, stop, self._finished, self._orders, self._obey)
        after = os.times()
        self.parent.send(("report", self._report(after.user + after.system - before.user - before.system)))

    def _report(self, cpu_seconds: float) -> Report:
        host = self._host
        rest: dict[str, Any] = {}
        if isinstance(host, Participant):
            array = host.result
            os.pwrite(self._job.memory, array.tobytes(), self._job.array_at(self._index))
            rest = {"times": host.times, "dtype": array.dtype.str, "nbytes": array.nbytes}
        if isinstance(host, RepeatingParticipant):
            rest["log"] = host.log
        elif isinstance(host, MemoryAgent):
            rest["agent"] = host
        return Report(
            stats=self._before + host.stats,
            finished_ps=host.finished_ps,
            failed=host.failed,
            bins=self._driver.bins,
            pace=self._driver.pace(),
            cpu_seconds=cpu_seconds,
            **rest,
        )

    def _finished(self) -> bool:
        host = self._host
        if not host.failed and (host.finished_ps is None or not host.done):
            return False
        self.parent.send(("ended", (self._number, host.finished_ps, host.failed)))
        return True

    def _make_host(self, make: Make) -> HostAgent | Idle:
        host = make()
        if isinstance(host, Participant):
            host.on_silence = lambda cna, buckets: self.parent.send(("silent", (cna, buckets)))
        if isinstance(host, RepeatingParticipant):
            number = self._number
            host.on_iteration = lambda _: self.parent.send(("iteration", (number, host.log[-1])))
        return host

    def _obey(self) -> None:
        """Begin another host at the ordered moment, or tell the host of changed routes or its level."""
        match self._orders.recv():
            case ("begin", number, start_ns, make):
                self._number = number
                self._before += self._host.stats
                self._host = self._make_host(make)
                self._driver.replace(self._host, start_ns)
            case ("reroute", routes) if isinstance(self._host, Participant):
                self._driver.tell(self._host.on_reroute, routes)
            case ("level", level) if isinstance(self._host, RepeatingParticipant):
                self._host.set_level(level)


if __name__ == "__main__":
    main()
