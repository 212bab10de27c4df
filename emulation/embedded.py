# SPDX-License-Identifier: Apache-2.0
"""The embedded testbed: every switch in this process, virtual time, no root.

Virtual time stands still while the control plane acts: a P4Runtime write takes no virtual time of its own,
and the same scenario and seed give the same run.
"""

import threading
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Literal, Self, final

from emulation._engine import Network
from emulation.errors import DeadlockedError, EmulationError, TestbedError
from emulation.p4runtime_server import P4RuntimeServer
from emulation.testbed import Host, LinkUsage, PortHandler
from topologies import HOST_PORT, Fabric, Node

__all__ = ["EmbeddedTestbed", "PacketInHandler"]

PacketInHandler = Callable[[str], None]
"""Called with the node that sent a packet-in, once the P4Runtime server has it in its stream."""

_REACHED_UNTIL, _CONTROL, _DEADLOCK = 1, 2, 3
_DATA_VLS = 2


@final
class EmbeddedTestbed:
    """A fabric in virtual time.

    `credit_bytes` is the receive buffer of a port and VL: links are lossless, and a frame waits for credits.
    0 makes them drop-tail. The port of a node's own side has as many buffers as the node has neighbours.
    `scheduler` says which VL an output serves next: docs/links.md.
    `bin_ps` > 0 records the bytes that reach hosts, by bins of that width.
    """

    name = "embedded"

    def __init__(
        self,
        fabric: Fabric,
        *,
        grpc_address: str = "127.0.0.1:0",
        credit_bytes: int = 65536,
        scheduler: Literal["strict", "round-robin"] = "strict",
        bin_ps: int = 0,
    ) -> None:
        self.fabric = fabric
        self.on_port: PortHandler | None = None
        self.on_packet_in: PacketInHandler | None = None
        self.network = Network()
        self._credit_bytes = credit_bytes
        self._scheduler: Literal["strict", "round-robin"] = scheduler
        self._grpc_address = grpc_address
        self._address: str | None = None
        self._lock = threading.RLock()
        self._work = threading.Event()
        self._alarms: dict[int, Callable[[], None]] = {}
        self._next_alarm = 0
        self._hosts: dict[str, int] = {}
        self._node_of = [node.name for node in fabric.nodes]
        self._switches = {name: index for index, name in enumerate(self._node_of)}
        self.device_ids: Mapping[str, int] = MappingProxyType({n.name: n.device_id for n in fabric.nodes})
        if bin_ps > 0:
            self.network.set_bin(bin_ps, _DATA_VLS)
        self._server: P4RuntimeServer | None = None

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def start(self) -> None:
        """Make switches and links and serve P4Runtime. EmulationError when the address is taken."""
        if self._server is not None:
            raise TestbedError("the embedded testbed runs already", remedy="stop it first")
        try:
            self._build()
        except ValueError as error:
            raise TestbedError(f"fabric {self.fabric.name}: {error}", remedy="correct the fabric") from error
        devices = {self.device_ids[name]: index for name, index in self._switches.items()}
        server = P4RuntimeServer(
            self.network,
            devices,
            self._grpc_address,
            lock=self._lock,
            on_packet_out=self._work.set,
            at=self.at,
        )
        self._address = server.start()
        self._server = server

    def _build(self) -> None:
        fabric, network = self.fabric, self.network
        for node in fabric.nodes:
            network.add_switch(node.name)
        for link in fabric.links:
            network.connect(
                self._switches[link.a.node],
                link.a.port,
                self._switches[link.b.node],
                link.b.port,
                link.rate_bps,
                link.delay_ps,
                self._credit_bytes,
                scheduler=self._scheduler,
            )
        for node in fabric.nodes:
            if any(port.number == HOST_PORT and port.dimension is None for port in node.ports):
                rate = fabric.host_lanes * fabric.lane_rate_bps
                self._hosts[node.name] = network.attach_host(
                    self._switches[node.name],
                    HOST_PORT,
                    rate,
                    fabric.host_delay_ps,
                    self._host_credit(node),
                    scheduler=self._scheduler,
                )

    def _host_credit(self, node: Node) -> int:
        """Room for all that its ports can take on: a busy port then never blocks the others at the source."""
        return self._credit_bytes * max(1, len(self.fabric.neighbours(node.name)))

    @property
    def address(self) -> str:
        """Of the P4Runtime server, `host:port`."""
        if self._address is None:
            raise TestbedError("the embedded testbed has no address yet", remedy="call start() first")
        return self._address

    @property
    def now_ps(self) -> int:
        """Virtual time in picoseconds."""
        return self.network.now

    def attach(self, node: str, host: Host) -> None:
        """Put `host` on the node's own port and let it send its first frames."""
        if node not in self._hosts:
            raise TestbedError(f"{node} has no host port", remedy="attach hosts to the fabric's NPUs")
        with self._lock:
            self.network.set_handler(self._hosts[node], host)
            self._engine(lambda: self.network.act(self._hosts[node], host.start(self.network.now)))

    def set_link(self, name: str, up: bool) -> None:
        """Take a link down or bring it up, now; what is on the wire or queued for it is lost."""
        index = self.fabric.links.index(self.fabric.link(name))
        with self._lock:
            self.network.set_link(index, up)

    def at(self, time_ps: int, callback: Callable[[], None]) -> None:
        """Call `callback` at that virtual time, between two events of the network."""
        token, self._next_alarm = self._next_alarm, self._next_alarm + 1
        self._alarms[token] = callback
        with self._lock:
            self.network.alarm(time_ps, token)

    def run(self, until_ps: int | None = None) -> bool:
        """Let virtual time pass: True when nothing is left to happen, False at `until_ps`.

        Table entries age while time passes, but without `until_ps` it does not pass for that alone.
        DeadlockedError when frames wait for credits that can never come back.
        """
        while True:
            with self._lock:
                end = self._engine(lambda: self.network.run(until_ps))
                item = self.network.take_control() if end == _CONTROL else None
            if item is not None:
                self._dispatch(item)
            elif end == _DEADLOCK:
                raise self._deadlock()
            else:
                return end != _REACHED_UNTIL

    def serve(self, stopped: threading.Event) -> None:
        """Run whatever packet-outs start, until `stopped` is set."""
        while not stopped.is_set():
            if self._work.wait(timeout=0.2):
                self._work.clear()
                self.run()

    def _engine(self, call: Callable[[], object]) -> object:
        try:
            return call()
        except RuntimeError as error:
            raise EmulationError(str(error)) from error

    def _dispatch(self, item: tuple[str, int, int, int, bool, bytes]) -> None:
        kind, _, switch, value, up, _ = item
        if kind == "alarm":
            self._alarms.pop(value)()
            return
        if self._server is not None:
            self._server.deliver(item)
        if kind == "port" and self.on_port is not None:
            self.on_port(self._node_of[switch], value, up)
        elif kind == "packet_in" and self.on_packet_in is not None:
            self.on_packet_in(self._node_of[switch])

    def _deadlock(self) -> DeadlockedError:
        cycle = []
        for link, direction, vl in self.network.deadlock():
            one = self.fabric.links[link]
            ends = (one.a.node, one.b.node) if direction == 0 else (one.b.node, one.a.node)
            cycle.append((one.name, "->".join(ends), vl))
        return DeadlockedError(self.network.now, tuple(cycle))

    def link_usage(self) -> Mapping[str, tuple[LinkUsage, LinkUsage]]:
        """By link name: from its first to its second end, and back."""
        return {
            link.name: (self._usage(index, 0), self._usage(index, 1))
            for index, link in enumerate(self.fabric.links)
        }

    def _usage(self, link: int, direction: int) -> LinkUsage:
        seen = self.network.link_stats(link, direction)
        return LinkUsage(
            frames=seen["frames"],
            bytes=seen["bytes"],
            busy_ps=seen["busy_ps"],
            lost_frames=seen["lost"],
            refused_frames=seen["refused_down"] + seen["refused_full"],
            max_queued_bytes=seen["max_queued_bytes"],
        )

    @property
    def frames_without_link(self) -> int:
        """Frames that a program sent to a port that leads nowhere."""
        return self.network.frames_without_link

    def delivered_bins(self) -> tuple[int, ...]:
        """Bytes of frames on the data VLs that reached hosts, by bins of `bin_ps`."""
        return tuple(self.network.delivered_bins())

    def stop(self) -> None:
        """Stop the server and let the hosts go. Harmless when nothing runs."""
        if self._server is not None:
            self._server.stop()
            self._server = None
        for host in self._hosts.values():
            self.network.set_handler(host, None)
