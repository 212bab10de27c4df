# SPDX-License-Identifier: Apache-2.0
"""Host processes of a run: a parent loads all modules and forks a worker for each processor.

Run as a module, with a socket to the testbed as its only argument. Messages, in their order:

    testbed -> parent    a Job; ("go", start_ns); any number of
                         ("begin", number, start_ns, {node: Description}), which replaces agents,
                         ("order", node, HostOrder); ("stop",)
    parent -> testbed    ("ready",); then, where `number` is that of the order that began the agent,
                         any number of ("iteration", node, number, IterationReport),
                         ("ended", node, number, finished_ps, failure), ("tree lost", node, number, tree),
                         ("silent", node, cna, buckets), ("waiting", node, tree, blocks);
                         after a stop ("reports", Reports); at any time ("failed", node, why)

Every process ends when the testbed's end of the socket is closed, for any reason.
"""

import ctypes
import os
import signal
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from multiprocessing.connection import Connection, wait
from typing import Any, final

from emulation.mininet.agents.messages import Job, Reports
from emulation.mininet.agents.worker import Worker

__all__ = ["main"]

_PR_SET_PDEATHSIG, _PR_SET_NAME = 1, 15


class _Ended(Exception):
    """The testbed has closed its end of the socket."""


def main() -> None:
    """Serve the testbed on the socket whose descriptor is the first argument."""
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


@final
@dataclass(frozen=True, slots=True)
class _Child:
    """A worker, for its parent: pipes of its messages and of its orders, and the nodes of its hosts."""

    name: str
    messages: Connection
    orders: Connection
    nodes: Sequence[str]


def _serve(testbed: Connection) -> None:
    job: Job = testbed.recv()
    go_read, go_write = os.pipe()
    stop_read, stop_write = os.pipe()
    children: list[_Child] = []
    count = min(len(os.sched_getaffinity(0)), len(job.slots))
    for number in range(count):
        here, there = os.pipe()
        order, give = os.pipe()
        # Neighbours are in different workers: they rarely have much to do at the same time.
        indices = range(number, len(job.slots), count)
        if os.fork() == 0:
            ours = (testbed, *(end for child in children for end in (child.messages, child.orders)))
            for fd in (here, give, go_write, stop_write, *(connection.fileno() for connection in ours)):
                os.close(fd)
            messages, orders = Connection(there, readable=False), Connection(order, writable=False)
            _child(number, Worker(job, indices, messages, orders), go_read, stop_read)
        os.close(there)
        os.close(order)
        nodes = [job.slots[index].node for index in indices]
        name = f"host process {number + 1}"
        messages, orders = Connection(here, writable=False), Connection(give, readable=False)
        children.append(_Child(name, messages, orders, nodes))
    _gather(children, testbed)
    testbed.send(("ready",))
    _, start_ns = _command(testbed, children)
    os.write(go_write, start_ns.to_bytes(8, "little") * len(children))
    _heed(testbed, children)
    os.close(stop_write)
    answers = _gather(children, testbed, "report")
    reports = {node: report for of_worker, _, _ in answers.values() for node, report in of_worker.items()}
    seconds = {name: used for name, (_, used, _) in answers.items()}
    counts = {name: counted for name, (_, _, counted) in answers.items()}
    testbed.send(("reports", Reports(reports, seconds, counts)))


def _heed(testbed: Connection, children: Sequence[_Child]) -> None:
    """Pass orders on to the workers and messages on to the testbed, until a stop."""
    sources = {child.messages: child for child in children}
    while True:
        for ready in wait([testbed, *sources]):
            if ready is testbed:
                match testbed.recv():
                    case ("begin", number, start_ns, agents):
                        for child in children:
                            own = {node: agents[node] for node in child.nodes if node in agents}
                            if own:
                                child.orders.send(("begin", number, start_ns, own))
                    case ("order", node, _) as message:
                        next(child for child in children if node in child.nodes).orders.send(message)
                    case _:
                        return
                continue
            assert isinstance(ready, Connection)
            kind, node, what = _message(sources[ready], testbed)
            testbed.send((kind, node, *what))


def _command(testbed: Connection, children: Sequence[_Child]) -> tuple[Any, ...]:
    """Return the testbed's next message; report a failure to the testbed if a child ends earlier."""
    sources = {child.messages: child for child in children}
    for ready in wait([testbed, *sources]):
        if isinstance(ready, Connection) and ready is not testbed:
            _message(sources[ready], testbed)
    return testbed.recv()


def _gather(children: Sequence[_Child], testbed: Connection, kind: str = "ready") -> Mapping[str, Any]:
    """Return the content of a message of a kind from every child, by name of the child.

    _Ended if a child has failed, or if the testbed sends an order or ends.
    """
    answers: dict[str, Any] = {}
    missing = {child.messages: child for child in children}
    while missing:
        for ready in wait([*missing, testbed]):
            if ready is testbed:
                _ = testbed.recv()  # a stop before all children have answered
                raise _Ended
            assert isinstance(ready, Connection)
            received, _, content = _message(missing[ready], testbed)
            if received == kind:  # other messages were sent before the child read the order
                answers[missing.pop(ready).name] = content
    return answers


def _message(child: _Child, testbed: Connection) -> tuple[str, str, Any]:
    """Return a child's message (kind, node, content); if it has failed, tell the testbed and raise _Ended."""
    try:
        kind, node, what = child.messages.recv()
    except EOFError:
        kind, node = "failed", " ".join(child.nodes)
        what = "the process of these hosts has ended by itself; see `dmesg` for a lack of memory"
    if kind == "failed":
        testbed.send(("failed", node, what))
        raise _Ended
    return kind, node, what


def _child(number: int, worker: Worker, go: int, stop: int) -> None:
    code = 1
    try:
        system = ctypes.CDLL(None)
        system.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
        system.prctl(_PR_SET_NAME, b"hosts %d" % (number + 1))  # for `top`
        worker.run(go, stop)
        code = 0
    finally:
        os._exit(code)


if __name__ == "__main__":
    main()
