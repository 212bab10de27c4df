# SPDX-License-Identifier: Apache-2.0
"""The embedded testbed: every switch in this process, virtual time, no root.

Virtual time stands still while the control plane acts: a P4Runtime write takes no virtual time, and the same
scenario and seed give the same run.
"""

import threading
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from types import MappingProxyType
from typing import Any, Literal, final

import numpy as np
from numpy.typing import NDArray

from emulation._engine import Application, Network
from emulation.circuits import circuit_switches, set_circuit_up
from emulation.embedded.agents import Agents
from emulation.embedded.frame_service import frame_service
from emulation.embedded.host_ports import HostPorts
from emulation.embedded.links import Links, usage_of
from emulation.embedded.partitions import partitions_for
from emulation.embedded.queues import PauseLimits, QueueLimit, queue_policy
from emulation.embedded.virtual_time import ControlEvent, VirtualTime
from emulation.errors import TestbedError
from emulation.fidelity import Measured
from emulation.lifetime import Lifetime
from emulation.p4runtime import P4RuntimeServer, Requests
from emulation.p4runtime.pipeline.pipelines import PIPELINES, TRACED_PIPELINES
from emulation.targets import LinkDirection
from emulation.testbed import (
    DoneHandler,
    Impairment,
    IterationHandler,
    LinkSample,
    LinkUsage,
    PacketInHandler,
    PortHandler,
    RecentFrame,
    RepathHandler,
    SwitchReport,
    Watch,
)
from emulation.traffic.frames.values import SERVED_VLS, VL_RESPONSE, NetworkHeader
from emulation.traffic.host.participant import Host, Participant
from emulation.traffic.host.spec import AgentSpec
from emulation.traffic.host.stats import Outcome
from emulation.traffic.schedule.data import Array
from emulation.traffic.tree.member import make_all
from emulation.traffic.tree.spec import MemberSpec, TreePort
from emulation.traffic.tree.work import Block
from emulation.tree_testbed import TreeLostHandler, WaitingBlocks
from topologies import Fabric, Node
from topologies.model.circuits import circuit_link

__all__ = ["EmbeddedTestbed"]

# Bit of a frame that chooses the lane of a service level: the last bit of the VL, in the LPH after Ethernet.
_LANE_BIT = 8 * 15 + 2


@final
class EmbeddedTestbed(Lifetime):
    """A `WatchableTestbed` in virtual time, in this process.

    `credit_bytes` is the receive buffer of a port and VL: links are lossless, and frames wait for
    credits; 0 makes links drop-tail. `queues` gives limits to queues in place of credits: links then drop
    or trim frames, and `pauses` adds priority flow control; `port_queues` replaces `queues` for
    directions. The port to a node's host has a buffer of `credit_bytes` for each neighbour of the node.
    `scheduler` chooses the VL that an output serves next (docs/reference/links.md). `bin_ps` > 0 counts
    the bytes that reach hosts in time bins of that width. `seed` decides which frames an impaired link
    loses. `traced` switches report what a frame executes (network.trace), but are slower. With
    `network_header` cna24 links carry CNA24 and reliable transport headers, which the engine converts at
    host ports. `threads` run partitions of the fabric, chosen for a `demand` in bytes by pair of nodes;
    without a demand the fabric is a single partition. `make_agents` makes agents from their descriptions:
    tests replace it. `agents` has the attached agents.
    """

    name = "embedded"
    virtual = True
    dilation = 1

    def __init__(
        self,
        fabric: Fabric,
        *,
        grpc_address: str | None = None,
        credit_bytes: int = 65536,
        scheduler: Literal["strict", "round-robin"] = "strict",
        bin_ps: int = 0,
        seed: int = 0,
        traced: bool = False,
        network_header: NetworkHeader = "cna16",
        threads: int = 1,
        demand: Mapping[tuple[str, str], float] | None = None,
        queues: Mapping[str, QueueLimit] | None = None,
        pauses: PauseLimits | None = None,
        port_queues: Mapping[LinkDirection, Mapping[str, QueueLimit]] = MappingProxyType({}),
    ) -> None:
        self._policy = None if queues is None else queue_policy(queues, pauses)
        self._pauses = pauses is not None
        credit_bytes = credit_bytes if queues is None else 0
        self.fabric = fabric
        self.network_header: NetworkHeader = network_header
        self.make_agents: Callable[[Sequence[AgentSpec | MemberSpec], int], Sequence[Any]] = make_all
        self.on_port: PortHandler | None = None
        self.on_packet_in: PacketInHandler | None = None
        self.on_repath: RepathHandler | None = None
        self.on_log: Callable[[str], None] | None = None
        self.watch: Watch | None = None
        self.network = Network()
        self._credit_bytes = credit_bytes
        self._scheduler: Literal["strict", "round-robin"] = scheduler
        self._grpc_address = grpc_address
        self._traced = traced
        self.threads = threads
        self._demand = demand
        self._address: str | None = None
        self._lock = threading.RLock()
        self._work = threading.Event()
        self._hosts: dict[str, int] = {}
        self._node_of = [node.name for node in fabric.nodes]
        self.host_ports = HostPorts(self.network, self._hosts, self._lock, self._work)
        self._switches = {name: index for index, name in enumerate(self._node_of)}
        ports = {port: queue_policy(limits, pauses) for port, limits in port_queues.items()}
        self._links = Links(
            fabric, self.network, self._switches, credit_bytes, scheduler, self._policy, ports
        )
        self._time = VirtualTime(self.network, self._links, self._lock)
        self.agents = Agents(self.network, self._hosts, self._lock)
        self.device_ids: Mapping[str, int] = MappingProxyType({n.name: n.device_id for n in fabric.nodes})
        self.circuits = circuit_switches(fabric, self)
        self.network.set_seed(seed)
        if network_header == "cna24":
            self.network.set_cna24()
        self.network.set_lanes(_LANE_BIT, SERVED_VLS)
        if bin_ps > 0:
            self.network.set_bin(bin_ps, SERVED_VLS.index(VL_RESPONSE))
        self._server: P4RuntimeServer | None = None
        self._started = False

    def start(self) -> None:
        """Make switches and links, and serve P4Runtime.

        Raises:
            MachineError: The address of the P4Runtime server is taken.
            TestbedError: The fabric cannot be built, or start() was called before.
        """
        if self._server is not None:
            raise TestbedError("the embedded testbed runs already", remedy="stop it first")
        if self._started:
            raise TestbedError("the embedded testbed was started before", remedy="make a new testbed")
        self._started = True
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
            pipelines=TRACED_PIPELINES if self._traced else PIPELINES,
            others=[] if self._grpc_address is None else [frame_service(self.host_ports)],
        )
        self._address = server.start()
        self._server = server
        self._time.on_event = self._dispatch

    def _build(self) -> None:
        fabric, network = self.fabric, self.network
        for node, partition in zip(fabric.nodes, self._partitions(), strict=True):
            network.add_switch(node.name, partition=partition)
        self._links.build()
        for name, end in fabric.host_ends().items():
            self._hosts[name] = network.attach_host(
                self._switches[end.node],
                end.port,
                fabric.host_lanes * fabric.lane_rate_bps,
                fabric.host_delay_ps,
                self._host_credit(fabric.node(end.node)),
                scheduler=self._scheduler,
                policy=self._policy,
            )

    def _partitions(self) -> Sequence[int]:
        """Return the partition number of each node, in order, and set the engine's threads."""
        if self._demand is None:
            return [0] * len(self.fabric.nodes)
        self.network.set_threads(self.threads)
        return partitions_for(self.fabric, self.threads, self._demand)

    def _links_with(self, name: str) -> Links:
        if self._address is None:
            raise TestbedError(f"link {name}: the testbed has no links yet", remedy="call start() first")
        return self._links

    def _host_number(self, node: str) -> int:
        if node not in self._hosts:
            raise TestbedError(f"{node} has no host port", remedy="name one of the fabric's NPUs")
        return self._hosts[node]

    def _host_credit(self, node: Node) -> int:
        """Return the host port's buffer in bytes, so large that a busy port never blocks other ports."""
        return self._credit_bytes * max(1, len(self.fabric.neighbours(node.name)))

    @property
    def address(self) -> str:
        """Address of the P4Runtime server, `host:port`."""
        if self._address is None:
            raise TestbedError("the embedded testbed has no address yet", remedy="call start() first")
        return self._address

    @property
    def addresses(self) -> Mapping[str, str]:
        """Address of the P4Runtime server for every node."""
        return dict.fromkeys(self._switches, self.address)

    def requests(self, node: str) -> Requests:
        """Return the counts of P4Runtime requests to a node so far: updates and pipelines."""
        if self._server is None:
            raise TestbedError(f"{node} has no P4Runtime server", remedy="call start() first")
        return self._server.requests(self.device_ids[node])

    @property
    def seconds(self) -> Mapping[str, float]:
        """Empty: start() has no stages."""
        return {}

    @property
    def now_ps(self) -> int:
        """Virtual time in picoseconds."""
        return self.network.now

    def attach(self, node: str, host: Host | Application) -> None:
        """Attach `host` to the node's host port and start it."""
        self._host_number(node)
        if self.on_repath is not None and isinstance(host, Participant):
            host.on_repath = partial(self.on_repath, node)  # type: ignore[union-attr]
        self.agents.attach(node, host)

    def attach_agents(
        self,
        specs: Mapping[str, AgentSpec | MemberSpec],
        *,
        on_done: DoneHandler | None = None,
        on_iteration: IterationHandler | None = None,
        on_tree_lost: TreeLostHandler | None = None,
    ) -> None:
        """Make an agent for each node of `specs` from its description, and attach the agents in order.

        The callbacks get the node of an agent that ends, ends an iteration, or reports its tree as lost.
        """
        agents = self.make_agents([*specs.values()], self.threads)
        for (node, spec), agent in zip(specs.items(), agents, strict=True):
            if on_done is not None:
                agent.on_done = partial(on_done, node)
            if on_iteration is not None and isinstance(spec, AgentSpec) and spec.profile is not None:
                agent.on_iteration = partial(on_iteration, node)
            if on_tree_lost is not None and isinstance(spec, MemberSpec):
                agent.on_lost = partial(on_tree_lost, node)
        for node, agent in zip(specs, agents, strict=True):
            self.attach(node, agent)

    def ask_waiting(self, nodes: Sequence[str], tree: int, answered: Callable[[WaitingBlocks], None]) -> None:
        """Call `answered` at once with the blocks of a tree whose results each member lacks, by node."""
        answered({node: self.agents.of(node).lacking_of(tree) for node in nodes})

    def move_members(self, tree: int, ports: Mapping[str, TreePort], blocks: Sequence[Block]) -> None:
        for node, port in ports.items():
            self.agents.act(node, self.agents.of(node).move(tree, port, blocks, self.now_ps))

    def replaced_result(self, node: str) -> Array:
        """Return the array of the agent replaced by the node's present agent."""
        return self.agents.replaced_result(node)

    def interrupt(self) -> None:
        """Let run() return False at the present time; for callbacks of agents."""
        self._time.interrupt()

    def set_level(self, node: str, level: int) -> None:
        self.agents.set_level(node, level)

    def stand_by(self, node: str) -> None:
        """Do nothing: any node can take an agent at any time."""

    def restart(
        self, specs: Mapping[str, AgentSpec], *, on_iteration: IterationHandler | None = None
    ) -> None:
        """Replace all agents; frames that old agents have handed to their host ports still leave."""
        self.agents.remove_all()
        self.attach_agents(specs, on_iteration=on_iteration)

    def give_up(self) -> None:
        """Do nothing: the outcome of an agent is available at any time."""

    def set_link(self, name: str, up: bool) -> None:
        """Take a link down or up now; frames on the wire or queued for it are lost.

        A circuit that is brought up carries frames while its optical switch joins its ports.
        """
        with self._lock:
            self._links_with(name).set_up(name, up)
        set_circuit_up(self.circuits, self.fabric, name, up)

    def set_host_link(self, node: str, up: bool) -> None:
        with self._lock:
            self.network.set_host_link(self._host_number(node), up)

    def impair(self, name: str, direction: int, how: Impairment) -> None:
        """Replace the impairment of a direction; frames on their way are not affected.

        Direction 0 leads from the link's first end to its second. The impairment of a circuit stays until it
        is changed, whether the circuit is set up or not.
        """
        with self._lock:
            self._links_with(name).impair(name, direction, how)

    def send_pause(self, name: str, direction: int, stop: bool) -> None:
        """Send a pause frame to stop or resume the classes of a direction of a link.

        The link needs priority flow control. While classes are stopped, frames that wait do not count as a
        deadlock.

        Args:
            name: name of the link.
            direction: direction, 0 or 1, in which the frame travels.
            stop: whether the classes stop; otherwise they resume.
        """
        with self._lock:
            self._links_with(name).send_pause(name, direction, stop)

    def record(self, name: str, path: Path | str, direction: int | None = None) -> None:
        """Write the frames of a link to a capture file from now on, of both directions or of `direction`.

        A frame is written with the virtual time at which its sending begins, to the nanosecond, whether it
        arrives or not. The file is complete whenever run() has returned, and closed by stop().
        """
        with self._lock:
            self._links_with(name).record(name, path, direction)

    def cut(self, optical: str, low: int, high: int) -> None:
        """Tear a circuit down for `circuits`; frames on it or queued for it are lost."""
        name = circuit_link(self.fabric, optical, (low, high)).name
        with self._lock:
            self._links_with(name).cut(name)

    def join(self, optical: str, low: int, high: int) -> None:
        """Set up a circuit for `circuits` between two dark ports."""
        name = circuit_link(self.fabric, optical, (low, high)).name
        with self._lock:
            self._links_with(name).join(name)

    def at(self, time_ps: int, callback: Callable[[], None]) -> None:
        """Call `callback` at virtual time `time_ps`, between two events of the network."""
        self._time.at(time_ps, callback)

    def run(self, until_ps: int | None = None) -> bool:
        """Let virtual time pass; return True when no event is left, False at `until_ps` or interrupted.

        Table entries age while time passes, but without `until_ps` time does not pass for ageing alone.
        DeadlockedError if frames wait for credits that cannot return.
        """
        while (watch := self.watch) is not None and (until_ps is None or watch.next_ps < until_ps):
            if self._time.run_to(watch.next_ps):
                break  # nothing is left but the ageing of table entries up to `until_ps`
            if self._time.was_interrupted:
                return False
            watch.tick()
        return self._time.run_to(until_ps)

    def settle(self) -> None:
        """Advance to the next picosecond without an event; return at once if no event is left."""
        self._time.settle()

    @property
    def busy(self) -> bool:
        """True while an agent is not done and no agent has failed."""
        return self.agents.busy

    def outcome(self, node: str) -> Outcome:
        """Return the outcome of a node's agent so far, with the counts of replaced agents added."""
        return self.agents.outcome(node)

    def packet_arrived(self, node: str) -> None:
        """Do nothing: the engine reports packet-ins before the P4Runtime server does."""

    def routes_lost(self, node: str, lost: Mapping[int, frozenset[int]]) -> None:
        self.agents.routes_lost(node, lost)

    def serve(self, stopped: threading.Event) -> None:
        """Run the network after every packet-out and frame of a host, until `stopped` is set.

        Host ports are open for frames (`host_ports`); no agent may be attached. A frame that fails in its
        program is dropped and reported to `on_log`. Even if frames circulate between switches without end,
        the P4Runtime server gets turns. A watch ticks after work, and several times a second when idle.
        """
        with self._lock:
            self.network.set_tolerant(True)
        self.host_ports.open()
        while not stopped.is_set():
            worked = self._work.wait(timeout=0.2)
            if self.watch is not None:
                self.watch.tick()
            elif not worked:
                continue
            self._work.clear()
            waiting = self.host_ports.take_waiting()
            self._time.run_out(stopped)
            for callback in waiting:
                callback()

    def _dispatch(self, item: ControlEvent) -> None:
        kind, _, switch, value, up, data = item
        if kind == "log" and self.on_log is not None:
            self.on_log(data.decode(errors="replace"))
        if self._server is not None:
            self._server.deliver(item)
        if kind == "port" and self.on_port is not None:
            self.on_port(self._node_of[switch], value, up)
        elif kind == "packet_in" and self.on_packet_in is not None:
            self.on_packet_in(self._node_of[switch])

    def link_usage(self) -> Mapping[str, tuple[LinkUsage, LinkUsage]]:
        """Return the usage of each link: from first to second end, and the reverse; circuits come last."""
        return self._links.usage()

    @property
    def least_tick_ps(self) -> int:
        """Return 1: no time passes during a tick."""
        return 1

    def check_event(self, event: str) -> None:
        """Raise a TestbedError for the event "storm" if links have no priority flow control."""
        if event == "storm" and not self._pauses:
            raise TestbedError("no link obeys pause frames", remedy="give `pfc:` under `link.queues.data`")

    @property
    def link_names(self) -> Sequence[str]:
        """Names of the links reported by `sample`."""
        return self._links.names

    def sample(self) -> LinkSample:
        with self._lock:
            return LinkSample(*self.network.sample())

    @property
    def queue_ports(self) -> Sequence[tuple[str, str]]:
        """(node, next node or "host") of each queue in `queue_depths`."""
        ends = [self._links.ends(name) for name in self._links.names]
        hosts = sorted(self._hosts, key=self._hosts.__getitem__)
        return [*(way for a, b in ends for way in ((a, b), (b, a))), *((node, "host") for node in hosts)]

    def queue_depths(self) -> tuple[NDArray[np.int64], NDArray[np.uint8]]:
        """Return the bytes queued at each of `queue_ports`, and for each port 1 if it is paused, else 0."""
        with self._lock:
            depths, paused = self.network.queue_depths()
        return np.frombuffer(depths, np.int64), np.frombuffer(paused, np.uint8)

    def queued(self, name: str, direction: int) -> Mapping[int, int]:
        with self._lock:
            return self._links.queued(name, direction)

    def recent(self, name: str) -> Sequence[RecentFrame]:
        with self._lock:
            return self._links.recent(name)

    def forget(self, name: str) -> None:
        with self._lock:
            self._links.forget(name)

    def host_usage(self) -> Mapping[str, tuple[LinkUsage, LinkUsage]]:
        """Return the usage of the link to the host of each node: from the host, and to the host."""
        stats = self.network.host_stats
        return {
            node: (usage_of(stats(number, 0)), usage_of(stats(number, 1)))
            for node, number in self._hosts.items()
        }

    @property
    def frames_without_link(self) -> int:
        """Frames sent by programs to ports without a link."""
        return self.network.frames_without_link

    @property
    def delivered_bytes(self) -> int:
        """Bytes of frames delivered to hosts on the data VLs; needs `bin_ps` > 0."""
        return self.network.delivered_bytes()

    def measured(self, seen: Mapping[str, SwitchReport], steps: int) -> Measured:
        """Raise a TestbedError: virtual time is exact and has no measurements."""
        raise TestbedError(
            "virtual time is exact, so its fidelity is not measured", remedy="take its times as they are"
        )

    def delivered_bins(self) -> tuple[int, ...]:
        """Return the bytes of frames delivered to hosts on the data VLs, in time bins of `bin_ps`."""
        return tuple(self.network.delivered_bins())

    def check(self) -> None:
        """Do nothing: no other process is involved."""

    def stop(self) -> None:
        """Stop the server, detach the hosts, close captures; does nothing if nothing runs.

        Outcomes are dropped too: agents hold their arrays, and the next variant needs the memory.
        """
        if self._server is not None:
            self._server.stop()
            self._server = None
        self.agents.forget()
        self.on_port = self.on_packet_in = self.on_repath = self.on_log = self.watch = None
        self._time.on_event = None  # no cycle keeps the network's memory
        self.network.end_recordings()
