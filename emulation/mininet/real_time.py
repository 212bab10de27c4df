# SPDX-License-Identifier: Apache-2.0
"""Base class of real-time testbeds, on one machine or on several: time, agents and results."""

import selectors
import threading
import time
from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType
from typing import Protocol

from emulation.circuits import circuit_switches
from emulation.errors import TestbedError
from emulation.fidelity import Measured
from emulation.lifetime import Lifetime
from emulation.linux.record import RunRecord
from emulation.mininet.agents.attached import Agents
from emulation.mininet.agents.measure import Between, Ending
from emulation.mininet.agents.population import LEAD_NS
from emulation.mininet.alarms import Alarms
from emulation.mininet.link_operations import LinkOperations
from emulation.mininet.packet_ins import PacketIns
from emulation.mininet.switches.processes import SwitchKind
from emulation.mininet.teardown import Teardown
from emulation.testbed import (
    DoneHandler,
    IterationHandler,
    LinkUsage,
    PacketInHandler,
    PortHandler,
    RepathHandler,
    SwitchReport,
    Watch,
)
from emulation.traffic.frames.values import NetworkHeader
from emulation.traffic.host.spec import AgentSpec
from emulation.traffic.host.stats import Ended
from emulation.traffic.memory.agent import MemoryAgent
from emulation.traffic.schedule.data import Array
from emulation.traffic.tree.spec import MemberSpec, TreePort
from emulation.traffic.tree.work import Block
from emulation.tree_testbed import TreeLostHandler, WaitingBlocks
from topologies import Fabric

__all__ = ["Meter", "RealTimeTestbed"]

_LOOK_SECONDS = 0.02


class Meter(Protocol):
    """Meter of processor use since its construction."""

    def read(self) -> tuple[float, Mapping[str, float]]:
        """Return the busy share of the processors, 0 to 1, and processor seconds by switch process."""
        ...


class RealTimeTestbed(LinkOperations, Lifetime):
    """A `WatchableTestbed` in real time; a second of the scenario takes `dilation` real seconds.

    A subclass makes switches, links and the processes of hosts in start(). `bin_ps` is the width of the bins
    of delivered_bins(). With `frame_bytes`, the length of data frames, frames wait for a link in the queues
    of the switches, and P4 programs read the queue depth; without it they wait in queues of the kernel.
    """

    name = "mininet"
    virtual = False
    network_header: NetworkHeader = "cna16"
    threads: int = 1
    addresses: Mapping[str, str]
    _agents: Agents
    _selector: selectors.BaseSelector
    _lead_ns = LEAD_NS

    def __init__(
        self,
        fabric: Fabric,
        switch: SwitchKind,
        dilation: int,
        bin_ps: int,
        frame_bytes: int | None = None,
    ) -> None:
        if dilation < 1:
            raise TestbedError(
                f"the dilation is {dilation}", remedy="real time cannot be hurried: use 1 or more"
            )
        self.fabric = fabric
        self.switch: SwitchKind = switch
        self.dilation = dilation
        self.frame_bytes = frame_bytes
        self.device_ids: Mapping[str, int] = MappingProxyType({n.name: n.device_id for n in fabric.nodes})
        self.on_port: PortHandler | None = None
        self.on_packet_in: PacketInHandler | None = None
        self.on_repath: RepathHandler | None = None
        self.watch: Watch | None = None
        self.seconds: dict[str, float] = {}
        self.circuits = circuit_switches(fabric, self)
        self.frames_without_link = 0  # set by measured()
        self._bin_ps = bin_ps
        self._alarms = Alarms(dilation)
        self._packet_ins = PacketIns()
        self._ending: Ending | None = None
        self._record: RunRecord | None = None
        self._teardown = Teardown()

    def stop(self) -> None:
        """End every process and remove everything made; do nothing if nothing runs."""
        try:
            self._teardown.run()
        finally:
            self._record = None

    @abstractmethod
    def meter(self) -> Meter:
        """Return a meter of all processors and switch processes, from now on."""

    def _stages(self) -> Callable[[str], None]:
        """Return a stopwatch: each call sets `seconds` of the named stage to the time since the last call."""
        lap = time.perf_counter()

        def done(stage: str) -> None:
            nonlocal lap
            now = time.perf_counter()
            self.seconds[stage] = round(now - lap, 3)
            lap = now

        return done

    # -- agents

    def attach(self, node: str, host: MemoryAgent) -> None:
        """Have a host process run an agent like `host`; it begins with run(), or soon if run() has begun."""
        self._agents.attach(node, host)

    def attach_agents(
        self,
        specs: Mapping[str, AgentSpec | MemberSpec],
        *,
        on_done: DoneHandler | None = None,
        on_iteration: IterationHandler | None = None,
        on_tree_lost: TreeLostHandler | None = None,
    ) -> None:
        """Have host processes run agents, by node; all begin with run(), or soon if run() has begun."""
        for node, spec in specs.items():
            self._agents.attach(node, spec, on_done, on_iteration, on_tree_lost)

    def ask_waiting(self, nodes: Sequence[str], tree: int, answered: Callable[[WaitingBlocks], None]) -> None:
        """Ask a tree's members at `nodes` for the blocks whose results they lack; run() calls `answered`."""
        self._agents.ask_waiting(nodes, tree, answered)

    def move_members(self, tree: int, ports: Mapping[str, TreePort], blocks: Sequence[Block]) -> None:
        """Have members leave `tree`, and send `blocks` up another tree, each by its port in `ports`."""
        self._agents.move_members(tree, ports, blocks)

    def replaced_result(self, node: str) -> Array:
        """Return the array of the tree member last replaced at a node; empty before run() returns True."""
        return self._agents.replaced_result(node)

    def stand_by(self, node: str) -> None:
        self._agents.stand_by(node)

    def restart(
        self, specs: Mapping[str, AgentSpec], *, on_iteration: IterationHandler | None = None
    ) -> None:
        """Replace all agents in their processes; the new agents begin together shortly afterwards."""
        self._agents.restart(specs, on_iteration)

    def set_level(self, node: str, level: int) -> None:
        self._agents.set_level(node, level)

    def give_up(self) -> None:
        """End the run now: stop all agents and collect their reports."""
        self._finish()

    def packet_arrived(self, node: str) -> None:
        """Note a packet-in; the P4Runtime client's `on_packet_in` calls this, from any thread."""
        self._packet_ins.arrived(node)

    def routes_lost(self, node: str, lost: Mapping[int, frozenset[int]]) -> None:
        self._agents.routes_lost(node, lost)

    def _begin(self) -> None:
        """Create the host processes, and start scenario time and the agents attached so far."""
        began = time.perf_counter()
        rate = self.fabric.host_lanes * self.fabric.lane_rate_bps / self.dilation
        self._agents.launch(rate, self.dilation, self._bin_ps, watched=self.watch is not None)
        self.seconds["hosts"] = round(time.perf_counter() - began, 3)
        self._meter = self.meter()
        self._counted = self._links.counters()
        start_ns = time.monotonic_ns() + self._lead_ns
        self._alarms.begin(start_ns)
        self._agents.go(start_ns)

    # -- time

    @property
    def now_ps(self) -> int:
        """Scenario time in picoseconds; 0 before run() or serve() was first called."""
        return self._alarms.now_ps

    def at(self, time_ps: int, callback: Callable[[], None]) -> None:
        """Have run() call `callback` at a scenario time, or as soon as possible afterwards."""
        self._alarms.at(time_ps, callback)

    def run(self, until_ps: int | None = None) -> bool:
        """Let time pass and dispatch events; return True once agents and callbacks of at() are done.

        Return False if scenario time `until_ps` comes first. EmulationError if a host or a switch fails.
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
        """Let time pass and dispatch events until `stopped` is set; check `stopped` every 20 ms."""
        if not self._alarms.begun:
            self._begin()
        while not stopped.is_set():
            self._alarms.ring()
            self._heed(_LOOK_SECONDS)

    def _heed(self, seconds: float | None) -> None:
        """Wait up to `seconds` for events, and dispatch them."""
        for key, _ in self._selector.select(seconds):
            key.data()

    def _take_packet_ins(self) -> None:
        for node in self._packet_ins.take():
            if self.on_packet_in is not None:
                self.on_packet_in(node)

    def _hear(self, message: tuple[object, ...]) -> None:
        self._agents.on_repath = self.on_repath
        self._agents.hear(message)

    # -- results

    def _finish(self) -> None:
        if not self._agents or self._ending is not None:
            return
        seconds = self._alarms.real_seconds
        cpu_busy, used = self._meter.read()
        reports = self._agents.finish()
        # Wait: duplicates and acknowledgements may still be on their way.
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
        return self._agents.busy

    def outcome(self, node: str) -> Ended | MemoryAgent:
        """Return the outcome of a node's agent.

        Until run() has returned True, the array is empty and the counts are the latest that the agent noted.
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
        """Bytes of frames delivered to hosts on the data VLs so far."""
        return self._agents.received_bytes

    def delivered_bins(self) -> tuple[int, ...]:
        """Return `delivered_bytes` in each bin of `bin_ps`, after run() has returned True."""
        return self._ended.bins()

    def link_usage(self) -> Mapping[str, tuple[LinkUsage, LinkUsage]]:
        """Return the usage of links: from first to second end, and back; in run() up to the last sample."""
        return self._samples.usage() if self._ending is None else self._ending.usage(self.fabric)

    def host_usage(self) -> Mapping[str, tuple[LinkUsage, LinkUsage]]:
        """Return an empty mapping: the usage of links to hosts is not counted."""
        return {}

    def measured(self, seen: Mapping[str, SwitchReport], steps: int) -> Measured:
        """Return the measurements for judging the times of this run, after run() has returned True.

        `seen` has the report of each node's switch; `steps` is the longest chain of dependent transfers.
        """
        measured, self.frames_without_link = self._ended.measured(
            self.fabric, self.dilation, seen, self._links.struck,
            shaped="" not in self._links.limiters, steps=steps,
        )  # fmt: skip
        return replace(measured, notes=(*self._links.means(self.switch, self.frame_bytes), *measured.notes))
