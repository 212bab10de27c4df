# SPDX-License-Identifier: Apache-2.0
"""The control loop: port changes and management frames in; table writes, notices and hellos out.

It runs on any testbed. Writes go over P4Runtime and messages travel in band, after delays for detection and
processing on the testbed's clock.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import final

from controller import Entry, Mode, NodeController, Notice, Plan, Reaction, Subscription, Update
from controller.p4runtime.client import P4RuntimeClient
from controller.plan.diff import apply_in_turn
from controller.plan.rows import NodeEntries
from controller.recovery.hello import Hello
from controller.recovery.messages import Acknowledgement, latest_sequences, link_of
from controller.recovery.shared_schemes import SharedSchemes
from emulation.control.activity import Activity, News
from emulation.control.bonding import Bonding, LacpTimes
from emulation.control.frames import is_slow, read_management, sender_of
from emulation.control.hellos import Hellos, HelloTimes
from emulation.control.messenger import Messenger
from emulation.control.packet_outs import received_frame, send_packet_outs
from emulation.control.reconfiguration import ReconfigurationController, ReconfigurationPolicy
from emulation.control.reconfiguration_record import ReconfigurationRecord
from emulation.control.takeover import SparePolicy, TakeoverController, TakeoverRecord
from emulation.testbed import ControlledTestbed

__all__ = ["ControlLoop", "ControlReport"]


@final
@dataclass(frozen=True, slots=True)
class ControlReport:
    """Activity of the node controllers.

    `notices_sent` counts notices and subscriptions, `notices_repeated` their repetitions, and
    `notices_unconfirmed` messages that were given up unacknowledged. `nodes_notified` is the number of nodes
    that acted on a notice. `repath_requests` counts agents' requests for other paths. `converged_ps` is the
    time of the last table write, or None.
    """

    notices_sent: int
    nodes_notified: int
    entries_rewritten: int
    converged_ps: int | None
    hellos_sent: int = 0
    lacpdus_sent: int = 0
    notices_repeated: int = 0
    notices_unconfirmed: int = 0
    repath_requests: int = 0


@final
class ControlLoop:
    """Drives a `NodeController` for each node of the plan on a testbed.

    `mode` chooses how notices of a failed link spread: directly or by flooding. A change of carrier is
    detected after `detect_ps`; a reaction takes effect `processing_ps` later. Notices are acknowledged, and
    repeated after `repeat_ps` without an acknowledgement; without `repeat_ps` they are sent once.
    With `hellos`, a port counts as up only while its two ends hear each other, from start() on.
    With `lacp`, a port between a NIC and a ToR counts as up while it is in its bundle. With `spares`, a spare
    NPU replaces a failed one. With `reconfiguration`, optical circuits follow the jobs. The controller of a
    node without power (`set_power`) sends, receives and writes nothing.
    """

    def __init__(
        self,
        testbed: ControlledTestbed,
        client: P4RuntimeClient,
        plan: Plan,
        *,
        mode: Mode,
        detect_ps: int,
        processing_ps: int,
        repeat_ps: int | None = None,
        hellos: HelloTimes | None = None,
        spares: SparePolicy | None = None,
        reconfiguration: ReconfigurationPolicy | None = None,
        lacp: LacpTimes | None = None,
    ) -> None:
        self._testbed = testbed
        self._client = client
        self._detect_ps = detect_ps
        self._processing_ps = processing_ps
        self._mode: Mode = mode
        self._messenger = Messenger(testbed, client, repeat_ps)
        # By node without power: updates that its controller writes once the node has power again.
        self._withheld: dict[str, list[Sequence[Update]]] = {}
        self._use_plan(plan, {})
        self._installed = dict(plan.entries)
        self._updated: dict[str, list[Sequence[Update]]] = {}  # written since the last call of `installed`
        self._takeovers: TakeoverController | None = None
        if spares is not None:
            self._takeovers = TakeoverController(
                self, plan, spares, detect_ps=detect_ps, processing_ps=processing_ps
            )
        self._reconfiguration: ReconfigurationController | None = None
        if reconfiguration is not None:
            self._reconfiguration = ReconfigurationController(
                self, reconfiguration, detect_ps=detect_ps, processing_ps=processing_ps
            )
            for name, switch in testbed.circuits.items():
                switch.on_light = partial(self._on_light, self._reconfiguration, name)
        # Controllers that reconfigure optical switches.
        self._movers = [mover for mover in (self._takeovers, self._reconfiguration) if mover is not None]
        self.bonding: Bonding | None = None
        if lacp is not None:
            self.bonding = Bonding(self, plan, lacp, processing_ps=processing_ps, withhold=testbed.virtual)
        self.on_activity: Callable[[Activity], None] | None = None
        """Receives each reaction of a controller as it takes effect."""
        self._told: set[str] = set()
        self._answering: set[tuple[str, int]] = set()  # silent pairs whose new paths are not yet written
        self._rewritten = self._repath_requests = 0
        self._converged: int | None = None
        self._hellos = None if hellos is None else Hellos(self, testbed, hellos)
        testbed.on_port = self._on_port
        testbed.on_packet_in = self._on_packet_in
        testbed.on_repath = self._on_repath

    def _use_plan(self, plan: Plan, sequences: Mapping[str, int]) -> None:
        self.plan = plan
        self._fabric = plan.fabric
        schemes = SharedSchemes(plan)
        self._controllers: Mapping[str, NodeController] = {
            node.name: NodeController(plan, node.name, self._mode, schemes, sequences)
            for node in plan.fabric.nodes
        }
        self._messenger.use(schemes, self._controllers)
        for withheld in self._withheld.values():
            withheld.clear()  # the new plan's updates start from the installed entries

    @property
    def report(self) -> ControlReport:
        """Activity up to now."""
        return ControlReport(
            self._messenger.sent,
            len(self._told),
            self._rewritten,
            self._converged,
            self._hellos.sent if self._hellos else 0,
            self.bonding.sent if self.bonding else 0,
            self._messenger.repeated,
            self._messenger.unconfirmed,
            self._repath_requests,
        )

    @property
    def period_ps(self) -> int | None:
        """Shortest period of hellos and LACPDUs; None if neither is sent."""
        senders = [sender for sender in (self._hellos, self.bonding) if sender is not None]
        return min((sender.period_ps for sender in senders), default=None)

    @property
    def down(self) -> frozenset[str]:
        """Links considered down by at least one of their two nodes."""
        known = {name: controller.down for name, controller in self._controllers.items()}
        links = self._fabric.links
        return frozenset(link.name for link in links if link.name in known[link.a.node] | known[link.b.node])

    @property
    def takeovers(self) -> tuple[TakeoverRecord, ...]:
        """Replacements of failed nodes by spares, in order."""
        return tuple(self._takeovers.done) if self._takeovers else ()

    @property
    def reconfigurations(self) -> tuple[ReconfigurationRecord, ...]:
        """Changes of circuits for jobs, in order."""
        return tuple(self._reconfiguration.done) if self._reconfiguration else ()

    @property
    def waiting(self) -> tuple[str, ...]:
        """Jobs that have arrived and have no circuits yet."""
        return self._reconfiguration.waiting if self._reconfiguration else ()

    @property
    def reconfiguration(self) -> ReconfigurationController:
        """Controller that changes circuits for jobs."""
        assert self._reconfiguration is not None, "the loop has no reconfiguration policy"
        return self._reconfiguration

    @property
    def now_ps(self) -> int:
        """Time of the testbed in picoseconds."""
        return self._testbed.now_ps

    def at(self, time_ps: int, callback: Callable[[], None]) -> None:
        """Call `callback` at `time_ps` of the testbed's clock."""
        self._testbed.at(time_ps, callback)

    def installed(self) -> Mapping[str, Sequence[Entry]]:
        """Return the table entries written up to now, by node; scheduled writes are not among them."""
        for node, written in self._updated.items():
            entries, planned = apply_in_turn(self._installed[node], written), self.plan.entries[node]
            # Keep the plan's own object if equal: the next diff against the plan then costs nothing.
            same = not isinstance(entries, NodeEntries) and entries == planned
            self._installed[node] = planned if same else entries
        self._updated.clear()
        return self._installed

    def adopt(self, plan: Plan, updates: Mapping[str, Sequence[Update]], since_ps: int | None = None) -> None:
        """Write the updates, and let new node controllers continue from another plan.

        The plan includes all failures that any node knows; scheduled writes and notices are cancelled.
        `since_ps` is the time of the event that led to the plan, by default now.
        """
        self.write(updates, since_ps)
        same = plan.fabric.links == self._fabric.links
        self._use_plan(plan, latest_sequences(self._controllers.values()))
        if self._hellos is not None:
            self._hellos.use_plan(same_links=same)

    def write(self, updates: Mapping[str, Sequence[Update]], since_ps: int | None = None) -> None:
        """Write updates now; `since_ps` is the time of the event that led to them, by default now."""
        changed = {node: own for node, own in updates.items() if own}
        self._client.write_all(changed)
        news = News("by a controller", self.now_ps if since_ps is None else since_ps)
        for node, own in changed.items():
            self._note_written(node, own, news)

    def learn(self, node: str, updates: Sequence[Update]) -> None:
        """Write updates that do not count in the report, such as learned host routes."""
        if updates:
            self._client.write(node, updates)
            self._updated.setdefault(node, []).append(updates)

    def send_frames(self, node: str, frames: Sequence[tuple[int, bytes]]) -> int:
        """Send each frame out of its port; return the number sent, 0 for a node without power."""
        if node in self._withheld:
            return 0
        send_packet_outs(self._testbed, self._client, node, frames)
        return len(frames)

    def set_power(self, node: str, on: bool) -> None:
        """Withhold the updates of a node while it has no power, and write them when its power returns.

        Without power, its controller still tracks the state of the node's ports.
        """
        if not on:
            self._withheld.setdefault(node, [])
            self._messenger.forget(node)
            return
        for updates in self._withheld.pop(node, ()):
            self.learn(node, updates)

    def reconfigure(self, circuits: Mapping[str, Mapping[int, int]]) -> int:
        """Apply crossconnect maps to optical switches; return the time at which all new circuits are up."""
        changes = (self._testbed.circuits[name].apply(joined) for name, joined in circuits.items())
        return max(change.dark_until_ps for change in changes)

    def start(self, active: Callable[[], bool]) -> None:
        """Send LACPDUs and hellos, where configured, while `active()` is true."""
        self._messenger.active = active
        if self.bonding is not None:
            self.bonding.start(active)
        if self._hellos is not None:
            self._hellos.start(active)

    def _on_port(self, node: str, port: int, up: bool) -> None:
        if self._fabric.link_at(node, port) is None and not self._is_moving(node, port):
            return  # a host port, or a port that the plan does not use

        def detected() -> None:
            hellos = self._hellos
            if hellos is not None:
                hellos.note_carrier(node, port, up)
            if self.bonding is not None and self.bonding.uses_lacp(node, port):
                self.bonding.on_port(node, port, up)
            elif hellos is not None and hellos.has_sessions(node) and self.is_routed(node, port):
                hellos.on_carrier(node, port, up)
            else:
                self.port_changed(node, port, up)

        self._testbed.at(self._testbed.now_ps + self._detect_ps, detected)

    def _on_light(
        self, reconfiguration: ReconfigurationController, optical: str, port: int, lit: bool
    ) -> None:
        """Handle the loss or return of light at a port of an optical switch."""
        self._testbed.at(
            self._testbed.now_ps + self._detect_ps, lambda: reconfiguration.on_light(optical, port, lit)
        )

    def _on_packet_in(self, node: str) -> None:
        packet = self._client.packet_in(node)
        if node in self._withheld:
            return
        frame = received_frame(self._testbed, packet.payload)
        port = packet.metadata["ingress_port"]
        if is_slow(frame):
            if self.bonding is not None:
                self.bonding.on_frame(node, port, frame)
            return
        message = read_management(frame)
        if isinstance(message, Hello):
            if self._hellos is not None:
                self._hellos.on_hello(node, port, message)
            return
        if isinstance(message, Acknowledgement):
            self._messenger.on_acknowledgement(node, message)
            return
        if isinstance(message, Notice | Subscription):
            self._messenger.acknowledge(node, port, frame, message)
            self._on_message(node, port, message, sender_of(frame))

    def _on_message(self, node: str, port: int, message: Notice | Subscription, sender_cna: int) -> None:
        """Handle a notice or a subscription received at a port of a node."""
        link, sender = link_of(self._fabric, message), self._fabric.node_of(sender_cna)
        name, teller = link.name if link else None, sender.name if sender else None
        if isinstance(message, Subscription):
            reaction = self._controllers[node].on_subscription(message)
            self._later(node, reaction, News("by a request", self.now_ps, name, False, teller))
            return
        reaction = self._controllers[node].on_notice(message, port)
        if reaction:
            self._told.add(node)
        self._later(node, reaction, News("by a notice", self.now_ps, name, message.up, teller))

    def _on_repath(self, node: str, cna: int, buckets: frozenset[int]) -> None:
        """Handle an agent's report of silent paths; ignore its repetitions until new paths are written."""
        pair = node, cna
        if pair not in self._answering and node not in self._withheld:
            self._answering.add(pair)
            self._repath_requests += 1
            reaction = self._controllers[node].on_repath(cna, buckets)
            self._later(node, reaction, News("by silence", self.now_ps))
            at = self._testbed.now_ps + self._processing_ps
            self._testbed.at(at, lambda: self._answering.discard(pair))

    def _is_moving(self, node: str, port: int) -> bool:
        return any(mover.is_moving(node, port) for mover in self._movers)

    def is_routed(self, node: str, port: int) -> bool:
        """Return whether the plan has a link at a port, and no optical switch is moving its circuit."""
        return self._fabric.link_at(node, port) is not None and not self._is_moving(node, port)

    def port_changed(self, node: str, port: int, up: bool) -> None:
        """React to a port becoming usable or unusable."""
        link = self._fabric.link_at(node, port)
        if link is not None and self.is_routed(node, port):
            news = News("by itself", self.now_ps, link.name, up)
            self._later(node, self._controllers[node].on_port(port, up), news)
        for mover in self._movers:
            mover.on_port(node, port, up)

    def _later(self, node: str, reaction: Reaction, news: News) -> None:
        if reaction:
            at, plan = self._testbed.now_ps + self._processing_ps, self.plan
            if self._reconfiguration is not None:
                at = max(at, self._reconfiguration.held_until(node))
            self._testbed.at(at, lambda: self._apply(node, reaction, news) if self.plan is plan else None)

    def _apply(self, node: str, reaction: Reaction, news: News) -> None:
        withheld = self._withheld.get(node)
        if reaction.updates and withheld is None:
            self._client.write(node, reaction.updates)
            self._note_written(node, reaction.updates, news)
        if reaction.lost:
            self._testbed.routes_lost(node, reaction.lost)
        if withheld is not None:
            withheld.append(reaction.updates)
            return
        messages = (*reaction.notices, *reaction.subscriptions)
        self._messenger.send(node, messages)
        if messages and self.on_activity is not None:
            self.on_activity(Activity("notice", node, self.now_ps, len(messages), news))

    def _note_written(self, node: str, updates: Sequence[Update], news: News) -> None:
        self._updated.setdefault(node, []).append(updates)
        self._rewritten += len(updates)
        self._converged = self._testbed.now_ps
        if self.on_activity is not None:
            self.on_activity(Activity("rewrite", node, self.now_ps, len(updates), news))
