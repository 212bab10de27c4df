# SPDX-License-Identifier: Apache-2.0
"""The part of `railyard up` for the Mininet testbed: Mininet's command line, and programs on all hosts."""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any, final

from railyard.cli.display.screen import say

if TYPE_CHECKING:
    from controller.plan.plan import Plan
    from emulation.mininet.cluster.testbed import MachinesTestbed
    from emulation.mininet.testbed import MininetTestbed
    from harness.run.boot import Booted

__all__ = ["keep_mininet", "launch_on_mininet", "serving"]


def keep_mininet(testbed: MininetTestbed, plan: Plan) -> None:
    """Keep a fabric running, with Mininet's command line if standard input is a terminal."""
    from emulation.mininet.net import command_line

    with suppress(KeyboardInterrupt), _served(testbed, plan) as thread:
        say(*_places(testbed))
        if sys.stdin.isatty():
            from harness.shell.verbs import verbs

            instead = _instead_of_ping(testbed.net)
            command_line(testbed.net, instead, verbs=verbs(testbed, thread.running.client))
        else:
            say("Ctrl-C ends it")
            thread.wait()


def launch_on_mininet(testbed: MininetTestbed, plan: Plan, words: list[str]) -> None:
    """Run the command `words` on every host, and print its output and the number of frames over links."""
    from emulation.mininet.ip.programs import Programs, variables

    with _served(testbed, plan) as thread:
        assert testbed.ip is not None
        before = testbed.carried()
        own = variables(testbed.ip.addresses)
        Programs(words, testbed.namespaces, testbed.environment(), own).follow(
            lambda node, text: say(f"{node}: {text}"), thread.check
        )
        say(*_account(testbed, before))


@final
class _Serving:
    """Serves a testbed in a thread; `check` raises the thread's error in the caller's thread."""

    def __init__(self, testbed: MininetTestbed | MachinesTestbed, running: Booted) -> None:
        self.running = running
        self._testbed = testbed
        self._stopped = threading.Event()
        self._error: BaseException | None = None
        self._thread = threading.Thread(target=self._run, name="railyard-serve")
        self._thread.start()

    def _run(self) -> None:
        try:
            self._testbed.serve(self._stopped)
        except BaseException as error:
            self._error = error

    def check(self) -> None:
        if self._error is not None:
            raise self._error

    def wait(self) -> None:
        self._thread.join()
        self.check()

    def stop(self) -> None:
        self._stopped.set()
        self._thread.join()


@contextmanager
def _served(testbed: MininetTestbed, plan: Plan) -> Iterator[_Serving]:
    """Start a testbed with tables and controllers, print its size, and serve it in a thread."""
    from emulation.control.loop import ControlLoop
    from harness.run.boot import booted

    with booted(testbed, plan) as running:
        ControlLoop(testbed, running.client, plan, mode="direct", detect_ps=0, processing_ps=0)
        say(
            f"{plan.fabric.name}: {len(plan.fabric.nodes)} switches ({testbed.switch}), "
            f"{running.entries} table entries"
        )
        if testbed.ip is not None:
            addresses = list(testbed.ip.addresses.values())
            say(f"IPv4: {addresses[0]} to {addresses[-1]} on ub0, MTU {testbed.ip.mtu}")
        with serving(testbed, running) as thread:
            yield thread


@contextmanager
def serving(testbed: MininetTestbed | MachinesTestbed, running: Booted) -> Iterator[_Serving]:
    """Serve a testbed in a thread during the context; raise the thread's error, if any, at the end."""
    thread = _Serving(testbed, running)
    try:
        yield thread
    finally:
        thread.stop()
    thread.check()


def _places(testbed: MininetTestbed) -> Iterator[str]:
    """Yield lines with the fabric's namespaces, and as an example the first host's P4Runtime address."""
    node = testbed.cabling.hosts[0]
    yield f"switches are in the namespace: {testbed.shared_namespaces['fabric']}"
    yield f"the other sides of their interfaces in: {testbed.shared_namespaces['links']}"
    yield f"host of {node} in: {testbed.namespaces[node]}"
    yield f"P4Runtime of {node}, device {testbed.device_ids[node]}: {testbed.addresses[node]}"


def _account(testbed: MininetTestbed, before: Any) -> Iterator[str]:
    """Yield lines with the packets of the hosts, and the frames over links since `before`."""
    assert testbed.ip is not None
    counters = testbed.ip.counters().values()
    sent, received = (sum(getattr(port, name) for port in counters) for name in ("sent", "received"))
    yield f"IPv4 packets: {sent} sent by hosts, {received} received"
    crossed = {
        link: sum(now) - sum(before[link]) for link, now in testbed.carried().items() if now != before[link]
    }
    links = len(testbed.fabric.links)
    yield f"UB frames: {sum(crossed.values())} over {len(crossed)} of {links} links"
    for link, frames in sorted(crossed.items(), key=lambda item: -item[1])[:3]:
        yield f"  {link}: {frames}"


def _instead_of_ping(net: Any) -> str:
    """Return the text printed in place of `ping` and similar commands on hosts without an IP address."""
    first, last = net.hosts[0].name, net.hosts[-1].name
    return "\n".join(
        [
            "Links carry UB frames and hosts have no IP address, so nothing answers a ping.",
            "A UB frame from every host to every other:",
            "  pingall",
            f"A frame of your own, followed through the switches: path {first} {last}, or",
            f"  craft {first} {last} --payload-bytes 64",
            "IPv4 for your programs: start `railyard up` with --ip.",
        ]
    )
