# SPDX-License-Identifier: Apache-2.0
"""The Mininet testbed: a fabric in real time, of namespaces, veth pairs and switch processes.

Needs Linux and root. Everything it makes is recorded first, and removed by stop() or `railyard clean`.
"""

import os
import selectors
import threading
import time
from collections.abc import Callable, Iterable, Mapping
from types import MappingProxyType
from typing import Any, NoReturn, final

from emulation.circuits import circuit_switches
from emulation.errors import TestbedError
from emulation.fidelity import Measured
from emulation.lifetime import Lifetime
from emulation.mininet.agents.attached import LEAD_NS, Agents
from emulation.mininet.agents.measure import Between, CpuMeter, Ending
from emulation.mininet.agents.population import Population
from emulation.mininet.alarms import Alarms
from emulation.mininet.cabling import HOST_INTERFACE, cable
from emulation.mininet.ip.ports import IpPorts
from emulation.mininet.link_operations import LinkOperations
from emulation.mininet.links import Links
from emulation.mininet.linux.machine import need_machine
from emulation.mininet.linux.record import RunRecord
from emulation.mininet.linux.watch import CarrierWatch
from emulation.mininet.net import make_net
from emulation.mininet.packet_ins import PacketIns
from emulation.mininet.patch import PatchPanel, Tunnel
from emulation.mininet.samples import Samples
from emulation.mininet.switches import SwitchKind, SwitchProcesses, choose
from emulation.mininet.teardown import Teardown
from emulation.testbed import (
    LinkUsage,
    PacketInHandler,
    PortHandler,
    SilenceHandler,
    SwitchReport,
    Watch,
)
from emulation.traffic.frames.values import NetworkHeader
from emulation.traffic.host.make import Hosts, Participant
from emulation.traffic.host.stats import Ended
from emulation.traffic.memory.agent import MemoryAgent
from topologies import HOST_PORT, End, Fabric

__all__ = ["DEFAULT_MTU", "MininetTestbed"]

# The longest UB packet.
DEFAULT_MTU = 10240

_CARRIER_SECONDS = 30.0
_LOOK_SECONDS = 0.02


@final
class MininetTestbed(LinkOperations, Lifetime):
    """A fabric in real time; a second of the scenario takes `dilation` real seconds.

    `switch` is the kind of switch, by default BMv2 if it is installed. `mtu` is the longest UB packet in
    bytes that links carry. Links are held to their rate / dilation if that is at most 20 Gbit/s. With `lanes`
    their frames wait by service level. `bin_ps` is the width of the bins of delivered_bins(), `buffer_bytes`
    what a sample takes for a full queue. `ip` gives every host an IPv4 interface `ub0`.
    """

    name = "mininet"
    network_header: NetworkHeader = "cna16"
    virtual = False
    hosts: Hosts = "python"

    def __init__(
        self,
        fabric: Fabric,
        *,
        switch: SwitchKind | None = None,
        dilation: int = 1,
        mtu: int = DEFAULT_MTU,
        bin_ps: int = 10**9,
        buffer_bytes: int = 65536,
        ip: bool = False,
        lanes: bool = False,
        ip_others: Iterable[int] = (),
        tunnels: Mapping[End, Tunnel] = MappingProxyType({}),
    ) -> None:
        if dilation < 1:
            raise TestbedError(f"dilation {dilation}", remedy="real time cannot be hurried: use 1 or more")
        self.fabric = fabric
        self.switch: SwitchKind = choose(switch)
        self.dilation = dilation
        self.device_ids: Mapping[str, int] = MappingProxyType({n.name: n.device_id for n in fabric.nodes})
        self.on_port: PortHandler | None = None
        self.on_packet_in: PacketInHandler | None = None
        self.on_silence: SilenceHandler | None = None
        self.watch: Watch | None = None
        self.seconds: dict[str, float] = {}
        self._mtu = mtu
        self._bin_ps, self._buffer_bytes = bin_ps, buffer_bytes
        self._with_ip = ip
        self._ip_others = ip_others
        self._tunnels = tunnels
        self.ip: IpPorts | None = None
        self._lanes = lanes
        self._alarms = Alarms(dilation)
        self._packet_ins = PacketIns()
        self._ending: Ending | None = None
        self._record: RunRecord | None = None
        self.circuits = circuit_switches(fabric, self)
        self.frames_without_link = 0  # set by measured()
        self._teardown = Teardown()

    # -- coming up and going down

    def start(self) -> None:
        """Make namespaces, links and switches; TestbedError if a part cannot be made."""
        if self._record is not None:
            raise TestbedError("the Mininet testbed runs already", remedy="stop it first")
        need_machine()
        record = self._record = RunRecord.create()
        self._teardown.add(record.close)
        try:
            self._build(record)
        except BaseException:
            self.stop()
            raise

    def _build(self, record: RunRecord) -> None:
        lap = time.perf_counter()

        def done(stage: str) -> None:
            nonlocal lap
            now = time.perf_counter()
            self.seconds[stage] = round(now - lap, 3)
            lap = now

        # The hosts' process loads its modules while links are made.
        population = Population(record)
        self._teardown.add(population.close)
        switches = record.namespace("fabric")
        patches = record.namespace("patch")
        self.shared_namespaces = {"fabric": switches, "patch": patches}
        self.namespaces = {
            node.name: record.namespace(node.name)
            for node in self.fabric.nodes
            if any(port.number == HOST_PORT and port.dimension is None for port in node.ports)
        }
        self._agents = Agents(population, self.namespaces, HOST_INTERFACE)
        done("namespaces")
        self.cabling = cabling = cable(self.fabric, switches, self.namespaces, self._mtu, self._tunnels)
        self._watch = CarrierWatch(switches)
        self._teardown.add(self._watch.close)
        panel = PatchPanel(patches)
        self._teardown.add(panel.close)
        self._links = Links(self.fabric, panel, cabling, self.dilation, lanes=self._lanes)
        self._teardown.add(self._links.close)
        self._links.connect()
        self._ports = {interface: port for port, interface in cabling.interfaces.items()}
        # No switch starts with ports that look dead.
        joined = {cabling.interfaces[end.node, end.port] for end in self._links.joined_ends()}
        self._watch.await_up(joined, _CARRIER_SECONDS)
        done("links")
        if self._with_ip:
            self.ip = IpPorts(record, self.fabric, self.namespaces, self._mtu, switches, self._ip_others)
            self._teardown.add(self.ip.close)
        self.net: Any = make_net(
            self.fabric,
            self.namespaces,
            switches,
            cabling.interfaces,
            record.environment(),
            self.set_link,
            self.ip.addresses if self.ip else {},
        )
        self._teardown.add(self.net.stop)
        self._processes = SwitchProcesses(self.switch, record, switches, self.fabric, cabling.interfaces)
        self._teardown.add(self._processes.stop)
        self._processes.start()
        self._processes.wait_ready()
        self.addresses: Mapping[str, str] = self._processes.addresses
        self._packet_ins.open()
        self._teardown.add(self._packet_ins.close)
        self._selector = self._watched(population)
        self._samples = Samples(self.fabric, self._links, self._buffer_bytes)
        done("switches")

    def _watched(self, population: Population) -> selectors.BaseSelector:
        selector = selectors.DefaultSelector()
        self._teardown.add(selector.close)
        selector.register(self._watch, selectors.EVENT_READ, self._carriers)
        selector.register(self._packet_ins, selectors.EVENT_READ, self._take_packet_ins)
        selector.register(population.connection, selectors.EVENT_READ, self._hear)
        for part in (self._processes, self.ip) if self.ip else (self._processes,):
            for name, process in part.processes.items():
                handle = os.pidfd_open(process.pid)
                self._teardown.add(lambda handle=handle: os.close(handle))
                selector.register(
                    handle, selectors.EVENT_READ, lambda part=part, name=name: _raise(part.died(name))
                )
        return selector

    def stop(self) -> None:
        """End every process and remove everything that was made; does nothing if nothing runs."""
        try:
            self._teardown.run()
        finally:
            self._record = None

    def environment(self) -> dict[str, str]:
        """Return the environment for processes in the namespaces, by which `railyard clean` finds them."""
        return self._running.environment()

    @property
    def run_id(self) -> str:
        """Id of the run, which stands in the names of its namespaces."""
        return self._running.id

    def on_readable(self, handle: int, callback: Callable[[], None]) -> None:
        """Call `callback` in run() and serve() whenever a descriptor is readable."""
        self._selector.register(handle, selectors.EVENT_READ, callback)

    # -- agents

    def attach(self, node: str, host: Participant | MemoryAgent) -> None:
        """Have a process run an agent like `host` in the node's namespace: from now on, or from run() on."""
        self._agents.attach(node, host)

    def stand_by(self, node: str) -> None:
        """Prepare a node's host for an agent that comes later."""
        self._agents.stand_by(node)

    def restart(self, hosts: Mapping[str, Participant]) -> None:
        """Replace all agents in their processes; the new agents begin together a little later."""
        self._agents.restart(hosts)

    def set_level(self, node: str, level: int) -> None:
        """Set the service level of the data of a node's agent from its next iteration on."""
        self._agents.set_level(node, level)

    def give_up(self) -> None:
        """End the run now: stop all agents and collect their reports."""
        self._finish()

    def packet_arrived(self, node: str) -> None:
        """Note a packet-in: the P4Runtime client's `on_packet_in`. Any thread may call it."""
        self._packet_ins.arrived(node)

    def routes_lost(self, node: str, lost: Mapping[int, frozenset[int]]) -> None:
        """Tell a node's agent which buckets, by destination CNA, have left a failed link or a silent path."""
        self._agents.routes_lost(node, lost)

    def _begin(self) -> None:
        """Start time, with the hosts attached so far."""
        began = time.perf_counter()
        rate = self.fabric.host_lanes * self.fabric.lane_rate_bps / self.dilation
        self._agents.launch(rate, self.dilation, self._bin_ps, watched=self.watch is not None)
        self.seconds["hosts"] = round(time.perf_counter() - began, 3)
        self._meter = CpuMeter({name: process.pid for name, process in self._processes.processes.items()})
        self._counted = self._links.counters()
        start_ns = time.monotonic_ns() + LEAD_NS
        self._alarms.begin(start_ns)
        self._agents.go(start_ns)

    # -- time

    @property
    def now_ps(self) -> int:
        """Scenario time in picoseconds; 0 before run() was first called."""
        return self._alarms.now_ps

    def at(self, time_ps: int, callback: Callable[[], None]) -> None:
        """Call `callback` in run() at that scenario time, or as soon after it as possible."""
        self._alarms.at(time_ps, callback)

    def run(self, until_ps: int | None = None) -> bool:
        """Let time pass and dispatch events; return True once every host is done and no alarm is left.

        Returns False if `until_ps` is reached before. EmulationError if a host or a switch fails.
        """
        if not self._alarms.begun:
            self._begin()
        while True:
            self._alarms.ring()
            self._agents.send_orders()
            if not self.busy and not self._alarms:
                self._finish()
                return True
            if until_ps is not None and self.now_ps >= until_ps:
                return False
            if self.watch is not None and self.now_ps >= self.watch.next_ps:
                self.watch.tick()
            ends = [until_ps, None if self.watch is None else self.watch.next_ps]
            self._heed(self._alarms.seconds_left(min((end for end in ends if end is not None), default=None)))

    def serve(self, stopped: threading.Event) -> None:
        """Let time pass and dispatch events until `stopped` is set, which is polled."""
        if not self._alarms.begun:
            self._begin()
        while not stopped.is_set():
            self._alarms.ring()
            self._heed(_LOOK_SECONDS)

    def _heed(self, seconds: float | None) -> None:
        """Wait up to `seconds` for events, and dispatch them."""
        for key, _ in self._selector.select(seconds):
            key.data()

    def _carriers(self) -> None:
        for interface, up in self._watch.take():
            node, port = self._ports.get(interface, ("", 0))
            if node and port != HOST_PORT and self.on_port is not None:
                self.on_port(node, port, up)

    def _take_packet_ins(self) -> None:
        for node in self._packet_ins.take():
            if self.on_packet_in is not None:
                self.on_packet_in(node)

    def _hear(self) -> None:
        self._agents.on_silence = self.on_silence
        self._agents.hear()

    def check(self) -> None:
        """Raise a TestbedError if a switch process has ended by itself."""
        self._processes.check()

    # -- results

    def _finish(self) -> None:
        if not self._agents or self._ending is not None:
            return
        seconds = self._alarms.real_seconds
        cpu_busy, used = self._meter.read()
        reports = self._agents.finish()
        # Duplicates and acknowledgements may still be on their way.
        after = self._links.settled_counters()
        circuits = self._links.carried.spans()
        self._ending = Ending(reports, Between(self._counted, after), seconds, cpu_busy, used, circuits)

    @property
    def _ended(self) -> Ending:
        if self._ending is None:
            raise TestbedError("the run has not ended", remedy="call run() until it returns True")
        return self._ending

    @property
    def busy(self) -> bool:
        """True while an agent still has something to do."""
        return self._agents.busy

    def outcome(self, node: str) -> Ended | MemoryAgent:
        """Return the outcome of a node's agent.

        Before run() has returned True the array is empty, and the counts are those that the agent noted last.
        """
        return self._agents.outcome(node)

    @property
    def agent_seconds(self) -> float:
        """Processor time of all agents together, after run() has returned True."""
        return self._ended.agent_seconds

    @property
    def switch_seconds(self) -> float:
        """Processor time of all switch processes together, after run() has returned True."""
        return self._ended.switch_seconds

    @property
    def delivered_bytes(self) -> int:
        """Bytes of frames on the data VLs that have reached hosts so far."""
        return self._agents.received_bytes

    def delivered_bins(self) -> tuple[int, ...]:
        """Return `delivered_bytes` by bins of `bin_ps`, after run() has returned True."""
        return self._ended.bins()

    def link_usage(self) -> Mapping[str, tuple[LinkUsage, LinkUsage]]:
        """Return the usage of each link up to now: from its first to its second end, and back."""
        return self._samples.usage() if self._ending is None else self._ending.usage(self.fabric)

    def measured(self, seen: Mapping[str, SwitchReport], steps: int) -> Measured:
        """Return the measurements that judge the times of this run, after run() has returned True."""
        measured, self.frames_without_link = self._ended.measured(
            self.fabric, self.dilation, seen, self._links.struck, shaped=self._links.shaped, steps=steps
        )
        return measured


def _raise(error: TestbedError) -> NoReturn:
    raise error
