# SPDX-License-Identifier: Apache-2.0
"""Runs the node controllers: port changes and management frames in, table writes, notices and hellos out.

All of it goes over P4Runtime and in band, on any testbed: at the times, in the testbed's own clock, that
detection and processing take.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import final

from controller import Entry, Mode, NodeController, Notice, Outgoing, Plan, Reaction, Update, Watch
from controller.diff import applied
from controller.p4runtime.client import P4RuntimeClient
from controller.recovery.hello import Hello, HelloAnswer, HelloSessions
from controller.recovery.node_controller import Finders, latest
from emulation.control.bonding import Bonding, LacpTimes
from emulation.control.frames import hello_frame, is_slow, notice_frame, read_management, watch_frame
from emulation.control.rewiring import RewiringController, RewiringPolicy
from emulation.control.rewiring_record import RewiringRecord
from emulation.control.takeover import SparePolicy, TakeoverController, TakeoverRecord
from emulation.testbed import Testbed

__all__ = ["ControlLoop", "ControlReport", "HelloTimes"]

# Hellos rest when no data have arrived for so many periods, and look so often whether some do again.
_QUIET = 100
_LOOKS = 12


@final
@dataclass(frozen=True, slots=True)
class ControlReport:
    """What the node controllers did; `nodes_told` acted on a notice. Times in ps, None: never.

    `notices_sent` counts requests to be told, too.
    """

    notices_sent: int
    nodes_told: int
    entries_rewritten: int
    converged_ps: int | None
    hellos_sent: int = 0
    lacpdus_sent: int = 0


@final
@dataclass(frozen=True, slots=True)
class HelloTimes:
    """A port says hello every `period_ps` and is dead when `multiplier` in a row did not come."""

    period_ps: int
    multiplier: int = 3


@final
class ControlLoop:
    """Drives one `NodeController` a node of the plan on a testbed.

    A dead port is noticed `detect_ps` after the fact; a reaction takes effect `processing_ps` after it. With
    `hellos`, a port counts as up only while its two ends hear each other, from start() on. With `lacp` one
    between a NIC and a ToR does so while it is in its bundle. With `spares`, a spare NPU takes the place of
    one that is gone.
    """

    def __init__(
        self,
        testbed: Testbed,
        client: P4RuntimeClient,
        plan: Plan,
        *,
        mode: Mode,
        detect_ps: int,
        processing_ps: int,
        hellos: HelloTimes | None = None,
        spares: SparePolicy | None = None,
        rewiring: RewiringPolicy | None = None,
        lacp: LacpTimes | None = None,
    ) -> None:
        self._testbed = testbed
        self._client = client
        self._detect_ps = detect_ps
        self._processing_ps = processing_ps
        self._mode: Mode = mode
        self._go_by(plan, {})
        self._first_plan = plan
        self._updated: dict[str, list[Update]] = {}
        self._takeovers: TakeoverController | None = None
        if spares is not None:
            self._takeovers = TakeoverController(
                self, plan, spares, detect_ps=detect_ps, processing_ps=processing_ps
            )
        self._rewiring: RewiringController | None = None
        if rewiring is not None:
            self._rewiring = RewiringController(
                self, rewiring, detect_ps=detect_ps, processing_ps=processing_ps
            )
            for name, switch in testbed.circuits.items():
                switch.on_light = partial(self._on_light, self._rewiring, name)
        # Who turns optical switches.
        self._movers = [one for one in (self._takeovers, self._rewiring) if one is not None]
        self.bonding: Bonding | None = None
        if lacp is not None:
            self.bonding = Bonding(self, plan, lacp, processing_ps=processing_ps, withhold=testbed.virtual)
        self._told: set[str] = set()
        self._notices = 0
        self._rewritten = 0
        self._converged: int | None = None
        self._hello_times = hellos
        self._hellos = 0
        self._sessions: dict[str, HelloSessions] = {}
        self._active: Callable[[], bool] = lambda: False
        self._delivered = 0
        self._moved_ps = 0  # when that was last seen to grow
        # By node, the ports whose carrier is gone.
        self._dark: dict[str, set[int]] = {node.name: set() for node in plan.fabric.nodes}
        testbed.on_port = self._on_port
        testbed.on_packet_in = self._on_packet_in

    def _go_by(self, plan: Plan, sequences: Mapping[str, int]) -> None:
        self.plan = plan
        self._fabric = plan.fabric
        finders = Finders(plan)
        self._controllers: Mapping[str, NodeController] = {
            node.name: NodeController(plan, node.name, self._mode, finders, sequences)
            for node in plan.fabric.nodes
        }
        self._cna = {node.name: node.address for node in plan.fabric.nodes}

    @property
    def report(self) -> ControlReport:
        """What was done up to now."""
        return ControlReport(
            self._notices,
            len(self._told),
            self._rewritten,
            self._converged,
            self._hellos,
            self.bonding.sent if self.bonding else 0,
        )

    @property
    def down(self) -> frozenset[str]:
        """Links that one of their ends knows to be down."""
        known = {name: one.down for name, one in self._controllers.items()}
        links = self._fabric.links
        return frozenset(one.name for one in links if one.name in known[one.a.node] | known[one.b.node])

    @property
    def takeovers(self) -> tuple[TakeoverRecord, ...]:
        """What spares did."""
        return tuple(self._takeovers.done) if self._takeovers else ()

    @property
    def rewirings(self) -> tuple[RewiringRecord, ...]:
        """Changes of circuits for jobs."""
        return tuple(self._rewiring.done) if self._rewiring else ()

    @property
    def waiting(self) -> tuple[str, ...]:
        """Jobs that have come and for which there are no circuits."""
        return self._rewiring.waiting if self._rewiring else ()

    @property
    def rewiring(self) -> RewiringController:
        """Who changes circuits for jobs."""
        assert self._rewiring is not None, "there is no policy for it"
        return self._rewiring

    @property
    def now_ps(self) -> int:
        return self._testbed.now_ps

    def at(self, time_ps: int, callback: Callable[[], None]) -> None:
        self._testbed.at(time_ps, callback)

    def installed(self) -> Mapping[str, tuple[Entry, ...]]:
        """What the tables of each node hold now: what has been written, not what is about to be."""
        planned = self._first_plan.entries
        return {node: applied(entries, self._updated.get(node, ())) for node, entries in planned.items()}

    def adopt(self, plan: Plan, updates: Mapping[str, tuple[Update, ...]]) -> None:
        """Write the updates, and have the nodes' controllers go on from another plan.

        It knows all failures that any of them knows; what they were about to write or to tell is void.
        """
        self.write(updates)
        same = plan.fabric.links == self._fabric.links
        self._go_by(plan, latest(self._controllers.values()))
        if same:
            for sessions in self._sessions.values():
                sessions.readdress(plan.fabric)
        elif self._sessions and self._hello_times is not None:
            self._greet(self._hello_times)  # some have other neighbours now

    def write(self, updates: Mapping[str, Sequence[Update]]) -> None:
        """Write them now, node by node."""
        for node, some in updates.items():
            self._write(node, some)

    def learn(self, node: str, updates: Sequence[Update]) -> None:
        """Write what is no reaction to anything that happened."""
        if updates:
            self._client.write(node, updates)
            self._updated.setdefault(node, []).extend(updates)

    def out(self, node: str, frames: Sequence[tuple[int, bytes]]) -> None:
        """Send frames as they are, each by a port."""
        for port, frame in frames:
            self._client.packet_out(node, frame, egress_port=port, routed=0)
        self._handed_over(node, len(frames))

    def turn(self, circuits: Mapping[str, Mapping[int, int]]) -> int:
        """Have the testbed's optical switches make these maps; the time at which all new circuits stand."""
        turned = (self._testbed.circuits[name].apply(joined) for name, joined in circuits.items())
        return max(one.dark_until_ps for one in turned)

    def start(self, active: Callable[[], bool]) -> None:
        """Say hello from now on, if hellos are wanted at all, for as long as `active` says.

        They are the one thing here that goes on by itself: without an end to them virtual time has none. They
        rest while no data arrive anywhere.
        """
        if self.bonding is not None:
            self.bonding.start(active)
        if self._hello_times is not None:
            self._active = active
            self._greet(self._hello_times)

    def _greet(self, times: HelloTimes) -> None:
        now = self._testbed.now_ps
        self._delivered, self._moved_ps = self._testbed.delivered_bytes, now
        nodes = self._fabric.nodes
        for node in nodes:
            # Spread over the period, so that they do not all cross the fabric at one moment.
            start = now + times.period_ps * node.index // len(nodes)
            sessions = HelloSessions(
                self._fabric,
                node.name,
                period_ps=times.period_ps,
                multiplier=times.multiplier,
                start_ps=start,
            )
            for port in self._dark[node.name]:
                if self._fabric.link_at(node.name, port) is not None:
                    sessions.on_carrier(port, False)
            self._sessions[node.name] = sessions
            self._wake_at(start, times, sessions)

    def _wake_at(self, time_ps: int, times: HelloTimes, sessions: HelloSessions) -> None:
        self._testbed.at(time_ps, lambda: self._wake(times, sessions))

    def _wake(self, times: HelloTimes, sessions: HelloSessions) -> None:
        """A node's timer: hellos, and ports that are silent."""
        if self._sessions.get(sessions.node) is not sessions:
            return
        if not self._active():
            self._sessions.clear()
        elif self._quiet(times):
            self._rest(times)
        else:
            self._heed(sessions.node, sessions.on_timer(self._testbed.now_ps))
            # What comes in until then only moves the time of the next silence away.
            self._wake_at(sessions.deadline_ps, times, sessions)

    def _moved(self) -> bool:
        """Whether data have arrived since this was last asked."""
        before, self._delivered = self._delivered, self._testbed.delivered_bytes
        return self._delivered != before

    def _quiet(self, times: HelloTimes) -> bool:
        if self._moved():
            self._moved_ps = self._testbed.now_ps
        # A testbed that does not count what arrives says 0.
        return self._delivered > 0 and self._testbed.now_ps - self._moved_ps > _QUIET * times.period_ps

    def _rest(self, times: HelloTimes) -> None:
        """No more hellos until data arrive again; ports that only hellos gave up are tried again."""
        for node, sessions in self._sessions.items():
            for port in sessions.given_up:
                if self._routed(node, port):
                    self.found(node, port, True)
        self._sessions.clear()
        self._look_after(times, _QUIET * times.period_ps, _LOOKS)

    def _look_after(self, times: HelloTimes, wait_ps: int, looks: int) -> None:
        """Each look comes after twice the time, so that a run in which nothing more arrives has an end."""

        def look() -> None:
            if not self._active():
                return
            if self._moved():
                self._greet(times)
            elif looks > 1:
                self._look_after(times, 2 * wait_ps, looks - 1)

        self._testbed.at(self._testbed.now_ps + wait_ps, look)

    def _on_port(self, node: str, port: int, up: bool) -> None:
        if self._fabric.link_at(node, port) is None and not self._turns(node, port):
            return  # the way to a node's own side, or a port that the plan does not use

        def detected() -> None:
            dark = self._dark[node]
            (dark.discard if up else dark.add)(port)
            if self.bonding is not None and self.bonding.holds(node, port):
                self.bonding.on_port(node, port, up)
            elif node in self._sessions and self._routed(node, port):
                self._heed(node, self._sessions[node].on_carrier(port, up))
            else:
                self.found(node, port, up)

        self._testbed.at(self._testbed.now_ps + self._detect_ps, detected)

    def _on_light(self, rewiring: RewiringController, optical: str, port: int, lit: bool) -> None:
        """An optical switch lost the light of a port, or has it again."""
        self._testbed.at(
            self._testbed.now_ps + self._detect_ps, lambda: rewiring.on_light(optical, port, lit)
        )

    def _on_packet_in(self, node: str) -> None:
        packet = self._client.packet_in(node)
        port = packet.metadata["ingress_port"]
        if is_slow(packet.payload):
            if self.bonding is not None:
                self.bonding.on_frame(node, port, packet.payload)
            return
        heard = read_management(packet.payload)
        if isinstance(heard, Hello):
            if node in self._sessions:
                self._heed(node, self._sessions[node].on_hello(port, heard, self._testbed.now_ps))
            return
        if isinstance(heard, Watch):
            self._later(node, self._controllers[node].on_watch(heard))
        if not isinstance(heard, Notice):
            return
        reaction = self._controllers[node].on_notice(heard, port)
        if reaction:
            self._told.add(node)
        self._later(node, reaction)

    def _heed(self, node: str, answer: HelloAnswer) -> None:
        for port, up in answer.changes:
            if self._routed(node, port):
                self.found(node, port, up)
        self.out(node, [(port, hello_frame(hello)) for port, hello in answer.hellos])
        self._hellos += len(answer.hellos)

    def _turns(self, node: str, port: int) -> bool:
        return any(mover.turns(node, port) for mover in self._movers)

    def _routed(self, node: str, port: int) -> bool:
        """Whether routes may use what is at a port: not while an optical switch is at it."""
        return self._fabric.link_at(node, port) is not None and not self._turns(node, port)

    def found(self, node: str, port: int, up: bool) -> None:
        """A port was found to be up or down."""
        if self._routed(node, port):
            self._later(node, self._controllers[node].on_port(port, up))
        for mover in self._movers:
            mover.on_port(node, port, up)

    def _later(self, node: str, reaction: Reaction) -> None:
        if reaction:
            at, plan = self._testbed.now_ps + self._processing_ps, self.plan
            if self._rewiring is not None:
                at = max(at, self._rewiring.held_until(node))
            self._testbed.at(at, lambda: self._apply(node, reaction) if self.plan is plan else None)

    def _apply(self, node: str, reaction: Reaction) -> None:
        self._write(node, reaction.updates)
        self._send(node, (*reaction.notices, *reaction.watches))

    def _write(self, node: str, updates: Sequence[Update]) -> None:
        if updates:
            self.learn(node, updates)
            self._rewritten += len(updates)
            self._converged = self._testbed.now_ps

    def _send(self, node: str, outgoing: Iterable[Outgoing]) -> None:
        sent = 0
        for one in outgoing:
            steered = len(one.ports) > 1
            ends = self._cna[node], one.destination_cna
            if isinstance(one.notice, Watch):
                frame = watch_frame(one.notice, *ends, one.ports if steered else ())
            else:
                frame = notice_frame(one.notice, *ends)
            straight = len(one.ports) == 1
            port = one.ports[0] if straight else 0
            self._client.packet_out(node, frame, egress_port=port, routed=int(not straight))
            sent += 1
        self._notices += sent
        self._handed_over(node, sent)

    def _handed_over(self, node: str, frames: int) -> None:
        if frames and self._testbed.virtual:
            # The server has handed them to the switch before virtual time goes on.
            self._client.barrier(node)
