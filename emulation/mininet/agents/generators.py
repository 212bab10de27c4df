# SPDX-License-Identifier: Apache-2.0
"""The hosts of a run as processes: one that has loaded everything forks one for each host.

Run as a module, with a socket to the testbed as its only argument. Messages, in their order:

    testbed -> here    a Job; ("go", start_ns); ("restart", number, start_ns, {node: make}), as often as it
                       likes, numbered from 1; ("stop",)
    here -> testbed    ("ready",); ("done", number of the last restart) when every host is; after a stop
                       ("reports", {node: Report}); or, at any time, ("failed", node, why)

Every process ends when the testbed's end of the socket is closed, whatever became of the testbed.
"""

import ctypes
import mmap
import os
import signal
import sys
import traceback
from collections.abc import Mapping
from multiprocessing.connection import Connection, wait
from typing import Any, final

import numpy as np

from emulation.mininet.agents.driver import Clock, HostDriver, open_socket
from emulation.mininet.agents.messages import Job, Place, Report

# `messages` loads what a Place makes: once, before the fork.
from emulation.mininet.linux import netns
from emulation.traffic.host.stats import NOTHING

__all__ = ["main"]

_PR_SET_PDEATHSIG = 1


class _Ended(Exception):
    """The testbed has gone."""


def main() -> None:
    testbed = Connection(int(sys.argv[1]))
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is the testbed's, which then stops us
    try:
        _serve(testbed)
    except (_Ended, EOFError, ConnectionResetError, BrokenPipeError):
        return
    except OSError as error:
        if error.errno is not None:
            raise
        # The testbed went in the middle of a message.


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
            for fd in (here, give, go_write, stop_write, *(one.fileno() for one in ours)):
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
    """Pass on restarts, say when every host is done with the last of them, until the testbed says stop."""
    number = 0
    done: set[str] = set()
    while True:
        for one in wait([testbed, *children]):
            if one is testbed:
                match testbed.recv():
                    case ("restart", number, start_ns, makes):
                        done.clear()
                        for node, order in orders.items():
                            order.send((number, start_ns, makes[node]))
                    case _:
                        return
                continue
            assert isinstance(one, Connection)
            if _said(one, children[one], testbed) == ("done", number):
                done.add(children[one])
                if len(done) == len(children):
                    testbed.send(("done", number))


def _command(testbed: Connection, children: Mapping[Connection, str]) -> tuple[Any, ...]:
    """What the testbed says next; a child that ends before it does is a failure."""
    for one in wait([testbed, *children]):
        if isinstance(one, Connection) and one is not testbed:
            _said(one, children[one], testbed)
    return testbed.recv()


def _gather(children: Mapping[Connection, str], testbed: Connection, kind: str = "ready") -> dict[str, Any]:
    """A message of that kind of every child; raises when one has failed or the testbed has gone."""
    answers: dict[str, Any] = {}
    missing = dict(children)
    while missing:
        for one in wait([*missing, testbed]):
            if one is testbed:
                _ = testbed.recv()  # a stop before its time
                raise _Ended
            assert isinstance(one, Connection)
            said, what = _said(one, missing[one], testbed)
            if said == kind:  # and not what crossed our order
                answers[missing.pop(one)] = what
    return answers


def _said(child: Connection, node: str, testbed: Connection) -> tuple[str, Any]:
    """What a child has to say; that it has failed, is told and the end."""
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
    """The process of one place, and the hosts that are in it, one after the other."""

    def __init__(self, job: Job, index: int, place: Place, parent: Connection, orders: Connection) -> None:
        self._job, self._index, self._place = job, index, place
        self.parent, self._orders = parent, orders
        self._before = NOTHING
        self._number = 0

    def run(self, go: int, stop: int) -> None:
        job = self._job
        netns.enter(self._place.namespace)
        raw = open_socket(self._place.interface)
        self._host = self._place.make()
        memory = mmap.mmap(job.memory, 0)
        tallies = np.frombuffer(memory, np.int64, len(job.places))

        def tally(size: int) -> None:
            tallies[self._index] += size

        driver = self._driver = HostDriver(self._host, raw, job.rate_bps, job.bin_ps, tally)
        self.parent.send(("ready", None))
        start = os.read(go, 8)
        if len(start) < 8:
            return
        before = os.times()
        clock = Clock(int.from_bytes(start, "little"), job.dilation)
        driver.run(clock, stop, self._finished, self._orders, self._obey)
        after = os.times()
        host = self._host
        offset = 8 * len(job.places) + self._index * job.array_bytes
        result = host.result.view(np.uint8)
        np.frombuffer(memory, np.uint8, result.size, offset)[:] = result
        report = Report(
            stats=self._before + host.stats,
            finished_ps=host.finished_ps,
            failed=host.failed,
            bins=driver.bins,
            pace=driver.pace(),
            cpu_seconds=after.user + after.system - before.user - before.system,
        )
        self.parent.send(("report", report))

    def _finished(self) -> bool:
        host = self._host
        if not host.failed and (host.finished_ps is None or not host.done):
            return False
        self.parent.send(("done", self._number))
        return True

    def _obey(self) -> None:
        """A restart: another host, to begin at a moment that all have been told."""
        self._before += self._host.stats
        self._number, start_ns, make = self._orders.recv()
        self._host = make()
        self._driver.replace(self._host, start_ns)


if __name__ == "__main__":
    main()
