# SPDX-License-Identifier: Apache-2.0
"""The parts of a fabric on several machines as a testbed.

This process has the controllers and the P4Runtime client. Each machine has a part: a Mininet testbed of its
nodes, whose crossing links are VXLAN tunnels. P4Runtime and orders travel by ssh.
"""

import queue
import secrets
import selectors
import threading
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from ipaddress import IPv4Address
from typing import Final, TypeVar, final

from emulation.circuits import CircuitSwitch
from emulation.errors import EmulationError, MachineError, TestbedError
from emulation.lifetime import Lifetime
from emulation.mininet.alarms import Alarms
from emulation.mininet.cabling import jack_at
from emulation.mininet.cluster.cutting import Cut, cut
from emulation.mininet.cluster.forwards import Forwards
from emulation.mininet.cluster.links import PartLinks
from emulation.mininet.cluster.machines import Machine, Machines
from emulation.mininet.cluster.orders import Built, Event, Hello, PartPlan
from emulation.mininet.cluster.session import ClockOffset, Session
from emulation.mininet.ip.programs import variables
from emulation.mininet.linux.record import RunRecord
from emulation.mininet.packet_ins import PacketIns
from emulation.mininet.patch import Tunnel
from emulation.mininet.switches import SwitchKind
from emulation.mininet.teardown import Teardown
from emulation.mininet.testbed import DEFAULT_MTU
from emulation.testbed import PacketInHandler, PortHandler, SilenceHandler
from emulation.traffic.frames.ip import address_of
from emulation.traffic.frames.values import NetworkHeader
from topologies import HOST_PORT, End, Fabric

__all__ = ["VXLAN_BYTES", "MachinesTestbed"]

VXLAN_BYTES: Final = 14 + 8 + 8 + 20
"""Bytes that a tunnel adds to a packet: inner Ethernet, VXLAN, UDP and IPv4 headers."""

_PROBE_SECONDS: Final = 10.0
_LOOK_SECONDS: Final = 0.02
_TOLD_SECONDS: Final = 0.2

T = TypeVar("T")


@final
class MachinesTestbed(Lifetime):
    """A fabric in real time over several machines, without dilation and without agents.

    `switch` is the kind of switch on every machine. `mtu` is the longest UB packet in bytes that links carry;
    the machines must reach each other with packets that are VXLAN_BYTES longer.
    """

    name = "mininet"
    network_header: NetworkHeader = "cna16"
    virtual = False
    dilation = 1

    def __init__(
        self,
        fabric: Fabric,
        machines: Machines,
        *,
        switch: SwitchKind,
        mtu: int = DEFAULT_MTU,
        ip: bool = False,
    ) -> None:
        self.fabric = fabric
        self.switch: SwitchKind = switch
        self.machines = machines
        self.cut: Cut = cut(fabric, machines.machines)
        self.device_ids: Mapping[str, int] = {node.name: node.device_id for node in fabric.nodes}
        self.on_port: PortHandler | None = None
        self.on_packet_in: PacketInHandler | None = None
        self.on_silence: SilenceHandler | None = None
        self.circuits: Mapping[str, CircuitSwitch] = {}
        self.clocks: dict[str, ClockOffset] = {}
        self.namespaces: dict[str, str] = {}
        self.seconds: dict[str, float] = {}
        self._mtu = mtu
        self._with_ip = ip
        self._alarms = Alarms(1)
        self._told: queue.SimpleQueue[tuple[str, Event]] = queue.SimpleQueue()
        self._packet_ins = PacketIns()
        self._record: RunRecord | None = None
        self._teardown = Teardown()
        self._failure: BaseException | None = None

    # -- coming up and going down

    def start(self) -> None:
        """Check the machines, then make all parts; TestbedError if a part cannot be made."""
        if self._record is not None:
            raise TestbedError("the testbed runs already", remedy="stop it first")
        record = self._record = RunRecord.create()
        self._teardown.add(record.close)
        try:
            self._build(record)
        except BaseException as error:
            self._failure = error
            self.stop()
            raise

    def _build(self, record: RunRecord) -> None:
        began = time.perf_counter()
        self._sessions: dict[str, Session] = {}
        for machine in self.machines.machines:
            record.note_cleaner(machine.name, machine.command("-m", "railyard", "clean", "--local"))
            session = self._sessions[machine.name] = Session(machine, record)
            self._teardown.add(lambda session=session, name=machine.name: self._end(record, session, name))
        self._check_machines()
        self.clocks = self._each(lambda session: session.clock())
        self.seconds["machines"] = round(time.perf_counter() - began, 3)
        built = self._each_with(
            self._plans(), lambda session, plan: session.call("build", plan, seconds=600.0)
        )
        self.seconds["parts"] = round(time.perf_counter() - began, 3)
        self.addresses: dict[str, str] = {}
        self._forward(record, built)
        self.seconds["forwards"] = round(time.perf_counter() - began, 3)
        self._links = PartLinks(self.cut, self._sessions)
        self._packet_ins.open()
        self._teardown.add(self._packet_ins.close)
        self._selector = selectors.DefaultSelector()
        self._teardown.add(self._selector.close)
        self._selector.register(self._packet_ins, selectors.EVENT_READ, self._take_packet_ins)
        for session in self._sessions.values():
            self._selector.register(
                session, selectors.EVENT_READ, lambda session=session: self._take_events(session)
            )

    def _forward(self, record: RunRecord, built: Mapping[str, Built]) -> None:
        forwards: list[Forwards] = []
        for machine in self.machines.machines:
            part = built[machine.name]
            self.namespaces |= part.namespaces
            forwards.append(Forwards(machine, record, part.sockets))
            self._teardown.add(forwards[-1].close)
            self.addresses |= forwards[-1].addresses
        for forward in forwards:
            forward.await_ready()

    def _end(self, record: RunRecord, session: Session, name: str) -> None:
        if session.close():
            record.note_cleaned(name)

    def stop(self) -> None:
        """Have every part remove what it made; TestbedError names machines where something may remain."""
        failure, self._failure = self._failure, None
        try:
            self._teardown.run()
        except TestbedError as problem:
            if not isinstance(failure, TestbedError):
                raise
            # The cause comes first: what remains follows from it.
            message = f"{failure.message}; {problem.message}"
            raise MachineError(message, remedy=f"{failure.remedy}; {problem.remedy}") from failure
        finally:
            self._record = None

    # -- checks before the start

    def _check_machines(self) -> None:
        addresses = {machine.name: machine.address for machine in self.machines.machines}
        hellos: dict[str, Hello] = self._each(
            lambda session: session.call(
                "hello", [other for name, other in addresses.items() if name != session.machine.name]
            )
        )
        versions = {hello.version for hello in hellos.values()}
        if len(versions) > 1:
            told = ", ".join(f"{name} has {hello.version}" for name, hello in hellos.items())
            raise MachineError(f"different versions of Railyard: {told}", remedy="install the same on all")
        needed = self._mtu + VXLAN_BYTES
        pairs = self._neighbours()
        for name, other in pairs:
            way = hellos[name].mtus[addresses[other]]
            if way is None:
                raise MachineError(
                    f"machine {name} has no route to {addresses[other]} of machine {other}",
                    remedy="mend `address`, or the routes",
                )
            interface, mtu = way
            if mtu < needed:
                raise MachineError(
                    f"machine {name}: {interface}, towards machine {other}, has an MTU of {mtu}: a link "
                    f"of {self._mtu} bytes needs {needed} with VXLAN",
                    remedy=f"`ip link set {interface} mtu {needed}` and on the switches between them",
                )
        self._probe(pairs, needed)

    def _neighbours(self) -> list[tuple[str, str]]:
        """Return the ordered pairs of machines that have a link between them."""
        ends = [
            (self.cut.machine_of[link.a.node], self.cut.machine_of[link.b.node]) for link in self.cut.crossing
        ]
        return sorted({pair for a, b in ends for pair in ((a, b), (b, a))})

    def _probe(self, pairs: Iterable[tuple[str, str]], packet_bytes: int) -> None:
        """Have machines send each other packets of a size that must arrive whole."""
        machines = {machine.name: machine for machine in self.machines.machines}
        ports = self._each(lambda session: session.call("open_probe", session.machine.address))
        missing = {(sender, receiver) for sender, receiver in pairs}
        deadline = time.monotonic() + _PROBE_SECONDS
        while missing:
            for sender, receiver in missing:
                address = machines[receiver].address
                self._sessions[sender].call("send_probe", address, ports[receiver], packet_bytes)
            heard = self._each(lambda session: session.call("heard"))
            missing = {
                (sender, receiver)
                for sender, receiver in missing
                if str(machines[sender].address) not in heard[receiver]
            }
            if missing and time.monotonic() > deadline:
                sender, receiver = min(missing)
                raise MachineError(
                    f"packets of {packet_bytes} bytes from machine {sender} do not reach machine {receiver} "
                    f"({machines[receiver].address})",
                    remedy="let UDP pass, and see that every interface and switch between them has that MTU",
                )
            if missing:
                time.sleep(0.05)

    def _plans(self) -> dict[str, PartPlan]:
        """Return the part of every machine; both ends of a crossing link have one VXLAN network."""
        address = {machine.name: machine.address for machine in self.machines.machines}
        hosts = None
        if self._with_ip:
            hosts = [
                node.address for node in self.fabric.nodes if any(p.number == HOST_PORT for p in node.ports)
            ]
        first = secrets.randbelow((1 << 24) - len(self.cut.crossing) - 1) + 1
        tunnels: dict[str, dict[End, Tunnel]] = {name: {} for name in address}
        for number, link in enumerate(self.cut.crossing):
            for own, other in ((link.a, link.b), (link.b, link.a)):
                here, there = self.cut.machine_of[own.node], self.cut.machine_of[other.node]
                tunnels[here][other] = Tunnel(
                    first + number, address[here], address[there], self.machines.vxlan_port
                )
        return {
            name: PartPlan(self.cut.part(name), self.switch, 1, self._mtu, hosts, tunnels[name])
            for name in address
        }

    def _each(self, act: Callable[[Session], T]) -> dict[str, T]:
        """Return the results of `act` for all sessions at once, by machine."""
        with ThreadPoolExecutor(len(self._sessions)) as pool:
            return dict(zip(self._sessions, pool.map(act, self._sessions.values()), strict=True))

    def _each_with(
        self, values: Mapping[str, PartPlan], act: Callable[[Session, PartPlan], T]
    ) -> dict[str, T]:
        return self._each(lambda session: act(session, values[session.machine.name]))

    # -- time and events

    @property
    def now_ps(self) -> int:
        """Time in picoseconds; 0 before serve() was first called."""
        return self._alarms.now_ps

    def at(self, time_ps: int, callback: Callable[[], None]) -> None:
        """Call `callback` at that time, or as soon after it as possible."""
        self._alarms.at(time_ps, callback)

    def serve(self, stopped: threading.Event) -> None:
        """Let time pass and dispatch events until `stopped` is set.

        Raises:
            TestbedError: A part has failed, or the connection to a machine has ended.
        """
        if not self._alarms.begun:
            self._alarms.begin(time.monotonic_ns())
        try:
            while not stopped.is_set():
                self._alarms.ring()
                for key, _ in self._selector.select(_LOOK_SECONDS):
                    key.data()
        except TestbedError as error:
            self._failure = error
            raise

    def _take_events(self, session: Session) -> None:
        for event in session.events():
            if event.kind == "failed":
                message, remedy = event.arguments
                raise TestbedError(f"machine {session.machine.name}: {message}", remedy=remedy)
            if event.kind in ("line", "launched"):
                self._told.put((session.machine.name, event))
            elif self.on_port is not None:
                self.on_port(*event.arguments)

    def _take_packet_ins(self) -> None:
        for node in self._packet_ins.take():
            if self.on_packet_in is not None:
                self.on_packet_in(node)

    def packet_arrived(self, node: str) -> None:
        """Note a packet-in: the P4Runtime client's `on_packet_in`. Any thread may call it."""
        self._packet_ins.arrived(node)

    @property
    def delivered_bytes(self) -> int:
        """0: this testbed has no agents."""
        return 0

    def routes_lost(self, node: str, lost: Mapping[int, frozenset[int]]) -> None:
        """Do nothing: this testbed has no agents."""

    @property
    def addresses_of_hosts(self) -> Mapping[str, IPv4Address]:
        """IPv4 address of every host with IPv4, by node, in the order of the fabric."""
        return {
            node.name: address_of(node.address) for node in self.fabric.nodes if node.name in self.namespaces
        }

    def launch(
        self,
        words: Sequence[str],
        say: Callable[[str, str], None],
        check: Callable[[], None] = lambda: None,
    ) -> None:
        """Run a command on every host until all have ended, while another thread serves.

        `say` gets node and text of each line; `check` is called several times a second.

        Raises:
            EmulationError: A program has failed; the others were ended.
        """
        own = variables(self.addresses_of_hosts)
        for session in self._sessions.values():
            here = [node for node, name in self.cut.machine_of.items() if name == session.machine.name]
            session.call("launch", words, {node: own[node] for node in here if node in own})
        running = set(self._sessions)
        try:
            while running:
                check()
                try:
                    machine, event = self._told.get(timeout=_TOLD_SECONDS)
                except queue.Empty:
                    continue
                if event.kind == "line":
                    say(*event.arguments)
                    continue
                running.discard(machine)
                (error,) = event.arguments
                if error is not None:
                    raise EmulationError(error, remedy="its output is above")
        finally:
            for name in running:
                with suppress(TestbedError):
                    self._sessions[name].call("end_programs")

    def check(self) -> None:
        """Raise a TestbedError if a part has failed or a connection has ended."""
        for session in self._sessions.values():
            session.call("check")
            self._take_events(session)

    # -- faults and counters

    def set_link(self, name: str, up: bool) -> None:
        """Take a link down or up: both ends lose their carrier, on whatever machine they are."""
        self._links.set_link(name, up)

    def set_host_link(self, node: str, up: bool) -> None:
        """Take the link to a node's host down or up."""
        self._links.set_host_link(node, up)

    def carried(self) -> Mapping[str, tuple[int, int]]:
        """Return the frames that each link has carried so far: from its first to its second end, and back."""
        jacks = self._links.counters()
        return {
            link.name: (jacks[jack_at(link.a)].from_frames, jacks[jack_at(link.b)].from_frames)
            for link in self.fabric.links
        }

    def places(self) -> Mapping[str, str]:
        """Return the machine and namespace of each host by node, for display."""
        return {
            node: f"{self.cut.machine_of[node]}, namespace {namespace}"
            for node, namespace in self.namespaces.items()
        }

    def machine(self, node: str) -> Machine:
        """Return the machine of a node."""
        name = self.cut.machine_of[self.fabric.node(node).name]
        return next(machine for machine in self.machines.machines if machine.name == name)
