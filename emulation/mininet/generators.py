# SPDX-License-Identifier: Apache-2.0
"""The hosts of a run as processes: one that has loaded everything forks one for each host.

Run as a module, with a socket to the testbed as its only argument. Messages, in their order:

    testbed -> here    a Job; then ("go", start_ns); then ("stop",)
    here -> testbed    ("ready",); ("done",) when every host is; ("reports", {node: Report}); or, at any time,
                       ("failed", node, why)

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
from typing import Any

import numpy as np

# `messages` loads what a Place makes: once, before the fork.
from emulation.mininet import netns
from emulation.mininet.driver import Clock, HostDriver, open_socket
from emulation.mininet.messages import Job, Place, Report

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
    for index, place in enumerate(job.places):
        here, there = os.pipe()
        if os.fork() == 0:
            for fd in (here, go_write, stop_write, testbed.fileno(), *(c.fileno() for c in children)):
                os.close(fd)
            _child(job, index, place, Connection(there, readable=False), go_read, stop_read)
        os.close(there)
        children[Connection(here, writable=False)] = place.node
    _gather(children, testbed)
    testbed.send(("ready",))
    _, start_ns = _command(testbed, children)
    os.write(go_write, start_ns.to_bytes(8, "little") * len(children))
    _gather(children, testbed)
    testbed.send(("done",))
    _command(testbed, children)
    os.close(stop_write)
    testbed.send(("reports", _gather(children, testbed)))


def _command(testbed: Connection, children: Mapping[Connection, str]) -> tuple[Any, ...]:
    """What the testbed says next; a child that ends before it does is a failure."""
    ready = wait([testbed, *children])
    for one in ready:
        if one is not testbed:
            _gather({one: children[one]}, testbed)  # type: ignore[dict-item]
    return testbed.recv()


def _gather(children: Mapping[Connection, str], testbed: Connection) -> dict[str, Any]:
    """One message of every child; raises when one has failed or the testbed has gone or says stop."""
    answers: dict[str, Any] = {}
    missing = dict(children)
    while missing:
        for one in wait([*missing, testbed]):
            if one is testbed:
                _ = testbed.recv()  # a stop before its time
                raise _Ended
            assert isinstance(one, Connection)
            node = missing.pop(one)
            try:
                kind, said = one.recv()
            except EOFError:
                kind, said = "failed", "its process has ended by itself; see `dmesg` for a lack of memory"
            if kind == "failed":
                testbed.send(("failed", node, said))
                raise _Ended
            answers[node] = said
    return answers


def _child(job: Job, index: int, place: Place, parent: Connection, go: int, stop: int) -> None:
    code = 1
    try:
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
        _run(job, index, place, parent, go, stop)
        code = 0
    except BaseException:
        parent.send(("failed", traceback.format_exc()))
    finally:
        os._exit(code)


def _run(job: Job, index: int, place: Place, parent: Connection, go: int, stop: int) -> None:
    netns.enter(place.namespace)
    raw = open_socket(place.interface)
    host = place.make()
    memory = mmap.mmap(job.memory, 0)
    tallies = np.frombuffer(memory, np.int64, len(job.places))

    def tally(size: int) -> None:
        tallies[index] += size

    def finished() -> bool:
        if not host.failed and (host.finished_ps is None or not host.done):
            return False
        parent.send(("done", None))
        return True

    driver = HostDriver(host, raw, job.rate_bps, job.bin_ps, tally)
    parent.send(("ready", None))
    start = os.read(go, 8)
    if len(start) < 8:
        return
    before = os.times()
    driver.run(Clock(int.from_bytes(start, "little"), job.dilation), stop, finished)
    after = os.times()
    result = host.result.view(np.uint8)
    room = np.frombuffer(memory, np.uint8, job.array_bytes, 8 * len(job.places) + index * job.array_bytes)
    room[:] = result
    report = Report(
        stats=host.stats,
        finished_ps=host.finished_ps,
        failed=host.failed,
        bins=driver.bins,
        pace=driver.pace(),
        cpu_seconds=after.user + after.system - before.user - before.system,
    )
    parent.send(("report", report))


if __name__ == "__main__":
    main()
