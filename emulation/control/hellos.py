# SPDX-License-Identifier: Apache-2.0
"""Hellos on a running testbed: a port counts as up only while the two ends of its link hear each other.

Hellos pause while no data arrive anywhere: each hello schedules the next, so virtual time would never end.
"""

from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol, final

from controller.plan.plan import Plan
from controller.recovery.hello import Hello, HelloAnswer, HelloSessions
from emulation.control.frames import hello_frame
from emulation.testbed import ControlledTestbed

__all__ = ["HelloTimes", "Hellos"]

# Hello periods without any data after which hellos pause, and number of checks for new data in a pause.
_QUIET = 100
_LOOKS = 12


@final
@dataclass(frozen=True, slots=True)
class HelloTimes:
    """Hello timers: a port sends every `period_ps` and is down after `multiplier` silent periods."""

    period_ps: int
    multiplier: int = 3


class _Runtime(Protocol):
    """Operations of the control loop used by hellos."""

    plan: Plan

    def send_frames(self, node: str, frames: Sequence[tuple[int, bytes]]) -> int:
        """Send each frame out of its port; return the number sent."""
        ...

    def port_changed(self, node: str, port: int, up: bool) -> None:
        """React to a port becoming usable or unusable."""
        ...

    def is_routed(self, node: str, port: int) -> bool:
        """Return whether routes may use a port's link."""
        ...


@final
class Hellos:
    """Drives the `HelloSessions` of every node; `sent` counts hellos."""

    def __init__(self, runtime: _Runtime, testbed: ControlledTestbed, times: HelloTimes) -> None:
        self._runtime = runtime
        self._testbed = testbed
        self._times = times
        self._sessions: dict[str, HelloSessions] = {}
        self._dark: defaultdict[str, set[int]] = defaultdict(set)  # by node, ports without carrier
        self._active: Callable[[], bool] = lambda: False
        self._delivered = 0
        self._moved_ps = 0  # when `_delivered` last grew
        self.sent = 0

    @property
    def period_ps(self) -> int:
        """Period of hellos."""
        return self._times.period_ps

    def start(self, active: Callable[[], bool]) -> None:
        """Send hellos while `active()` is true."""
        self._active = active
        self._begin()

    def use_plan(self, *, same_links: bool) -> None:
        """Continue with the runtime's new plan; sessions restart unless its links are unchanged."""
        if same_links:
            for sessions in self._sessions.values():
                sessions.readdress(self._runtime.plan.fabric)
        elif self._sessions:
            self._begin()  # neighbours have changed

    def note_carrier(self, node: str, port: int, up: bool) -> None:
        """Remember the carrier of a port for later sessions."""
        dark = self._dark[node]
        (dark.discard if up else dark.add)(port)

    def has_sessions(self, node: str) -> bool:
        """Return whether a node sends hellos now."""
        return node in self._sessions

    def on_carrier(self, node: str, port: int, up: bool) -> None:
        """Handle a change of carrier at a port of a node that has sessions."""
        self._apply(node, self._sessions[node].on_carrier(port, up))

    def on_hello(self, node: str, port: int, hello: Hello) -> None:
        """Handle a hello received at a port; ignore it while the node has no sessions."""
        if node in self._sessions:
            self._apply(node, self._sessions[node].on_hello(port, hello, self._testbed.now_ps))

    def _begin(self) -> None:
        times, fabric, now = self._times, self._runtime.plan.fabric, self._testbed.now_ps
        self._delivered, self._moved_ps = self._testbed.delivered_bytes, now
        nodes = fabric.nodes
        for node in nodes:
            # Nodes start spread over the period, so that their hellos do not all cross the fabric at once.
            start = now + times.period_ps * node.index // len(nodes)
            sessions = HelloSessions(
                fabric,
                node.name,
                period_ps=times.period_ps,
                multiplier=times.multiplier,
                start_ps=start,
            )
            for port in self._dark[node.name]:
                if fabric.link_at(node.name, port) is not None:
                    sessions.on_carrier(port, False)
            self._sessions[node.name] = sessions
            self._wake_at(start, sessions)

    def _wake_at(self, time_ps: int, sessions: HelloSessions) -> None:
        self._testbed.at(time_ps, lambda: self._wake(sessions))

    def _wake(self, sessions: HelloSessions) -> None:
        """Handle a node's hello timer: send hellos and give up silent ports."""
        if self._sessions.get(sessions.node) is not sessions:
            return
        if not self._active():
            self._sessions.clear()
        elif self._quiet():
            self._pause()
        else:
            self._apply(sessions.node, sessions.on_timer(self._testbed.now_ps))
            # Hellos that arrive before the deadline only postpone it.
            self._wake_at(sessions.deadline_ps, sessions)

    def _data_arrived(self) -> bool:
        """Return whether data have arrived since the last call."""
        before, self._delivered = self._delivered, self._testbed.delivered_bytes
        return self._delivered != before

    def _quiet(self) -> bool:
        if self._data_arrived():
            self._moved_ps = self._testbed.now_ps
        # The testbed's delivered_bytes is always 0 if it does not count arrivals: hellos then never pause.
        quiet_ps = self._testbed.now_ps - self._moved_ps
        return self._delivered > 0 and quiet_ps > _QUIET * self._times.period_ps

    def _pause(self) -> None:
        """Stop hellos until data arrive again; ports that are down only for missing hellos become usable."""
        for node, sessions in self._sessions.items():
            for port in sessions.silent_ports:
                if self._runtime.is_routed(node, port):
                    self._runtime.port_changed(node, port, True)
        self._sessions.clear()
        self._resume(_QUIET * self._times.period_ps, _LOOKS)

    def _resume(self, wait_ps: int, looks: int) -> None:
        """Check for new data up to `looks` times, doubling the wait each time.

        Further checks would keep an idle run from its end.
        """

        def look() -> None:
            if not self._active():
                return
            if self._data_arrived():
                self._begin()
            elif looks > 1:
                self._resume(2 * wait_ps, looks - 1)

        self._testbed.at(self._testbed.now_ps + wait_ps, look)

    def _apply(self, node: str, answer: HelloAnswer) -> None:
        for port, up in answer.changes:
            if self._runtime.is_routed(node, port):
                self._runtime.port_changed(node, port, up)
        frames = [(port, hello_frame(hello)) for port, hello in answer.hellos]
        self.sent += self._runtime.send_frames(node, frames)
