# SPDX-License-Identifier: Apache-2.0
"""IPv4 interfaces of a testbed's hosts; their packets cross the fabric as UB frames."""

import json
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterable, Mapping
from contextlib import ExitStack, closing
from ipaddress import IPv4Address
from pathlib import Path
from types import MappingProxyType
from typing import final

from emulation.errors import TestbedError
from emulation.linux import netns, requests
from emulation.linux.netlink import RouteSocket
from emulation.linux.record import RunRecord
from emulation.linux.tap import open_tap
from emulation.mininet.ip.carrier import COUNTERS
from emulation.mininet.switches.processes import spawn
from emulation.traffic.frames.ip import PREFIX_LENGTH, IpCounters, address_of, ip_mtu
from emulation.traffic.frames.values import ETHERTYPE
from emulation.traffic.frames.wire import mac_bytes
from topologies import Fabric

__all__ = ["INTERFACE", "IpPorts", "ip_addresses"]

INTERFACE = "ub0"
"""Name of the IPv4 interface in every host's namespace."""

_LINK = "eth0"
_SO_SNDBUFFORCE, _SO_RCVBUFFORCE = 32, 33
_BUFFER_BYTES = 8 << 20
_STOP_SECONDS = 5.0


def ip_addresses(fabric: Fabric, hosts: Mapping[str, str]) -> Mapping[str, IPv4Address]:
    """Return the IPv4 address of every host, by node; the keys of `hosts` are the nodes with a host."""
    return MappingProxyType({node: address_of(fabric.node(node).address) for node in hosts})


@final
class IpPorts:
    """An interface `ub0` on every host, and processes to carry its packets until close().

    When the constructor returns, the interfaces are up, with IPv4 and MAC addresses. The attribute `mtu` is
    the MTU of the interfaces.

    Args:
        record: record of the run.
        fabric: the fabric.
        namespaces: namespace of each host, by node.
        mtu: bytes of the longest UB packet on links.
        namespace: namespace in which the processes run.
        others: CNAs of further hosts with IPv4, on other machines.
    """

    def __init__(
        self,
        record: RunRecord,
        fabric: Fabric,
        namespaces: Mapping[str, str],
        mtu: int,
        namespace: str,
        others: Iterable[int] = (),
    ) -> None:
        self.mtu = ip_mtu(mtu)
        self.addresses = ip_addresses(fabric, namespaces)
        self.processes: dict[str, subprocess.Popen[bytes]] = {}
        self._record = record
        self._counters: dict[str, tuple[int, int]] = {}  # (process, position in it) by node
        cnas = {node: fabric.node(node).address for node in namespaces}
        self._hosts = sorted({*cnas.values(), *others})
        nodes = list(namespaces)
        count = min(len(nodes), max(1, (os.cpu_count() or 1) // 2))
        try:
            for number in range(count):
                self._start(number, nodes[number::count], namespaces, cnas, namespace)
        except BaseException:
            self.close()
            raise

    def _start(
        self,
        number: int,
        nodes: list[str],
        namespaces: Mapping[str, str],
        cnas: Mapping[str, int],
        namespace: str,
    ) -> None:
        with ExitStack() as stack:
            ports: list[tuple[int, int, int]] = []
            for position, node in enumerate(nodes):
                tap = netns.inside(namespaces[node], lambda: open_tap(INTERFACE))
                stack.callback(os.close, tap)
                link = stack.enter_context(netns.inside(namespaces[node], _packet_socket))
                self._configure(node, namespaces[node], cnas[node])
                ports.append((cnas[node], tap, link.fileno()))
                self._counters[node] = number, position
            name = f"ip{number}"
            job = self._record.folder / f"{name}.json"
            job.write_text(json.dumps({"ports": ports, "hosts": self._hosts, "mtu": self.mtu}))
            self._tally(number).write_bytes(bytes(COUNTERS.size * len(nodes)))
            command = [
                sys.executable,
                "-m",
                "emulation.mininet.ip.carrier",
                str(job),
                str(self._tally(number)),
            ]
            handles = [handle for _, *pair in ports for handle in pair]
            self.processes[name] = spawn(
                self._record, namespace, command, log=self._record.folder / f"{name}.log", pass_fds=handles
            )

    def _configure(self, node: str, namespace: str, cna: int) -> None:
        index, loopback = netns.inside(
            namespace, lambda: tuple(map(socket.if_nametoindex, (INTERFACE, "lo")))
        )
        with closing(RouteSocket(namespace)) as route:
            what = f"interface {INTERFACE} of {node}"
            route.do(
                [
                    requests.set_mac(index, mac_bytes(cna), what),
                    requests.set_up(index, True, what, mtu=self.mtu),
                    requests.add_address(index, self.addresses[node], PREFIX_LENGTH, what),
                    requests.set_up(loopback, True, f"the loopback interface of {node}"),
                ]
            )

    def _tally(self, number: int) -> Path:
        return self._record.folder / f"ip{number}.counters"

    def counters(self) -> Mapping[str, IpCounters]:
        """Return the counters of every host's port since its start, by node."""
        tallies = [self._tally(number).read_bytes() for number in range(len(self.processes))]
        return {
            node: IpCounters(*COUNTERS.unpack_from(tallies[number], position * COUNTERS.size))
            for node, (number, position) in self._counters.items()
        }

    def died(self, name: str) -> TestbedError:
        """Return the error for a carrier process that has ended by itself, with the last lines of its log."""
        code = self.processes[name].wait()
        log = self._record.folder / f"{name}.log"
        words = log.read_text(errors="replace").strip().splitlines()[-3:]
        ending = f"by {signal.Signals(-code).name}" if code < 0 else f"with code {code}"
        return TestbedError(
            f"the process {name}, which carries IPv4 packets, has ended {ending}: "
            f"{' / '.join(words) or 'no output'}",
            remedy="see `dmesg` for a lack of memory; else this is a bug of Railyard: report it",
        )

    def close(self) -> None:
        """End the processes, and with them the interfaces; does nothing if none runs."""
        for process in self.processes.values():
            process.terminate()
        for process in self.processes.values():
            try:
                process.wait(_STOP_SECONDS)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
        self.processes.clear()


def _packet_socket() -> socket.socket:
    """Return a raw socket for UB frames on `eth0` of the calling thread's namespace."""
    link = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, 0)
    for option in (_SO_SNDBUFFORCE, _SO_RCVBUFFORCE):
        link.setsockopt(socket.SOL_SOCKET, option, _BUFFER_BYTES)
    link.bind((_LINK, ETHERTYPE))
    link.setblocking(False)
    return link
