# SPDX-License-Identifier: Apache-2.0
"""Testbed of a fabric over several machines, with a part of the fabric on each.

The controlling process, this one, has the controllers and the P4Runtime client. Each part is a Mininet
testbed of the machine's nodes and their hosts; links between machines are VXLAN tunnels. P4Runtime and orders
travel by ssh.
"""

import selectors
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from ipaddress import IPv4Address
from typing import final

from emulation.errors import MachineError, TestbedError
from emulation.fidelity import Measured
from emulation.linux.record import RunRecord
from emulation.mininet.agents.attached import Agents
from emulation.mininet.alarms import Alarms
from emulation.mininet.cluster.checks import VXLAN_BYTES, check_machines, processors
from emulation.mininet.cluster.clocks import Clocks
from emulation.mininet.cluster.connections import MachinesConnections
from emulation.mininet.cluster.cutting import Cut, cut
from emulation.mininet.cluster.forwards import Forwards
from emulation.mininet.cluster.hosts import LEAD_NS, MachinesHosts, MachinesMeter
from emulation.mininet.cluster.machines import Machine, Machines
from emulation.mininet.cluster.orders import Built, Needs
from emulation.mininet.cluster.plans import Tunnels, part_plans
from emulation.mininet.cluster.programs import MachinesPrograms
from emulation.mininet.cluster.session import Session
from emulation.mininet.cluster.sessions import Sessions
from emulation.mininet.ip.programs import variables
from emulation.mininet.links.cabling import HOST_INTERFACE
from emulation.mininet.links.links import Links
from emulation.mininet.real_time import RealTimeTestbed
from emulation.mininet.samples import Samples
from emulation.mininet.switches.processes import SwitchKind
from emulation.mininet.testbed import DEFAULT_MTU
from emulation.testbed import SwitchReport
from emulation.traffic.frames.ip import address_of
from topologies import Fabric

__all__ = ["VXLAN_BYTES", "MachinesTestbed"]

_BUILD_SECONDS = 600.0
_NOTHING = Needs()


@final
class MachinesTestbed(RealTimeTestbed):
    """A fabric in real time over several machines.

    Args:
        fabric: the fabric.
        machines: the machines.
        switch: kind of switch on every machine.
        dilation: real seconds for a second of the scenario, or a function that computes them from the number
            of processors of all machines.
        mtu: bytes of the longest UB packet; packets between machines are VXLAN_BYTES longer.
        needs: features that are checked on every machine.
        bin_ps, buffer_bytes, ip, frame_bytes: as in MininetTestbed.
    """

    _lead_ns = LEAD_NS

    def __init__(
        self,
        fabric: Fabric,
        machines: Machines,
        *,
        switch: SwitchKind,
        dilation: int | Callable[[int], int] = 1,
        mtu: int = DEFAULT_MTU,
        bin_ps: int = 10**9,
        buffer_bytes: int = 65536,
        ip: bool = False,
        needs: Needs = _NOTHING,
        frame_bytes: int | None = None,
    ) -> None:
        super().__init__(fabric, switch, 1 if callable(dilation) else dilation, bin_ps, frame_bytes)
        self.machines = machines
        self.division: Cut = cut(fabric, machines.machines)
        self.namespaces: dict[str, str] = {}
        self.clocks: Clocks
        self._dilation_of = dilation if callable(dilation) else None
        self._mtu = mtu
        self._buffer_bytes = buffer_bytes
        self._with_ip = ip
        self._needs = needs
        self._failure: TestbedError | None = None

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
            self._failure = error if isinstance(error, TestbedError) else None
            self.stop()
            raise

    def _build(self, record: RunRecord) -> None:
        done = self._stages()
        sessions = self._sessions = Sessions(self.machines, record, self._teardown)
        hellos = check_machines(sessions, self.machines, self.division.pairs, self._mtu, self._needs)
        if self._dilation_of is not None:
            self.dilation = self._dilation_of(processors(hellos))
            self._alarms = Alarms(self.dilation)
        self.clocks = Clocks(sessions)
        done("machines")
        tunnels = Tunnels(self.division, self.machines)
        plans = part_plans(
            self.division, tunnels, self.switch, self.dilation, self._mtu,
            ip=self._with_ip, lanes=self._needs.lanes, frame_bytes=self.frame_bytes,
        )  # fmt: skip
        built: dict[str, Built] = sessions.each(
            lambda session: session.call("build", plans[session.machine.name], seconds=_BUILD_SECONDS)
        )
        done("parts")
        self._forward(record, built)
        done("forwards")
        self._hosts = MachinesHosts(self.division.machine_of, sessions, self.clocks)
        self._agents = Agents(self._hosts, self.namespaces, HOST_INTERFACE)
        self._connections = MachinesConnections(
            self.division, sessions, tunnels, self.clocks, self.namespaces
        )
        self._teardown.add(self._connections.close)
        self._links = Links(self.fabric, self._connections)
        self._samples = Samples(self.fabric, self._links, self._buffer_bytes)
        self._programs = MachinesPrograms(sessions, self.division.machine_of)
        self._packet_ins.open()
        self._teardown.add(self._packet_ins.close)
        self._selector = selectors.DefaultSelector()
        self._teardown.add(self._selector.close)
        self._selector.register(self._packet_ins, selectors.EVENT_READ, self._take_packet_ins)
        for session in sessions.values():
            self._selector.register(
                session, selectors.EVENT_READ, lambda session=session: self._take_events(session)
            )

    def _forward(self, record: RunRecord, built: Mapping[str, Built]) -> None:
        forwards: list[Forwards] = []
        self.addresses: Mapping[str, str] = {}
        for machine in self.machines.machines:
            part = built[machine.name]
            self.namespaces |= part.namespaces
            forwards.append(Forwards(machine, record, part.sockets))
            self._teardown.add(forwards[-1].close)
            self.addresses = {**self.addresses, **forwards[-1].addresses}
        for forward in forwards:
            forward.await_ready()

    def stop(self) -> None:
        """Have every part clean up; TestbedError names machines with possible remains."""
        failure, self._failure = self._failure, None
        try:
            super().stop()
        except TestbedError as problem:
            if failure is None:
                raise
            # The failure comes first in the message: it is the cause of what remains.
            message = f"{failure.message}; {problem.message}"
            raise MachineError(message, remedy=f"{failure.remedy}; {problem.remedy}") from failure

    # -- time and events

    def _take_events(self, session: Session) -> None:
        try:
            for event in session.events():
                if event.kind == "failed":
                    message, remedy = event.arguments
                    raise TestbedError(f"machine {session.machine.name}: {message}", remedy=remedy)
                if event.kind == "host":
                    self._hear(event.arguments)
                elif event.kind in ("line", "launched"):
                    self._programs.take(session.machine.name, event)
                elif self.on_port is not None:
                    self.on_port(*event.arguments)
        except TestbedError as error:
            self._failure = error
            raise

    def check(self) -> None:
        """Raise a TestbedError if a part has failed or a connection has ended."""
        if self._failure is not None:
            raise self._failure
        for session in self._sessions.values():
            self._take_events(session)
            try:
                session.call("bed.check")
            except TestbedError as error:
                self._failure = error
                raise

    def check_event(self, event: str) -> None:
        self._sessions.each(lambda session: session.call("bed.check_event", event))

    # -- measurements

    def meter(self) -> MachinesMeter:
        """Return a meter of the processors of all machines and of the switch processes."""
        return MachinesMeter(self._sessions)

    def _finish(self) -> None:
        before = self._ending
        super()._finish()
        if self._ending is not before:
            self.clocks.compare_again()

    def measured(self, seen: Mapping[str, SwitchReport], steps: int) -> Measured:
        """Return the measurements for judging the times of this run, after run() has returned True."""
        measured = super().measured(seen, steps)
        return replace(
            measured,
            drops={**measured.drops, "tunnel": self._connections.lost_between(self._links.struck)},
            clocks_us=(self.clocks.error_ns + self.clocks.late_ns) / 1000,
            notes=(self.division.summary, *self.clocks.notes(), *measured.notes),
        )

    # -- programs and places

    @property
    def addresses_of_hosts(self) -> Mapping[str, IPv4Address]:
        """IPv4 address of every host, by node in the order of the fabric; hosts have it only with `ip`."""
        return {
            node.name: address_of(node.address) for node in self.fabric.nodes if node.name in self.namespaces
        }

    def launch(
        self,
        words: Sequence[str],
        say: Callable[[str, str], None],
        check: Callable[[], None] = lambda: None,
    ) -> None:
        """Run a command on every host until all have ended; another thread must run serve().

        `say` gets node and text of each line; `check` is called several times a second.

        Raises:
            EmulationError: A program has failed; the others were ended.
        """
        self._programs.launch(words, variables(self.addresses_of_hosts), say, check)

    def places(self) -> Mapping[str, str]:
        """Return the machine and namespace of each host by node, for display."""
        return {
            node: f"{self.division.machine_of[node]}, namespace {namespace}"
            for node, namespace in self.namespaces.items()
        }

    def machine(self, node: str) -> Machine:
        """Return the machine of a node."""
        name = self.division.machine_of[self.fabric.node(node).name]
        return next(machine for machine in self.machines.machines if machine.name == name)
