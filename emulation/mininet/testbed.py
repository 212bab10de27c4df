# SPDX-License-Identifier: Apache-2.0
"""The Mininet testbed: a fabric in real time, of namespaces, veth pairs and switch processes.

Needs Linux and root. Everything it makes is recorded first, and removed by stop() or `railyard clean`.
"""

import os
import selectors
from collections.abc import Callable, Iterable, Mapping
from contextlib import closing
from math import ceil
from pathlib import Path
from types import MappingProxyType
from typing import Any, NoReturn, final

from emulation.errors import TestbedError
from emulation.linux.record import RunRecord
from emulation.linux.watch import CarrierWatch
from emulation.mininet.agents.attached import Agents
from emulation.mininet.agents.measure import CpuMeter
from emulation.mininet.agents.messages import Reports
from emulation.mininet.agents.population import Population
from emulation.mininet.ip.ports import IpPorts
from emulation.mininet.links.cabling import HOST_INTERFACE, cable
from emulation.mininet.links.connections import LocalConnections
from emulation.mininet.links.cross_connect import CrossConnect
from emulation.mininet.links.endpoints import Tunnel
from emulation.mininet.links.links import Links
from emulation.mininet.machine import need_machine
from emulation.mininet.net import make_net
from emulation.mininet.real_time import RealTimeTestbed
from emulation.mininet.samples import Samples
from emulation.mininet.switches.processes import SwitchKind, SwitchProcesses, choose
from topologies import HOST_PORT, End, Fabric, Link

__all__ = ["DEFAULT_MTU", "MininetTestbed"]

# The longest UB packet.
DEFAULT_MTU = 10240

_CARRIER_SECONDS = 30.0


@final
class MininetTestbed(RealTimeTestbed):
    """A fabric in real time on this machine; a second of the scenario takes `dilation` real seconds.

    Links are limited to their rate / `dilation` if that is at most 20 Gbit/s.

    Args:
        switch: kind of switch, by default BMv2 if it is installed.
        mtu: bytes of the longest UB packet that links carry.
        bin_ps, frame_bytes: as in RealTimeTestbed.
        buffer_bytes: waiting bytes that a sample shows as a full queue.
        ip: whether every host has an IPv4 interface `ub0`.
        lanes: whether frames wait for a link by service level.
        ip_others: CNAs of further hosts with IPv4, on other machines.
        tunnels: tunnels in place of the ends of links that are on other machines.
    """

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
        frame_bytes: int | None = None,
    ) -> None:
        super().__init__(fabric, choose(switch), dilation, bin_ps, frame_bytes)
        self._mtu = mtu
        self._buffer_bytes = buffer_bytes
        self._with_ip = ip
        self._ip_others = ip_others
        self._tunnels = tunnels
        self.ip: IpPorts | None = None
        self._lanes = lanes
        self.on_host_message: Callable[[tuple[Any, ...]], None] | None = None
        """Callback that takes the messages of host processes; None: the testbed handles them."""

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
        done = self._stages()
        # The parent of the host processes loads its modules while links are made.
        population = self.population = Population(record)
        self._teardown.add(population.close)
        switches = record.namespace("fabric")
        links = record.namespace("links")
        self.shared_namespaces = {"fabric": switches, "links": links}
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
        cross_connect = CrossConnect(links)
        self._teardown.add(cross_connect.close)
        self.connections = LocalConnections(
            self.fabric,
            cross_connect,
            cabling,
            self.dilation,
            lanes=self._lanes,
            paced=self.switch == "builtin",
        )
        self._teardown.add(self.connections.close)
        self.connections.connect()
        self._links = Links(self.fabric, self.connections)
        self._ports = {interface: port for port, interface in cabling.interfaces.items()}
        # Wait: otherwise switches start with ports that look dead, and hosts' interfaces drop frames.
        joined = {cabling.interfaces[end.node, end.port] for end in self.connections.joined_ends()}
        self._watch.await_up(joined, _CARRIER_SECONDS)
        for namespace in self.namespaces.values():
            with closing(CarrierWatch(namespace)) as watch:
                watch.await_up([HOST_INTERFACE], _CARRIER_SECONDS)
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
        self._processes = SwitchProcesses(
            self.switch,
            record,
            switches,
            self.fabric,
            cabling.interfaces,
            self._frames_per_second(),
            self.connections.switch_rates(),
        )
        self._teardown.add(self._processes.stop)
        self._processes.start()
        self._processes.wait_ready()
        self.addresses = self._processes.addresses
        self._packet_ins.open()
        self._teardown.add(self._packet_ins.close)
        self._selector = self._watched(population)
        self._samples = Samples(self.fabric, self._links, self._buffer_bytes)
        done("switches")

    def _frames_per_second(self) -> Mapping[tuple[str, int], int] | None:
        """Return the data frames a real second of links, by node and port; None without frame_bytes."""
        if self.frame_bytes is None:
            return None
        bits = 8 * self.frame_bytes * self.dilation
        rates = {end: ceil(link.rate_bps / bits) for link in self.fabric.links for end in (link.a, link.b)}
        rates |= {
            end: ceil(optical.rate_bps / bits) for optical in self.fabric.optical for end in optical.ends
        }
        return {(end.node, end.port): rate for end, rate in rates.items()}

    def _watched(self, population: Population) -> selectors.BaseSelector:
        selector = selectors.DefaultSelector()
        self._teardown.add(selector.close)
        selector.register(self._watch, selectors.EVENT_READ, self._carriers)
        selector.register(self._packet_ins, selectors.EVENT_READ, self._take_packet_ins)
        selector.register(population.connection, selectors.EVENT_READ, self._hear_host)
        for part in (self._processes, self.ip) if self.ip else (self._processes,):
            for name, process in part.processes.items():
                handle = os.pidfd_open(process.pid)
                self._teardown.add(lambda handle=handle: os.close(handle))
                selector.register(
                    handle, selectors.EVENT_READ, lambda part=part, name=name: _raise(part.died(name))
                )
        return selector

    def environment(self) -> dict[str, str]:
        """Return the environment for processes in the namespaces; `railyard clean` finds processes by it."""
        return self._running.environment()

    @property
    def run_id(self) -> str:
        """Id of the run, a part of the names of its namespaces."""
        return self._running.id

    @property
    def folder(self) -> Path:
        """Folder of the run's record, deleted at the end of the run."""
        return self._running.folder

    def capture(self, link: Link, path: Path) -> None:
        """Write the frames of a connected link, or of a circuit between machines, to a pcap file."""
        self.connections.record(link, path, self._running)

    def on_readable(self, handle: int, callback: Callable[[], None]) -> None:
        """Have run() and serve() call `callback` whenever a descriptor is readable."""
        self._selector.register(handle, selectors.EVENT_READ, callback)

    def meter(self) -> CpuMeter:
        """Return a meter of this machine's processors and of the switch processes."""
        return CpuMeter({name: process.pid for name, process in self._processes.processes.items()})

    def _carriers(self) -> None:
        for interface, up in self._watch.take():
            node, port = self._ports.get(interface, ("", 0))
            if node and port != HOST_PORT and self.on_port is not None:
                self.on_port(node, port, up)

    def _hear_host(self) -> None:
        message = self.population.message()
        if self.on_host_message is None:
            self._hear(message)
        else:
            self.on_host_message(message)

    def end_hosts(self) -> Reports:
        """Stop the host processes, and return their reports; run() and serve() no longer watch them."""
        self._selector.unregister(self.population.connection)
        return self.population.reports()

    def check(self) -> None:
        """Raise a TestbedError if a switch process has ended by itself."""
        self._processes.check()


def _raise(error: TestbedError) -> NoReturn:
    raise error
