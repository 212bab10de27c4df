# SPDX-License-Identifier: Apache-2.0
"""Orders to a part that concern the processes of its hosts."""

import time
from collections.abc import Mapping, Sequence
from typing import Any

from emulation.mininet.agents.measure import CpuMeter
from emulation.mininet.agents.messages import Description, HostSlot, Reports
from emulation.mininet.cluster.orders import Event
from emulation.mininet.testbed import MininetTestbed
from emulation.traffic.host.stats import AgentStats
from emulation.traffic.tree.spec import TreePort
from emulation.traffic.tree.work import Block

__all__ = ["PartHosts"]

Noted = Mapping[str, tuple[AgentStats, int | None]]
"""Counts that hosts noted last, and their finishing times, if any, by node."""


class PartHosts:
    """The methods; times are nanoseconds of this machine's monotonic clock."""

    _meter: CpuMeter
    _prepared: Mapping[int, Mapping[str, Description]]

    @property
    def bed(self) -> MininetTestbed:
        """The testbed of this part."""
        raise NotImplementedError

    def tell(self, message: Event) -> None:
        """Send an event to the controlling process."""
        raise NotImplementedError

    def launch_hosts(
        self, slots: Sequence[HostSlot], rate_bps: float, dilation: int, bin_ps: int, watched: bool
    ) -> None:
        """Create hosts in their namespaces, and wait until all are ready; events tell their messages."""
        self.bed.on_host_message = lambda message: self.tell(Event("host", message))
        self._watched = watched
        self.bed.population.launch(slots, rate_bps, dilation, bin_ps, watched=watched)

    def go(self, start_ns: int) -> int:
        """Start time at `start_ns`; return by how much this order is too late for that."""
        self.bed.population.go(start_ns)
        return max(0, time.monotonic_ns() - start_ns)

    def prepare_hosts(self, number: int, agents: Mapping[str, Description]) -> None:
        """Take the descriptions of the agents of the order with a number, by node."""
        self._prepared = {number: agents}

    def begin_hosts(self, number: int, start_ns: int) -> int:
        """Begin prepared agents at `start_ns`; return by how much this order is too late for that."""
        self.bed.population.begin(number, self._prepared[number], start_ns)
        return max(0, time.monotonic_ns() - start_ns)

    def reroute(self, node: str, routes: Mapping[int, frozenset[int]]) -> None:
        """Tell a host which buckets, by destination CNA, have other routes now."""
        self.bed.population.reroute(node, routes)

    def set_level(self, node: str, level: int) -> None:
        """Set the service level of a host's data from its next iteration on."""
        self.bed.population.set_level(node, level)

    def ask_waiting(self, node: str, tree: int) -> None:
        """Let a host tell the blocks of a tree whose results it waits for."""
        self.bed.population.ask_waiting(node, tree)

    def move_member(self, node: str, tree: int, port: TreePort, blocks: Sequence[Block]) -> None:
        """Let a host leave a tree and send `blocks` up another tree."""
        self.bed.population.move_member(node, tree, port, blocks)

    def tallies(self) -> tuple[int, Noted]:
        """Return the bytes of data that all hosts have received, and of a watched run their counts."""
        population = self.bed.population
        return population.received_bytes, population.tallies if self._watched else {}

    def host_reports(self) -> tuple[Reports, Mapping[str, tuple[bytes, bytes]]]:
        """Stop every host; return their reports, and the bytes of each one's array and replaced array."""
        population = self.bed.population
        reports = self.bed.end_hosts()
        return reports, {
            node: (population.content(node, report), population.replaced_content(node, report))
            for node, report in reports.hosts.items()
        }

    def begin_meter(self) -> None:
        """Measure the use of processors from now on."""
        self._meter = self.bed.meter()

    def read_meter(self) -> tuple[float, Mapping[str, Any]]:
        """Return the busy share of all processors, and processor seconds of each switch process."""
        return self._meter.read()
